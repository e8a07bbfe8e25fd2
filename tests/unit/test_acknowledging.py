"""
When a request in pass_through is acknowledged, and what a full queue means to its sender.
"""

import asyncio

import pytest
from doubles import eventually
from processing import Processing
from wire_spans import agent, log_request, tool, trace_request

from service.errors import Refused
from service.pipeline import Accepted, SendOutcome, Signal

WAITING = {"wait_for_result": True}
BLOCKING = {"block_on_overflow": True}


def patient(*, mode: str = "pass_through", late: str = "rescore") -> Processing:
    processing = Processing(sending_queue=WAITING, mode=mode, late_spans={"action": late})
    for outlet in processing.outlets.values():
        outlet.is_slow = True
    return processing


async def sending(processing: Processing, *spans: bytes) -> asyncio.Task[Accepted]:
    """
    A request on its way, as far as it comes by itself.
    """
    task = asyncio.create_task(processing.send(*spans))
    await eventually(lambda: task.done() or bool(processing.outlets[Signal.TRACES].undecided))
    return task


async def test_a_request_is_acknowledged_when_the_next_hop_took_it() -> None:
    processing = patient()
    task = await sending(processing, tool("a"), agent())
    assert not task.done()

    processing.outlets[Signal.TRACES].decide(SendOutcome.DELIVERED)

    assert Accepted(item_count=2) == await task


async def test_in_hold_mode_a_request_is_acknowledged_when_it_is_held() -> None:
    processing = patient(mode="hold")

    assert 2 == (await processing.send(tool("a"), agent())).item_count
    assert [] == processing.released


async def test_a_request_waits_for_every_part_of_it() -> None:
    processing = patient()
    spans = [tool("t", label=str(number), attributes={"padding": "x" * 1_500_000}) for number in range(3)]
    task = await sending(processing, *spans)
    outlet = processing.outlets[Signal.TRACES]
    assert 2 == len(outlet.undecided)

    outlet.decide(SendOutcome.DELIVERED)
    await asyncio.sleep(0)
    assert not task.done()
    outlet.decide(SendOutcome.DELIVERED)

    assert 3 == (await task).item_count


async def test_what_the_next_hop_refuses_for_good_is_told_to_the_sender() -> None:
    processing = patient()
    task = await sending(processing, tool("a"), agent())

    processing.outlets[Signal.TRACES].decide(SendOutcome.REJECTED, 2)

    assert Accepted(2, "2 items refused by the next hop", item_count=2) == await task


async def test_what_is_given_up_is_refused_and_its_repetition_leaves_again() -> None:
    processing = patient()
    outlet = processing.outlets[Signal.TRACES]
    task = await sending(processing, tool("a"), agent())
    outlet.decide(SendOutcome.ABANDONED)
    with pytest.raises(Refused, match="downstream_unavailable"):
        await task

    outlet.is_slow = False
    await processing.send(tool("a"), agent())
    await processing.after(5)

    assert 2 == len(processing.released)
    assert 0.5 == processing.evaluation().score


async def test_late_spans_are_waited_for_too() -> None:
    processing = patient(late="forward")
    outlet = processing.outlets[Signal.TRACES]
    task = await sending(processing, tool("a"), agent())
    outlet.decide(SendOutcome.DELIVERED)
    await task
    await processing.after(5)

    task = await sending(processing, tool("b"))
    assert not task.done()
    outlet.decide(SendOutcome.DELIVERED)

    assert 1 == (await task).item_count


async def test_logs_are_waited_for_too() -> None:
    processing = patient()
    task = asyncio.create_task(processing.processor.consume(Signal.LOGS, log_request("a", "e", {"k": 1})))
    outlet = processing.outlets[Signal.LOGS]
    await eventually(lambda: bool(outlet.undecided))
    assert not task.done()

    outlet.decide(SendOutcome.DELIVERED)

    assert 1 == (await task).item_count


async def full_queue(max_buffer_mib: int = 256) -> Processing:
    """
    A processor whose outlet is full, and which has learnt so.
    """
    processing = Processing(sending_queue=BLOCKING, mode="pass_through", max_buffer_mib=max_buffer_mib)
    processing.outlets[Signal.TRACES].is_full = True
    await processing.send(tool("a"))
    await processing.after(1)
    return processing


async def test_senders_can_wait_for_room_in_a_full_queue() -> None:
    processing = await full_queue()
    task = asyncio.create_task(processing.send(tool("b")))
    await asyncio.sleep(0)
    await processing.after(1)
    assert (False, []) == (task.done(), processing.released)

    processing.outlets[Signal.TRACES].is_full = False
    await processing.after(1)
    await task
    await processing.after(1)

    assert 2 == len(processing.released)


async def test_requests_that_wait_for_room_count_against_the_buffer() -> None:
    processing = await full_queue(max_buffer_mib=1)
    large = trace_request([tool("b", attributes={"padding": "x" * 700_000})])
    task = asyncio.create_task(processing.processor.consume(Signal.TRACES, large))
    await asyncio.sleep(0)

    assert not processing.processor.may_take(len(large))
    task.cancel()
    await asyncio.wait([task])
    assert processing.processor.may_take(len(large))


async def test_a_stop_refuses_who_waits_for_room() -> None:
    processing = await full_queue()
    task = asyncio.create_task(processing.send(tool("b")))
    await asyncio.sleep(0)
    await processing.after(1)

    await processing.processor.shutdown()

    with pytest.raises(Refused, match="shutting_down"):
        await task
