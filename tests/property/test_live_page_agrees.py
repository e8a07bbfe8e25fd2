"""
What is drawn agrees with the verdict, for any calls; and the time axis never turns back.
"""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from service.evaluation import Verdict
from service.live_page.record import OrderQuestion, ShownCall
from service.live_page.relations import Relation, links_of
from service.live_page.time_scale import time_scale
from service.scoring.order import Acquisition, Attempt, order_verdict

INTERVALS = st.tuples(st.integers(1, 30), st.one_of(st.none(), st.integers(0, 12)))
STEPS = st.lists(st.lists(INTERVALS, max_size=4), min_size=2, max_size=5)


def calls_of(steps: list[list[tuple[int, int | None]]]) -> list[ShownCall]:
    return [
        ShownCall(
            name=str(step),
            trace_id="",
            span_id="",
            start_ns=start,
            end_ns=None if length is None else start + length,
        )
        for step, attempts in enumerate(steps)
        for start, length in attempts
    ]


@given(steps=STEPS, tolerance=st.integers(0, 3))
def test_the_arrows_tell_what_the_verdict_tells(steps: list[list[tuple[int, int | None]]], tolerance: int) -> None:
    calls = calls_of(steps)
    attempts = [
        [position for position, call in enumerate(calls) if call.name == str(step)] for step in range(len(steps))
    ]
    question = OrderQuestion(
        name="",
        tools=[str(step) for step in range(len(steps))],
        pairs=list(pairwise(range(len(steps)))),
        tolerance_ns=tolerance,
        attempts=attempts,
        uncertain=[[] for _ in steps],
    )
    verdict = order_verdict(
        [[Attempt(calls[position].start_ns, calls[position].end_ns) for position in each] for each in attempts],
        tolerance=tolerance,
        acquisition=Acquisition.COMPLETE,
    )

    relations = {link.relation for link in links_of(question, calls, is_complete=True)}

    assert (verdict is Verdict.TRUE) == (relations == {Relation.BEFORE})
    if verdict is Verdict.FALSE:
        assert relations & {Relation.AFTER, Relation.ABSENT}


@given(
    busy=st.lists(st.tuples(st.integers(0, 10**12), st.integers(0, 10**9)), max_size=8),
    times=st.lists(st.integers(0, 2 * 10**12), min_size=2, max_size=10),
)
def test_later_is_never_further_left(busy: list[tuple[int, int]], times: list[int]) -> None:
    intervals = [(begin, begin + length) for begin, length in busy]
    whole = (min([0, *(begin for begin, _ in intervals)]), max([1, *(end for _, end in intervals)]))

    scale = time_scale(intervals, whole, 100, 900)

    places = [scale.place(time) for time in sorted(times)]
    assert sorted(places) == places
    assert all(100 <= place <= 900 for place in places)
    ticks = [scale.place(tick) for tick in scale.ticks()]
    assert all(right - left > 80 for left, right in pairwise(ticks))
