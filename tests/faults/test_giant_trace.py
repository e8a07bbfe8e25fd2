"""
One giant trace does not delay small ones: neither their acknowledgements nor their verdicts.

Asserted by order: what happens to small traces while the giant one is closing.
"""

import asyncio
from collections.abc import AsyncIterator

import pytest
from doubles import RecordingSink, eventually
from faults.agent_load import Sender, agent_run, agent_runs, trace_id
from faults.fault_report import account
from faults.service_under_test import a_service, over_grpc
from wire_spans import agent, tool, trace_request

from service.pipeline import Signal
from service.processor.outputs import Scored

GIANT = 50_000
GIANT_ID = trace_id(10_000_000)
WHOLE = {"span_limit": 0, "maximum_trace_size_bytes": 0, "decision_delay": "100ms"}


@pytest.fixture
async def sink() -> AsyncIterator[RecordingSink]:
    async with RecordingSink() as sink:
        yield sink


class Order:
    """
    The traces in the order of their verdicts.
    """

    def __init__(self) -> None:
        self.occurrences: list[str] = []

    def scored(self, scored: Scored) -> None:
        self.occurrences.append(scored.assessment.occurrence)


def giant_requests() -> list[bytes]:
    spans = [tool("a", f"{number:08}", trace=GIANT_ID, start=number, end=number + 0.5) for number in range(GIANT)]
    parts = [trace_request(spans[first : first + 1_000]) for first in range(0, GIANT, 1_000)]
    return [*parts, trace_request([agent(trace=GIANT_ID, end=GIANT)])]


async def test_small_traces_are_taken_and_scored_while_a_giant_one_closes(sink: RecordingSink) -> None:
    order = Order()
    async with (
        a_service(over_grpc(sink.endpoint), WHOLE, observers=[order]) as service,
        Sender(service.grpc) as giant,
        Sender(service.grpc) as small,
    ):
        await giant.send_all(giant_requests(), at_once=1)
        buffer = service.app.processor._buffer
        trace = buffer.get(GIANT_ID)
        assert trace is not None
        await eventually(lambda: trace.is_closing)
        taken_while_it_closes = 0
        while trace.is_closing:
            await small.send(trace_request(agent_run(len(small.accepted))))
            taken_while_it_closes += trace.is_closing
        await eventually(lambda: GIANT_ID.hex() in order.occurrences)
        before = order.occurrences.index(GIANT_ID.hex())
        await asyncio.wait_for(service.stop(), 30)

    assert taken_while_it_closes > 20
    assert before > 10, "verdicts of small traces that came later left earlier"
    account("giant trace", [*giant.accepted, *small.accepted], traces(sink))
    service.assert_balanced()


async def test_small_traces_are_taken_while_a_giant_request_is_read_in_pass_through(sink: RecordingSink) -> None:
    settings = {**WHOLE, "mode": "pass_through"}
    async with (
        a_service(over_grpc(sink.endpoint), settings) as service,
        Sender(service.grpc) as giant,
        Sender(service.grpc) as small,
    ):
        spans = [tool("a", f"{number:08}", trace=GIANT_ID) for number in range(20_000)]
        sending = asyncio.create_task(giant.send(trace_request(spans)))
        await eventually(lambda: service.app.processor._buffer.get(GIANT_ID) is not None)
        for request in agent_runs(200):
            if sending.done():
                break
            await small.send(request)
        await sending
        await service.stop()

    assert len(small.accepted) > 10
    account("giant request", [*giant.accepted, *small.accepted], traces(sink))
    service.assert_balanced()


def traces(sink: RecordingSink) -> list[bytes]:
    return [payload for signal, payload in sink.accepted if signal is Signal.TRACES]
