"""
Our exporter facing our receiver, over connections that are cut: each span arrives, and is acknowledged once.
"""

from collections.abc import AsyncIterator

import pytest
from cutting_proxy import CuttingProxy
from doubles import CountingRecorder, RecordingConsumer, eventually
from otlp_requests import Outcomes, all_span_names

from service.durations import MILLISECOND, SECOND
from service.exporter.attempt import Client
from service.exporter.otlp_grpc import GrpcExporterSettings, OtlpGrpcClient
from service.exporter.otlp_http import HttpExporterSettings, OtlpHttpClient
from service.exporter.retry import RetrySettings
from service.exporter.sender import Sender
from service.exporter.sending_queue import QueueSettings, SendingQueue
from service.pipeline import SendOutcome
from service.receiver.otlp_grpc import GrpcReceiverSettings, OtlpGrpcReceiver
from service.receiver.otlp_http import HttpReceiverSettings, OtlpHttpReceiver
from service.telemetry.recorder import NullRecorder

RETRY = RetrySettings(initial_interval_ns=20 * MILLISECOND, max_interval_ns=50 * MILLISECOND)


@pytest.fixture
def consumer() -> RecordingConsumer:
    return RecordingConsumer()


@pytest.fixture(params=["grpc", "http"])
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def proxy(transport: str, consumer: RecordingConsumer) -> AsyncIterator[CuttingProxy]:
    """
    In front of a receiver.
    """
    receiver: OtlpGrpcReceiver | OtlpHttpReceiver
    if transport == "grpc":
        receiver = OtlpGrpcReceiver(GrpcReceiverSettings(endpoint="localhost:0"), consumer, NullRecorder())
    else:
        receiver = OtlpHttpReceiver(HttpReceiverSettings(endpoint="localhost:0"), consumer, NullRecorder())
    await receiver.start()
    async with CuttingProxy(receiver.port, cuts=3, after=300_000) as proxy:
        yield proxy
    await receiver.stop(0)


@pytest.fixture
async def client(transport: str, proxy: CuttingProxy) -> Client:
    endpoint = f"localhost:{proxy.port}"
    if transport == "grpc":
        return OtlpGrpcClient(GrpcExporterSettings(endpoint=endpoint))
    return OtlpHttpClient(HttpExporterSettings(endpoint=f"http://{endpoint}"))


async def test_connections_cut_mid_message_lose_nothing(
    client: Client, proxy: CuttingProxy, consumer: RecordingConsumer
) -> None:
    recorder, outcomes = CountingRecorder(), Outcomes()
    queue = SendingQueue(Sender(client, RETRY, recorder, exporter="otlp"), QueueSettings(), recorder, exporter="otlp")
    queue.start()

    for number in range(8):
        assert queue.offer(outcomes.request(f"s{number}", size=400_000))
    await eventually(lambda: queue.size == 0)

    assert [(SendOutcome.DELIVERED, 0)] * 8 == outcomes.settled
    arrived = all_span_names(payload for _, payload in consumer.requests)
    assert {f"s{number}" for number in range(8)} == set(arrived)
    assert 8 == recorder.counts["sent", "otlp"]
    assert proxy.connections > 3
    await queue.stop(SECOND)
