"""
A real Collector upstream whose exporter tries again, while the service is ended and started again under it.
"""

import asyncio
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from conservation import span_bag
from doubles import RecordingSink
from e2e.collector_build import why_not
from e2e.collectors import forwarding_collector
from e2e.service_process import Addresses
from faults.agent_load import Sender, agent_runs
from faults.fault_report import REPORT, account
from faults.process_under_test import a_process

from service.pipeline import Signal

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(1800),  # the first one may have to build the Collector
    pytest.mark.skipif(why_not() is not None, reason=str(why_not())),
]

RUNS = 300
WITHIN_S = 60
"""The Collector waits longer and longer before it connects again."""
RESTARTS = 2
PATIENT = {
    "retry_on_failure": {"initial_interval": "50ms", "max_interval": "200ms", "max_elapsed_time": "0s"},
    "sending_queue": {"queue_size": 10_000, "num_consumers": 4},
}
QUICK = {"retry_on_failure": {"initial_interval": "50ms", "max_interval": "200ms"}}
CAREFUL = {**QUICK, "sending_queue": {"wait_for_result": True}}


@pytest.fixture
async def sink() -> AsyncIterator[RecordingSink]:
    async with RecordingSink() as sink:
        yield sink


def traces(sink: RecordingSink) -> list[bytes]:
    return [payload for sign, payload in sink.accepted if sign is Signal.TRACES]


async def send_through_restarts(
    sink: RecordingSink,
    directory: Path,
    settings: Mapping[str, object],
    exporter: Mapping[str, object],
    ending: signal.Signals,
) -> tuple[list[bytes], list[bytes]]:
    """
    Send runs through a Collector and the service, ending the service in the middle of each part; gives the runs that
    were sent before the last ending, and those after it.
    """
    addresses = Addresses()
    downstream = f"127.0.0.1:{sink.port}"
    async with AsyncExitStack() as stack:
        collector = await asyncio.to_thread(
            stack.enter_context, forwarding_collector(directory / "a", addresses.grpc, PATIENT)
        )
        sender = await stack.enter_async_context(Sender(collector.grpc))
        for part in range(RESTARTS):
            async with a_process(directory, downstream, settings, exporter=exporter, addresses=addresses) as service:
                load = asyncio.create_task(sender.send_all(agent_runs(RUNS, first=part * RUNS)))
                await asyncio.wait_for(sink.wait_for(accepted=len(sink.accepted) + 1), WITHIN_S)
                await asyncio.to_thread(service.peer.stop, ending)
                REPORT.kills += ending is signal.SIGKILL
            await load
        before = list(sender.accepted)
        async with a_process(directory, downstream, settings, exporter=exporter, addresses=addresses) as service:
            after = agent_runs(RUNS, first=RESTARTS * RUNS)
            await sender.send_all(after)
            await arrived(sink, after)
            await service.stop()
    return before, after


async def arrived(sink: RecordingSink, requests: list[bytes]) -> None:
    wanted = span_bag(requests)
    async with asyncio.timeout(WITHIN_S):
        while wanted - span_bag(traces(sink)):
            await sink.wait_for(accepted=len(sink.accepted) + 1)


async def test_orderly_restarts_under_a_collector_lose_nothing(sink: RecordingSink, tmp_path: Path) -> None:
    settings = {"decision_delay": "200ms"}
    before, after = await send_through_restarts(sink, tmp_path, settings, QUICK, signal.SIGTERM)

    account("restart under a Collector", [*before, *after], traces(sink), may_repeat=True)


async def test_kills_lose_nothing_where_the_next_hop_is_waited_for(sink: RecordingSink, tmp_path: Path) -> None:
    settings = {"decision_delay": "200ms", "mode": "pass_through"}
    before, after = await send_through_restarts(sink, tmp_path, settings, CAREFUL, signal.SIGKILL)

    account("SIGKILL, wait_for_result", [*before, *after], traces(sink), may_repeat=True)


async def test_kills_without_a_journal_lose_only_what_was_held(sink: RecordingSink, tmp_path: Path) -> None:
    settings = {"decision_delay": "1s"}
    before, after = await send_through_restarts(sink, tmp_path, settings, QUICK, signal.SIGKILL)
    lost = (span_bag(before) - span_bag(traces(sink))).total()

    assert 0 < lost < 3 * RUNS * RESTARTS, "the Collector still had the rest, and sent it again"
    account("SIGKILL without a journal", [*before, *after], traces(sink), named_losses=lost, may_repeat=True)
