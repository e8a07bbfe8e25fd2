"""
The next hop fails in every way it can: what was accepted arrives, or is a loss with a name.
"""

from collections.abc import AsyncIterator

import grpc
import pytest
from cutting_proxy import CuttingProxy
from doubles import Answer, HttpAnswer, RecordingHttpSink, RecordingSink, eventually
from faults.agent_load import Sender, agent_runs, trace_id
from faults.fault_report import account
from faults.service_under_test import ServiceUnderTest, Tree, a_service, over_grpc, over_http
from wire_spans import trace_request, wire_span

from service.exporter.otlp_grpc import _RETRYABLE as GRPC_RETRYABLE
from service.exporter.otlp_http import _RETRYABLE as HTTP_RETRYABLE
from service.pipeline import Signal

RUNS = 20
SPANS = 3 * RUNS
NO_QUEUE = {"queue_size": 2, "num_consumers": 2}
ONLY_TRACES: Tree = {"pipelines": {"traces": {"exporters": ["otlp_grpc"]}}}
FAILURES = [code for code in grpc.StatusCode if code is not grpc.StatusCode.OK]


@pytest.fixture
async def sink() -> AsyncIterator[RecordingSink]:
    async with RecordingSink() as sink:
        yield sink


def traces(sink: RecordingSink | RecordingHttpSink) -> list[bytes]:
    return [payload for signal, payload in sink.accepted if signal is Signal.TRACES]


async def send_runs(service: ServiceUnderTest, *, first: int = 0) -> list[bytes]:
    async with Sender(service.grpc) as sender:
        await sender.send_all(agent_runs(RUNS, first=first))
        return sender.accepted


async def settled(service: ServiceUnderTest, spans: int = SPANS) -> None:
    """
    Until so many spans were sent or lost.
    """
    await eventually(lambda: service.counted("toolscore.exporter.sent_spans") + service.lost_spans >= spans)


async def retried(service: ServiceUnderTest, error_type: str, *, times: int = 1) -> None:
    await eventually(lambda: service.counted("toolscore.exporter.retries", **{"error.type": error_type}) >= times)


async def test_downstream_down_then_back_loses_nothing(sink: RecordingSink) -> None:
    await sink.stop()
    async with a_service(over_grpc(sink.endpoint)) as service:
        sent = await send_runs(service)
        await retried(service, "UNAVAILABLE")
        await sink.start(port=sink.port)
        await settled(service)
        await service.stop()

    account("downstream down", sent, traces(sink), may_repeat=True)
    service.assert_balanced()


async def test_a_slow_downstream_loses_nothing(sink: RecordingSink) -> None:
    sink.bytes_per_second = 50_000
    async with a_service(over_grpc(sink.endpoint, sending_queue=NO_QUEUE)) as service:
        sent = await send_runs(service)
        await settled(service)
        await service.stop()

    account("downstream slow", sent, traces(sink))
    service.assert_balanced()


async def test_a_black_hole_loses_nothing_once_it_answers(sink: RecordingSink) -> None:
    sink.gate.clear()
    async with a_service(over_grpc(sink.endpoint, timeout="200ms")) as service:
        sent = await send_runs(service)
        await retried(service, "DEADLINE_EXCEEDED", times=3)
        sink.gate.set()
        await settled(service)
        await service.stop()

    account("downstream black hole", sent, traces(sink), may_repeat=True)
    service.assert_balanced()


@pytest.mark.parametrize("code", FAILURES, ids=lambda code: code.name)
async def test_every_grpc_status_is_a_retry_or_a_named_loss(sink: RecordingSink, code: grpc.StatusCode) -> None:
    sink.otherwise = code
    async with a_service(over_grpc(sink.endpoint)) as service:
        sent = await send_runs(service)
        if code in GRPC_RETRYABLE:
            await retried(service, code.name)
            sink.otherwise = None
        await settled(service)
        await service.stop()

    lost = 0 if code in GRPC_RETRYABLE else SPANS
    assert lost == service.counted("toolscore.lost_spans", reason="rejected_downstream")
    account(f"gRPC {code.name}", sent, traces(sink), named_losses=lost)
    service.assert_balanced()


@pytest.mark.parametrize("status", [302, 400, 401, 403, 404, 408, 413, 415, 429, 500, 501, 502, 503, 504])
async def test_every_http_status_is_a_retry_or_a_named_loss(status: int) -> None:
    async with RecordingHttpSink() as sink:
        sink.otherwise = HttpAnswer(status)
        async with a_service(over_http(sink.url)) as service:
            sent = await send_runs(service)
            if status in HTTP_RETRYABLE:
                await retried(service, str(status))
                sink.otherwise = HttpAnswer()
            await settled(service)
            await service.stop()

        lost = 0 if status in HTTP_RETRYABLE else SPANS
        account(f"HTTP {status}", sent, traces(sink), named_losses=lost)
        service.assert_balanced()


THROTTLED: list[Answer] = [
    (grpc.StatusCode.UNAVAILABLE, 0.0),
    (grpc.StatusCode.RESOURCE_EXHAUSTED, 0.2),
    (grpc.StatusCode.RESOURCE_EXHAUSTED, 0.0),
]


async def test_retry_info_makes_any_throttling_a_retry(sink: RecordingSink) -> None:
    sink.script = THROTTLED * 3
    async with a_service(over_grpc(sink.endpoint)) as service:
        sent = await send_runs(service)
        await settled(service)
        await service.stop()

    assert [] == sink.script
    account("RetryInfo", sent, traces(sink))
    service.assert_balanced()


async def test_what_partial_success_rejects_is_lost_by_name_and_nothing_else(sink: RecordingSink) -> None:
    sink.script = [2, 1]
    async with a_service(over_grpc(sink.endpoint), service=ONLY_TRACES) as service:
        sent = [*await send_runs(service), *await send_runs(service, first=RUNS)]
        await settled(service, 2 * SPANS)
        await service.stop()

    assert 3 == service.lost_spans == service.counted("toolscore.exporter.rejected_spans")
    account("partial success", sent, traces(sink))  # the sink keeps requests whole, whatever it says of them
    service.assert_balanced()


@pytest.mark.parametrize("after", [0, 20, 5_000, 60_000])
async def test_connections_cut_mid_message_lose_nothing(sink: RecordingSink, after: int) -> None:
    async with CuttingProxy(sink.port, cuts=3, after=after) as proxy:
        async with a_service(over_grpc(f"localhost:{proxy.port}", timeout="1s")) as service:
            async with Sender(service.grpc) as sender:
                await sender.send_all(agent_runs(RUNS, padding=10_000))
                sent = sender.accepted
            await settled(service)
            await service.stop()
        assert proxy.connections > 3

    account("connection cut", sent, traces(sink), may_repeat=True)
    service.assert_balanced()


async def test_a_guilty_span_is_lost_alone(sink: RecordingSink) -> None:
    guilty = trace_request([wire_span("guilty", trace=trace_id(RUNS))])
    sink.otherwise = lambda request: grpc.StatusCode.INVALID_ARGUMENT if b"guilty" in request else None
    async with a_service(over_grpc(sink.endpoint), {"decision_delay": "300ms"}) as service:
        async with Sender(service.grpc) as sender:
            await sender.send_all([*agent_runs(RUNS), guilty])
        await settled(service, SPANS + 1)
        await service.stop()

    assert 1 == service.counted("toolscore.lost_spans", reason="rejected_downstream")
    account("poison span", sender.accepted, traces(sink), named_losses=1)
    service.assert_balanced()
