"""
SIGTERM under load: what was accepted leaves, or is a loss with a name. Some of these run the service as a process.
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from doubles import RecordingSink, eventually
from faults.agent_load import Sender, agent_runs
from faults.fault_report import account
from faults.process_under_test import a_process
from faults.service_under_test import a_service, over_grpc
from wire_spans import agent, tool, trace_request

from service.pipeline import Signal

MODES = ("hold", "pass_through")
OPEN = {"decision_delay": "30s", "idle_timeout": "60s"}
"""Nothing closes before the stop."""


@pytest.fixture
async def sink() -> AsyncIterator[RecordingSink]:
    async with RecordingSink() as sink:
        yield sink


def traces(sink: RecordingSink) -> list[bytes]:
    return [payload for signal, payload in sink.accepted if signal is Signal.TRACES]


@pytest.mark.parametrize("mode", MODES)
async def test_a_stop_under_load_loses_nothing_that_was_accepted(sink: RecordingSink, mode: str) -> None:
    async with (
        a_service(over_grpc(sink.endpoint), {"mode": mode}) as service,
        Sender(service.grpc, attempts=1) as sender,
    ):
        load = asyncio.create_task(sender.send_all(agent_runs(2_000)))
        await eventually(lambda: len(sender.accepted) > 50)
        await service.stop()
        sender.is_stopped = True
        await load

    assert len(sender.accepted) < 2_000, "the load went on until after the stop"
    account("SIGTERM", sender.accepted, traces(sink), in_doubt=sender.in_doubt)
    service.assert_balanced()


async def test_a_stop_while_a_large_trace_is_read_loses_none_of_it(sink: RecordingSink) -> None:
    spans = [tool("a", label=f"{number:08}") for number in range(6_000)]
    async with a_service(over_grpc(sink.endpoint)) as service, Sender(service.grpc) as sender:
        await sender.send(trace_request([*spans, agent()]))
        buffer = service.app.processor._buffer
        await eventually(lambda: any(trace.is_closing for trace in buffer.all_traces()) or bool(sink.accepted))
        await service.stop()

    account("SIGTERM while a trace closes", sender.accepted, traces(sink))
    service.assert_balanced()


async def test_a_stop_with_a_full_queue_sends_what_still_can_leave(sink: RecordingSink) -> None:
    sink.gate.clear()
    queue = {"queue_size": 1, "num_consumers": 1}
    async with a_service(over_grpc(sink.endpoint, sending_queue=queue)) as service, Sender(service.grpc) as sender:
        for first in range(0, 40, 10):
            await sender.send_all(agent_runs(10, first=first))
            await eventually(lambda: sink.attempts > 0)
        asyncio.get_running_loop().call_later(0.2, sink.gate.set)
        await service.stop()

    account("SIGTERM with a full queue", sender.accepted, traces(sink))
    service.assert_balanced()


@pytest.mark.parametrize("mode", MODES)
async def test_a_stop_while_downstream_is_down_names_every_span_it_loses(sink: RecordingSink, mode: str) -> None:
    await sink.stop()
    queue = {"queue_size": 2, "num_consumers": 1}
    exporters = over_grpc(sink.endpoint, sending_queue=queue)
    async with a_service(exporters, {**OPEN, "mode": mode}) as service, Sender(service.grpc) as sender:
        await sender.send_all(agent_runs(30))
        await service.stop()

    assert 90 == service.counted("toolscore.lost_spans", reason="shutdown")
    account("SIGTERM with downstream down", sender.accepted, traces(sink), named_losses=90)
    service.assert_balanced()


async def test_a_stop_scores_what_is_open(sink: RecordingSink) -> None:
    async with a_service(over_grpc(sink.endpoint), OPEN) as service, Sender(service.grpc) as sender:
        await sender.send_all(agent_runs(30))
        await service.stop()

    assert 30 == service.counted("toolscore.processor.decision_triggers", trigger="shutdown")
    account("SIGTERM with open traces", sender.accepted, traces(sink))


async def test_dropping_open_traces_names_every_span_it_loses(sink: RecordingSink) -> None:
    dropping = {**OPEN, "drop_pending_traces_on_shutdown": True}
    async with a_service(over_grpc(sink.endpoint), dropping) as service, Sender(service.grpc) as sender:
        await sender.send_all(agent_runs(30))
        await service.stop()

    assert 90 == service.counted("toolscore.lost_spans", reason="shutdown")
    account("SIGTERM, dropping", sender.accepted, traces(sink), named_losses=90)
    service.assert_balanced()


@pytest.mark.parametrize("mode", MODES)
async def test_sigterm_of_a_process_under_load_loses_nothing_that_was_accepted(
    sink: RecordingSink, tmp_path: Path, mode: str
) -> None:
    settings = {"mode": mode, "decision_delay": "200ms"}
    async with (
        a_process(tmp_path, f"127.0.0.1:{sink.port}", settings) as service,
        Sender(service.grpc, attempts=1) as sender,
    ):
        load = asyncio.create_task(sender.send_all(agent_runs(20_000)))
        await eventually(lambda: len(sender.accepted) > 200)
        await service.stop()
        sender.is_stopped = True
        await load

    assert len(sender.accepted) < 20_000, "the load went on until after the stop"
    account("SIGTERM of a process", sender.accepted, traces(sink), in_doubt=sender.in_doubt)
