"""
More load than the next hop takes: what is accepted arrives, what is not is told when to come again, memory stays flat.

Sustainable is what the throttled sink takes. The sender is paced by a clock, not by answers, and never tries again.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import aiohttp
import pytest
from doubles import RecordingSink, eventually
from faults.agent_load import Sender, agent_runs
from faults.fault_report import REPORT, account
from faults.process_under_test import a_process
from faults.service_under_test import a_service, over_grpc

from service.pipeline import Signal

SUSTAINABLE = 2_000_000
"""Bytes a second that the sink takes."""
PADDING = 6_000
RUN_BYTES = 3 * (PADDING + 150)
SECONDS = 1.5
AT_ONCE = 64
"""Fewer than a connection may have streams: what is above is refused by gRPC itself, which knows of no RetryInfo."""
MEBIBYTE = 1024 * 1024
SMALL_QUEUE = {"queue_size_mib": 1, "num_consumers": 2}
SMALL = {"max_buffer_mib": 2, "decision_delay": "1s"}


@pytest.fixture
async def sink() -> AsyncIterator[RecordingSink]:
    async with RecordingSink() as sink:
        sink.bytes_per_second = SUSTAINABLE
        yield sink


def traces(sink: RecordingSink) -> list[bytes]:
    return [payload for signal, payload in sink.accepted if signal is Signal.TRACES]


async def offer(sender: Sender, bytes_per_second: float, seconds: float, *, padding: int = PADDING) -> None:
    """
    Send agent runs at a steady rate, whatever becomes of them.
    """
    size = 3 * (padding + 150)
    requests = agent_runs(round(bytes_per_second * seconds / size), padding=padding)
    began = time.monotonic()
    free = asyncio.Semaphore(AT_ONCE)

    async def send(request: bytes) -> None:
        async with free:
            await sender.send(request)

    tasks = []
    for number, request in enumerate(requests):
        tasks.append(asyncio.create_task(send(request)))
        ahead = number * size / bytes_per_second - (time.monotonic() - began)
        await asyncio.sleep(max(0.0, ahead))
    await asyncio.gather(*tasks)


@pytest.mark.parametrize("mode", ["hold", "pass_through"])
@pytest.mark.parametrize("factor", [1.1, 2.0, 10.0])
async def test_what_is_accepted_arrives_whole_at_any_load(sink: RecordingSink, factor: float, mode: str) -> None:
    exporters = over_grpc(sink.endpoint, sending_queue=SMALL_QUEUE, timeout="20s")
    async with a_service(exporters, {**SMALL, "mode": mode}) as service, Sender(service.grpc, attempts=1) as sender:
        await offer(sender, factor * SUSTAINABLE, SECONDS)
        refused, accepted = len(sender.in_doubt), len(sender.accepted)
        sink.bytes_per_second = None
        await eventually(lambda: service.counted("toolscore.exporter.sent_spans") == 3 * accepted)
        closed = {"trigger": "root_span"}
        await eventually(lambda: service.counted("toolscore.processor.decision_triggers", **closed) == accepted)
        await service.stop()

    assert refused == sender.hinted == sender.refusals.total() == sender.refusals["UNAVAILABLE"]
    assert (factor < 2) == (refused == 0), "a little too much is buffered, ten times as much is refused"
    assert 0 == service.counted("toolscore.processor.traces_evicted"), "bytes could be released"
    if refused == 0:
        assert accepted == service.counted("toolscore.processor.decision_triggers", coverage="complete")
    account(f"load {factor} x sustainable, {mode}", sender.accepted, traces(sink))
    service.assert_balanced()


async def test_over_http_pressure_is_503_with_retry_after(sink: RecordingSink) -> None:
    sink.gate.clear()
    exporters = over_grpc(sink.endpoint, sending_queue=SMALL_QUEUE, timeout="20s")
    async with a_service(exporters, SMALL) as service, aiohttp.ClientSession() as session:
        headers = {"Content-Type": "application/x-protobuf"}
        accepted = []
        for request in agent_runs(400, padding=PADDING):
            async with session.post(f"{service.http}/v1/traces", data=request, headers=headers) as answer:
                if answer.status != 200:
                    break
                accepted.append(request)
        assert (503, True) == (answer.status, int(answer.headers["Retry-After"]) >= 1)
        sink.bytes_per_second = None
        sink.gate.set()
        await service.stop()

    account("pressure over HTTP", accepted, traces(sink))
    service.assert_balanced()


async def test_a_request_is_turned_away_before_it_is_read(sink: RecordingSink) -> None:
    sink.gate.clear()
    exporters = over_grpc(sink.endpoint, sending_queue=SMALL_QUEUE, timeout="20s")
    async with a_service(exporters, SMALL) as service, Sender(service.grpc, attempts=1) as sender:
        for request in agent_runs(400, padding=PADDING):
            if not await sender.send(request):
                break
        nonsense = b"\xff" * MEBIBYTE
        await sender.send(nonsense)
        sink.bytes_per_second = None
        sink.gate.set()
        await service.stop()

    assert {"UNAVAILABLE": 2} == sender.refusals, "bytes that are no request would be INVALID_ARGUMENT"
    account("admission before parsing", sender.accepted, traces(sink))


BUFFER_MIB, QUEUE_MIB = 8, 4
OVERLOAD = 24 * MEBIBYTE


async def watch(read: Callable[[], int], highest: list[int]) -> None:
    while True:
        highest.append(read())
        await asyncio.sleep(0.02)


async def test_memory_stays_flat_under_ten_times_the_sustainable_load(sink: RecordingSink, tmp_path: Path) -> None:
    settings = {"max_buffer_mib": BUFFER_MIB, "decision_delay": "2s"}
    exporter = {"sending_queue": {"queue_size_mib": QUEUE_MIB}, "timeout": "60s"}
    levels: list[int] = []
    async with a_process(tmp_path, f"127.0.0.1:{sink.port}", settings, exporter=exporter) as service:
        async with Sender(service.grpc, attempts=1) as sender:
            sink.bytes_per_second = None
            await sender.send_all(agent_runs(200, first=1_000_000))
            await sink.wait_for(accepted=1)
            before, began = service.resident_bytes, time.monotonic()
            watching = asyncio.create_task(watch(lambda: service.resident_bytes, levels))
            sink.bytes_per_second = 40_000
            await sender.send_all(agent_runs(OVERLOAD // (3 * 4_150), padding=4_000), at_once=AT_ONCE)
            watching.cancel()
            assert OVERLOAD > 10 * sink.bytes_per_second * (time.monotonic() - began), "the load was ten times too much"
        sink.bytes_per_second = None
        await service.stop()

    growth = max(levels) - before
    allowed = (BUFFER_MIB + QUEUE_MIB) * MEBIBYTE
    REPORT.peak_memory = max(REPORT.peak_memory, growth / allowed)
    half = len(levels) // 2
    assert max(levels[half:]) - max(levels[:half]) < allowed / 2, "no more comes to it"
    assert growth < 3 * allowed
    account("memory under overload", sender.accepted, traces(sink))
