"""
The timeline: which calls stand for an order, how they stand to each other, and where they are drawn.
"""

from itertools import pairwise

import pytest
from live_pages import EXPECTATIONS, at_once, in_order, missing_tool, page_of, shop, trace_id, without_root, wrong_order
from processing import Processing
from scoring_builders import a_condition
from wire_spans import agent, tool

from service.conditions import ToolsCalledInOrder, ToolsCalledInPartialOrder
from service.live_page.chart import Chart
from service.live_page.record import OrderQuestion, ShownCall
from service.live_page.relations import Link, Relation, choose_calls, links_of
from service.live_page.time_scale import CUT_WIDTH, time_scale
from service.live_page.timeline import charts_of
from service.scoring.order_leaves import pairs_of

MS = 1_000_000
SESSION_EXPECTATIONS = [{**EXPECTATIONS[0], "partition": "session"}]
BEFORE, AFTER, UNKNOWN = Relation.BEFORE, Relation.AFTER, Relation.UNKNOWN


def a_call(name: str, start: int, end: int | None, **fields: object) -> ShownCall:
    values = {"trace_id": "", "span_id": f"{name}{start}"} | fields
    return ShownCall(name=name, start_ns=start * MS, end_ns=None if end is None else end * MS, **values)  # type: ignore[arg-type]  # plain values of a table


def a_question(*calls: ShownCall, pairs: list[tuple[int, int]] | None = None, tolerance_ms: int = 0) -> OrderQuestion:
    """
    The order of the tools a, b, c, as far as they are called.
    """
    tools = sorted({call.name for call in calls})
    return OrderQuestion(
        name="order",
        tools=tools,
        pairs=list(pairwise(range(len(tools)))) if pairs is None else pairs,
        tolerance_ns=tolerance_ms * MS,
        attempts=[[position for position, call in enumerate(calls) if call.name == tool] for tool in tools],
        uncertain=[[] for _ in tools],
    )


def links(*calls: ShownCall, tolerance_ms: int = 0) -> list[Link]:
    return links_of(a_question(*calls, tolerance_ms=tolerance_ms), calls, is_complete=True)


@pytest.mark.parametrize(
    ("a", "b", "tolerance_ms", "relation"),
    [
        ((0, 5), (6, 9), 0, BEFORE),
        ((0, 5), (6, 9), 1, Relation.TOO_CLOSE),
        ((0, 5), (5, 9), 0, Relation.TOO_CLOSE),
        ((0, 5), (4, 9), 0, Relation.OVERLAPPING),
        ((4, 9), (0, 5), 0, Relation.OVERLAPPING),
        ((6, 9), (0, 5), 0, AFTER),
        ((6, 9), (0, 5), 1, Relation.TOO_CLOSE),
        ((0, None), (6, 9), 0, UNKNOWN),
        ((0, 5), (6, None), 0, UNKNOWN),
        ((6, None), (0, 5), 0, UNKNOWN),
    ],
    ids=str,
)
def test_how_two_calls_stand_to_each_other(
    a: tuple[int, int | None], b: tuple[int, int | None], tolerance_ms: int, relation: Relation
) -> None:
    (link,) = links(a_call("a", *a), a_call("b", *b), tolerance_ms=tolerance_ms)

    assert relation is link.relation


def test_an_end_that_may_be_later_establishes_no_order_within_its_slack() -> None:
    cut = a_call("a", 0, 5, slack_ns=MS)

    assert [Relation.TOO_CLOSE] == [link.relation for link in links(cut, a_call("b", 6, 9))]
    assert [BEFORE] == [link.relation for link in links(cut, a_call("b", 7, 9))]


def test_made_up_times_establish_nothing() -> None:
    (link,) = links(a_call("a", 0, 5, is_synthetic=True), a_call("b", 6, 9))

    assert (UNKNOWN, "the times of a were made up by its producer, so they prove no order") == (
        link.relation,
        link.text,
    )


def test_requests_stand_in_the_order_in_which_results_were_read() -> None:
    first = a_call("a", 0, None, is_requested=True)
    second = a_call("b", 9, None, is_requested=True, after=[0])

    assert [BEFORE] == [link.relation for link in links(first, second)]
    assert [UNKNOWN] == [link.relation for link in links(first, a_call("b", 9, None, is_requested=True))]


def test_of_several_attempts_those_are_drawn_that_establish_the_order() -> None:
    calls = a_call("a", 0, 50), a_call("a", 2, 4), a_call("b", 3, 8), a_call("b", 10, 12), a_call("c", 11, 13)

    assert [1, 3, 4] == choose_calls(a_question(*calls), calls)
    assert [BEFORE, Relation.OVERLAPPING] == [link.relation for link in links(*calls)]


def test_a_pair_that_only_follows_from_others_is_drawn_where_it_is_the_wrong_way_round() -> None:
    found = links(a_call("a", 20, 30), a_call("b", 2, 40), a_call("c", 4, 10))

    assert [(0, 1, False), (1, 2, False), (0, 2, True)] == [
        (link.earlier, link.later, link.is_implied) for link in found
    ]
    assert [Relation.OVERLAPPING, Relation.OVERLAPPING, AFTER] == [link.relation for link in found]


def test_a_tool_without_a_call_was_never_called_or_was_not_seen() -> None:
    call = a_call("a", 0, 5)
    question = OrderQuestion(
        name="o", tools=["a", "b"], pairs=[(0, 1)], tolerance_ns=0, attempts=[[0], []], uncertain=[[], []]
    )

    (complete,) = links_of(question, [call], is_complete=True)
    (partial,) = links_of(question, [call], is_complete=False)

    assert (Relation.ABSENT, "b was never called") == (complete.relation, complete.text)
    assert (Relation.UNSEEN, "b was not seen") == (partial.relation, partial.text)


def test_a_partial_order_links_its_own_pairs_only() -> None:
    condition = a_condition("tools_called_in_partial_order", "a", "b", "c", before=[["a", "b"], ["a", "c"]])
    assert isinstance(condition, ToolsCalledInPartialOrder | ToolsCalledInOrder)
    calls = a_call("a", 0, 5), a_call("b", 6, 20), a_call("c", 7, 9)

    found = links_of(a_question(*calls, pairs=list(pairs_of(condition))), calls, is_complete=True)

    assert [(0, 1, BEFORE), (0, 2, BEFORE)] == [(link.earlier, link.later, link.relation) for link in found]


def test_long_pauses_are_cut_and_short_calls_stay_apart() -> None:
    scale = time_scale([(60_000, 60_010), (120_000, 120_010)], (0, 200_000), 0, 1_000)

    first, second = (scale.place(60_010) - scale.place(60_000)), (scale.place(120_010) - scale.place(120_000))
    assert 3 == len(scale.cuts)
    assert first > 200
    assert abs(first - second) < 1
    assert all(abs(cut.right - cut.left - CUT_WIDTH) < 0.01 for cut in scale.cuts)
    assert (0, 1_000) == (scale.place(-5), scale.place(300_000))


async def chart(scenario: str) -> Chart:
    scenarios = {each.__name__: each for each in (in_order, wrong_order, at_once, missing_tool, without_root)}
    processing = shop()
    await scenarios[scenario](processing)
    (entry,) = page_of(processing).recent.newest_first()
    (drawn,) = charts_of(entry.summary, entry.detail)
    return drawn


async def test_an_order_that_holds_is_a_staircase() -> None:
    drawn = await chart("in_order")

    search, book = drawn.lanes
    assert ["search", "book"] == [search.name, book.name]
    assert search.bars[0].x + search.bars[0].width < book.bars[0].x
    assert search.bars[0].y < book.bars[0].y
    assert ["before"] == [arrow.relation for arrow in drawn.arrows]


async def test_an_order_that_is_broken_goes_back_to_the_left() -> None:
    drawn = await chart("wrong_order")

    search, book = drawn.lanes
    assert book.bars[0].x + book.bars[0].width < search.bars[0].x
    assert ["after"] == [arrow.relation for arrow in drawn.arrows]


async def test_calls_at_the_same_time_are_joined_by_a_band_over_the_time_in_which_both_ran() -> None:
    drawn = await chart("at_once")

    (band,) = drawn.bands
    failed, book = drawn.lanes[0].bars[0], drawn.lanes[1].bars[0]
    assert book.x == band.x
    assert abs(failed.x + failed.width - (band.x + band.width)) < 0.2
    assert ["error"] == failed.marks
    assert ["required", "required", "forbidden"] == [lane.role for lane in drawn.lanes]


async def test_a_required_tool_that_was_never_called_has_an_empty_lane_that_says_so() -> None:
    drawn = await chart("missing_tool")

    assert [("search", ""), ("book", "never called")] == [(lane.name, lane.absence) for lane in drawn.lanes]
    assert [] == drawn.arrows


async def test_a_call_without_an_end_is_open_to_the_right_edge() -> None:
    drawn = await chart("without_root")

    (bar,) = drawn.lanes[0].bars
    assert ["open"] == bar.marks
    assert drawn.right == bar.x + bar.width
    assert drawn.may_continue


async def test_the_calls_of_a_session_lead_to_the_pages_of_their_traces() -> None:
    processing = Processing(expectations=SESSION_EXPECTATIONS, session={"enabled": True, "idle_timeout": "30s"})
    marks = {"gen_ai.conversation.id": "s1"}
    for number, name in ((1, "search"), (2, "book")):
        spans = (
            agent(trace=trace_id(number), attributes=marks),
            tool(name, trace=trace_id(number), start=number * 10, end=number * 10 + 5),
        )
        await processing.send(*spans)
    await processing.after(20)
    await processing.after(120)
    entry = next(entry for entry in page_of(processing).recent.newest_first() if entry.summary.partition == "session")

    (drawn,) = charts_of(entry.summary, entry.detail)

    assert entry.summary.token.startswith("session-")
    assert ["before"] == [arrow.relation for arrow in drawn.arrows]
    assert [f"/occurrences/{trace_id(number).hex()}" for number in (1, 2)] == [
        lane.bars[0].href.partition("#span-")[0] for lane in drawn.lanes
    ]
