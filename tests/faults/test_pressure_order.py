"""
How memory gives way (design §5): delays end, bytes leave early, traces are evicted, requests are refused.

Deterministic: the clock stands still unless a test moves it, and the outlet is full when a test says so.
"""

from typing import Any

import pytest
from faults.agent_load import agent_run, trace_id
from faults.fault_report import account
from processing import Processing
from wire_spans import agent, tool

from service.errors import Refused, RequestTooLarge
from service.evidence import Trigger
from service.pipeline import Signal

BUFFER = 1024 * 1024
PADDING = 30_000
"""A run of three spans then takes about a tenth of the buffer."""
SLOW = {"max_buffer_mib": 1, "decision_delay": "60s", "idle_timeout": "600s", "trace_timeout": "600s"}


def with_room(**limits: object) -> Processing:
    settings: dict[str, Any] = {**SLOW, **limits}
    return Processing(**settings)


def padded(number: int, *, rooted: bool = True) -> list[bytes]:
    spans = agent_run(number, padding=PADDING)
    return spans if rooted else spans[:-1]


async def fill(processing: Processing, *, first: int = 0, count: int, rooted: bool = True) -> None:
    for number in range(first, first + count):
        await processing.send(*padded(number, rooted=rooted))


def triggers(processing: Processing) -> list[Trigger]:
    return [closing.trigger for closing in processing.closings]


def early(processing: Processing) -> float:
    return sum(processing.counted("toolscore.traces_released_early").values())


def evicted(processing: Processing) -> float:
    return sum(processing.counted("toolscore.processor.traces_evicted").values())


async def test_below_the_soft_limit_nothing_gives_way() -> None:
    processing = with_room()

    await fill(processing, count=8)

    assert ([], 0, 0) == (processing.closings, early(processing), evicted(processing))


async def test_first_the_delays_of_traces_with_a_root_end_the_oldest_first() -> None:
    processing = with_room()

    await fill(processing, first=0, count=2, rooted=False)
    await fill(processing, first=2, count=9)

    closed = [closing.assessment.occurrence for closing in processing.closings]
    assert closed == [trace_id(number).hex() for number in range(2, 2 + len(closed))]
    assert {Trigger.ROOT_SPAN} == set(triggers(processing))
    assert (0, 0) == (early(processing), evicted(processing)), "bytes that are needed no longer suffice"


async def test_then_bytes_leave_early_and_the_trace_stays_complete() -> None:
    processing = with_room()
    await fill(processing, count=20, rooted=False)
    assert early(processing) > 0
    assert (0, []) == (evicted(processing), processing.closings)

    for number in range(20):
        await processing.send(agent(trace=trace_id(number)))
    await processing.after(60)

    assert {Trigger.ROOT_SPAN} == set(triggers(processing))
    assert [1.0] * 20 == [closing.assessment.evaluations[0].score for closing in processing.closings]
    assert {"complete"} == {closing.assessment.evidence.coverage.label for closing in processing.closings}
    await processing.processor.shutdown()
    account("early release", processing.sent, processing.outlets[Signal.TRACES].requests)


async def test_only_when_evidence_alone_is_too_much_traces_are_evicted_with_a_score() -> None:
    processing = with_room(num_traces=100_000)
    count = 0
    while not evicted(processing):
        await processing.send(*(tool("a", trace=trace_id(number)) for number in range(count, count + 500)))
        count += 500

    assert early(processing) >= evicted(processing) > 0
    assert {Trigger.EVICTION} == set(triggers(processing))
    assert 0.5 == processing.closings[0].assessment.evaluations[0].score
    oldest = [trace_id(number).hex() for number in range(len(processing.closings))]
    assert oldest == [closing.assessment.occurrence for closing in processing.closings]
    await processing.processor.shutdown()
    account("eviction", processing.sent, processing.outlets[Signal.TRACES].requests)


async def test_refused_is_only_what_the_queue_cannot_let_go() -> None:
    processing = with_room()
    outlet = processing.outlets[Signal.TRACES]
    outlet.is_full = True
    with pytest.raises(Refused, match="buffer_full"):
        await fill(processing, count=30, rooted=False)
    taken = len(processing.sent)
    assert taken >= 8
    assert 0 == evicted(processing), "what cannot leave is not given up"

    outlet.is_full = False
    await processing.after(1)
    await processing.send(*padded(taken, rooted=False))

    await processing.processor.shutdown()
    account("queue full", processing.sent, outlet.requests)


async def test_a_full_queue_is_told_before_anything_is_read() -> None:
    processing = with_room()
    processing.outlets[Signal.TRACES].is_full = True
    with pytest.raises(Refused):
        await fill(processing, count=30)

    assert not processing.processor.may_take(BUFFER // 2)
    processing.outlets[Signal.TRACES].is_full = False
    await processing.after(1)
    assert processing.processor.may_take(BUFFER // 2)


async def test_spans_that_were_turned_away_leave_open_traces_partial() -> None:
    processing = with_room(decision_delay="1s")
    await processing.send(*agent_run(1_000)[:-1])
    processing.outlets[Signal.TRACES].is_full = True
    with pytest.raises(Refused):
        await fill(processing, count=30, rooted=False)

    processing.outlets[Signal.TRACES].is_full = False
    await processing.after(1)
    await processing.send(agent(trace=trace_id(1_000)))
    await processing.after(1)

    assert (Trigger.ROOT_SPAN, ["spans_refused"]) == (processing.last.trigger, processing.reasons)


async def test_a_request_larger_than_the_buffer_is_too_large_and_not_asked_for_again() -> None:
    with pytest.raises(RequestTooLarge):
        await with_room().send(*(tool("a", f"{number}", attributes={"p": "x" * 500_000}) for number in range(3)))


async def test_in_pass_through_bytes_leave_at_once_and_evidence_is_evicted_then_refused() -> None:
    processing = with_room(mode="pass_through", num_traces=100_000)
    count = 0
    while not evicted(processing):
        await processing.send(*(tool("a", trace=trace_id(number)) for number in range(count, count + 500)))
        count += 500
    assert 0 == early(processing)

    processing.outlets[Signal.TRACES].is_full = True
    with pytest.raises(Refused):
        await fill(processing, first=count, count=40)

    processing.outlets[Signal.TRACES].is_full = False
    await processing.after(1)
    await processing.processor.shutdown()
    account("eviction in pass_through", processing.sent, processing.outlets[Signal.TRACES].requests)


async def test_a_flood_of_trace_ids_evicts_the_oldest_each_with_a_score_and_counted() -> None:
    processing = Processing(num_traces=500, decision_cache={"size": 2_000})
    flood = 5_000

    for first in range(0, flood, 500):
        await processing.send(*(tool("a", trace=trace_id(number)) for number in range(first, first + 500)))

    assert flood - 500 == evicted(processing) == len(processing.closings)
    evictions = [closing.assessment.occurrence for closing in processing.closings]
    assert evictions == [trace_id(number).hex() for number in range(flood - 500)], "in the order of arrival"
    assert {(Trigger.EVICTION, 0.5)} == {
        (closing.trigger, closing.assessment.evaluations[0].score) for closing in processing.closings
    }
    assert 2_000 == sum(processing.counted("toolscore.processor.decision_cache_size").values())
    await processing.processor.shutdown()
    account("trace id flood", processing.sent, processing.outlets[Signal.TRACES].requests)


async def test_late_spans_for_all_closed_traces_do_not_stop_the_buffer_from_forgetting() -> None:
    processing = with_room(max_buffer_mib=4, decision_delay="1s", num_traces=100_000)
    for first in range(0, 1_500, 500):
        await processing.send(*(span for number in range(first, first + 500) for span in agent_run(number)))
    await processing.after(1)
    for number in range(0, 1_500, 2):
        await processing.send(tool("c", trace=trace_id(number)))

    await fill(processing, first=2_000, count=60)
    await processing.after(1)

    assert processing.processor.may_take(1)
    await processing.processor.shutdown()
    account("late spans under pressure", processing.sent, processing.outlets[Signal.TRACES].requests)
