"""
The OTLP/gRPC receiver over real connections: what it takes, what it refuses, and with which status.
"""

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable

import grpc
import grpc.aio
import pytest
from doubles import SERVICES, CountingRecorder, RecordingConsumer, details_of
from google.rpc import error_details_pb2, status_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from msgspec import structs
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from otlp_requests import log_request, metric_request, trace_request

from service.durations import SECOND
from service.errors import ConfigError, MalformedRequest, Refused, RequestTooLarge
from service.pipeline import Accepted, Signal
from service.receiver.otlp_grpc import GrpcReceiverSettings, OtlpGrpcReceiver

Code = grpc.StatusCode
MIB = 1024 * 1024
LOCAL = GrpcReceiverSettings(endpoint="localhost:0")
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING

Start = Callable[..., Awaitable[OtlpGrpcReceiver]]


@pytest.fixture
def consumer() -> RecordingConsumer:
    return RecordingConsumer()


@pytest.fixture
def recorder() -> CountingRecorder:
    return CountingRecorder()


@pytest.fixture
async def start(consumer: RecordingConsumer, recorder: CountingRecorder) -> AsyncIterator[Start]:
    started: list[OtlpGrpcReceiver] = []

    async def start(settings: GrpcReceiverSettings = LOCAL) -> OtlpGrpcReceiver:
        receiver = OtlpGrpcReceiver(settings, consumer, recorder)
        await receiver.start()
        started.append(receiver)
        return receiver

    yield start
    for receiver in started:
        await receiver.stop(0)


@pytest.fixture
async def receiver(start: Start) -> OtlpGrpcReceiver:
    return await start()


async def export(
    receiver: OtlpGrpcReceiver,
    payload: bytes,
    signal: Signal = Signal.TRACES,
    compression: grpc.Compression = grpc.Compression.NoCompression,
) -> bytes:
    async with grpc.aio.insecure_channel(f"localhost:{receiver.port}") as channel:
        method = channel.unary_unary(f"/{SERVICES[signal]}/Export", None, None)
        answer: bytes = await method(payload, timeout=10, compression=compression)
        return answer


async def refusal(receiver: OtlpGrpcReceiver, payload: bytes) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await export(receiver, payload)
    return caught.value


@pytest.mark.parametrize(
    ("signal", "payload"),
    [
        (Signal.TRACES, trace_request("a")),
        (Signal.LOGS, log_request("a")),
        (Signal.METRICS, metric_request("a")),
    ],
)
async def test_requests_of_all_signals_arrive_byte_for_byte(
    signal: Signal, payload: bytes, receiver: OtlpGrpcReceiver, consumer: RecordingConsumer, recorder: CountingRecorder
) -> None:
    assert b"" == await export(receiver, payload, signal)
    assert [(signal, payload)] == consumer.requests
    assert {("accepted", signal): 1, ("accepted_items", signal): 1} == recorder.counts


async def test_gzip_is_understood(receiver: OtlpGrpcReceiver, consumer: RecordingConsumer) -> None:
    payload = trace_request("a", size=100_000)

    await export(receiver, payload, compression=grpc.Compression.Gzip)

    assert [(Signal.TRACES, payload)] == consumer.requests


async def test_an_empty_request_is_a_success_without_a_pipeline_call(
    receiver: OtlpGrpcReceiver, consumer: RecordingConsumer, recorder: CountingRecorder
) -> None:
    assert b"" == await export(receiver, b"")
    assert [] == consumer.requests
    assert {("accepted", "traces"): 1, ("accepted_items", "traces"): 0} == recorder.counts


async def test_rejected_spans_are_told_as_partial_success(
    receiver: OtlpGrpcReceiver, consumer: RecordingConsumer
) -> None:
    consumer.answer = Accepted(rejected_items=2, message="2 spans with an invalid trace_id or span_id", item_count=5)

    answer = ExportTraceServiceResponse.FromString(await export(receiver, trace_request("a")))

    assert 2 == answer.partial_success.rejected_spans


@pytest.mark.parametrize(
    ("error", "code", "count"),
    [
        pytest.param(MalformedRequest("x"), Code.INVALID_ARGUMENT, ("failed", "malformed"), id="malformed"),
        pytest.param(RequestTooLarge("x"), Code.RESOURCE_EXHAUSTED, ("failed", "too_large"), id="too large"),
        pytest.param(Refused("queue_full"), Code.UNAVAILABLE, ("refused", "queue_full"), id="pressure"),
        pytest.param(Refused("anything"), Code.UNAVAILABLE, ("refused", "buffer_full"), id="reason out of the set"),
        pytest.param(ZeroDivisionError(), Code.UNAVAILABLE, ("failed", "internal"), id="defect of the consumer"),
    ],
)
async def test_what_is_not_taken_is_answered_and_counted_once(
    error: Exception,
    code: grpc.StatusCode,
    count: tuple[str, str],
    receiver: OtlpGrpcReceiver,
    *,
    consumer: RecordingConsumer,
    recorder: CountingRecorder,
) -> None:
    consumer.answer = error

    assert code is (await refusal(receiver, trace_request("a"))).code()
    assert {count: 1} == recorder.counts


async def test_pressure_tells_when_to_come_again(receiver: OtlpGrpcReceiver, consumer: RecordingConsumer) -> None:
    consumer.answer = Refused("buffer_full", retry_after_s=1.5)

    status = status_pb2.Status.FromString(details_of(await refusal(receiver, trace_request("a"))))
    info = error_details_pb2.RetryInfo()

    assert status.details[0].Unpack(info)
    assert 1_500_000_000 == info.retry_delay.ToNanoseconds()


async def test_admission_comes_before_the_consumer_reads(
    receiver: OtlpGrpcReceiver, consumer: RecordingConsumer, recorder: CountingRecorder
) -> None:
    consumer.limit = 10

    error = await refusal(receiver, trace_request("a", size=100))

    assert Code.UNAVAILABLE is error.code()
    assert details_of(error)
    assert not consumer.entered.is_set()
    assert {("refused", "memory_limit"): 1} == recorder.counts


@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
async def test_the_size_limit_holds_after_decompression_and_is_not_retryable(
    compression: grpc.Compression, start: Start, consumer: RecordingConsumer
) -> None:
    receiver = await start(structs.replace(LOCAL, max_recv_msg_size=MIB))
    payload = bytes(2 * MIB)
    assert len(gzip.compress(payload)) < MIB

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await export(receiver, payload, compression=compression)

    assert Code.RESOURCE_EXHAUSTED is caught.value.code()
    assert b"" == details_of(caught.value)
    assert [] == consumer.requests


async def test_requests_above_the_default_of_grpc_are_taken(
    receiver: OtlpGrpcReceiver, consumer: RecordingConsumer
) -> None:
    await export(receiver, trace_request("a", size=20 * MIB))

    assert 1 == len(consumer.requests)


async def test_an_unknown_method_is_unimplemented(receiver: OtlpGrpcReceiver) -> None:
    async with grpc.aio.insecure_channel(f"localhost:{receiver.port}") as channel:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await channel.unary_unary(f"/{SERVICES[Signal.TRACES]}/Import", None, None)(b"", timeout=10)

    assert Code.UNIMPLEMENTED is caught.value.code()


async def test_a_second_instance_cannot_take_half_of_the_port(receiver: OtlpGrpcReceiver) -> None:
    settings = GrpcReceiverSettings(endpoint=f"localhost:{receiver.port}")
    second = OtlpGrpcReceiver(settings, RecordingConsumer(), CountingRecorder())

    with pytest.raises(ConfigError, match="receivers::otlp::protocols::grpc::endpoint"):
        await second.start()


async def health(receiver: OtlpGrpcReceiver, service: str) -> health_pb2.HealthCheckResponse.ServingStatus.ValueType:
    async with grpc.aio.insecure_channel(f"localhost:{receiver.port}") as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        answer = await stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=10)
        return answer.status


@pytest.mark.parametrize("service", ["", SERVICES[Signal.TRACES]])
async def test_health_goes_before_requests_are_refused(
    service: str, receiver: OtlpGrpcReceiver, consumer: RecordingConsumer
) -> None:
    assert SERVING == await health(receiver, service)

    await receiver.set_not_ready()

    assert NOT_SERVING == await health(receiver, service)
    await export(receiver, trace_request("a"))
    assert 1 == len(consumer.requests)


async def test_a_stop_lets_requests_in_progress_end(receiver: OtlpGrpcReceiver, consumer: RecordingConsumer) -> None:
    consumer.gate.clear()
    sending = asyncio.create_task(export(receiver, trace_request("a")))
    await consumer.entered.wait()
    stopping = asyncio.create_task(receiver.stop(10 * SECOND))
    await asyncio.sleep(0)

    consumer.gate.set()

    assert b"" == await sending
    await stopping
    assert 1 == len(consumer.requests)


async def test_a_request_whose_sender_hangs_up_is_still_taken_as_a_whole(
    receiver: OtlpGrpcReceiver, consumer: RecordingConsumer, recorder: CountingRecorder
) -> None:
    consumer.gate.clear()
    sending = asyncio.create_task(export(receiver, trace_request("a")))
    await consumer.entered.wait()
    sending.cancel()
    await asyncio.wait([sending])
    stopping = asyncio.create_task(receiver.stop(10 * SECOND))

    consumer.gate.set()
    await stopping

    assert 1 == len(consumer.requests)
    assert {("accepted", "traces"): 1, ("accepted_items", "traces"): 1} == recorder.counts


async def test_after_a_stop_nothing_is_taken(receiver: OtlpGrpcReceiver, consumer: RecordingConsumer) -> None:
    await receiver.stop(SECOND)

    assert Code.UNAVAILABLE is (await refusal(receiver, trace_request("a"))).code()
    assert [] == consumer.requests


async def test_a_request_that_comes_during_the_stop_is_refused_for_a_retry(
    receiver: OtlpGrpcReceiver, consumer: RecordingConsumer
) -> None:
    consumer.gate.clear()
    async with grpc.aio.insecure_channel(f"localhost:{receiver.port}") as channel:
        method = channel.unary_unary(f"/{SERVICES[Signal.TRACES]}/Export", None, None)
        first = method(trace_request("a"), timeout=10)
        await consumer.entered.wait()
        stopping = asyncio.create_task(receiver.stop(10 * SECOND))
        await asyncio.sleep(0)

        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await method(trace_request("b"), timeout=10)
        consumer.gate.set()

        # A call that meets the closing server inside of grpcio is CANCELLED by it: retryable in OTLP as well.
        assert caught.value.code() in {Code.UNAVAILABLE, Code.CANCELLED}
        assert b"" == await first
    await stopping


async def test_connections_above_the_cap_are_turned_away(start: Start) -> None:
    receiver = await start(structs.replace(LOCAL, max_connections=2))
    connections = [await asyncio.open_connection("localhost", receiver.port) for _ in range(3)]

    greetings = [await reader.read(1) for reader, _ in connections]

    assert [True, True, False] == [bool(greeting) for greeting in greetings]
    for _, writer in connections:
        writer.close()


async def test_what_is_not_grpc_does_not_disturb_others(
    receiver: OtlpGrpcReceiver, consumer: RecordingConsumer
) -> None:
    _, writer = await asyncio.open_connection("localhost", receiver.port)
    writer.write(b"GET / HTTP/1.1\r\n\r\n" + bytes(1000))
    await writer.drain()

    await export(receiver, trace_request("a"))

    assert 1 == len(consumer.requests)
    writer.close()


async def test_a_client_that_never_speaks_is_disconnected(start: Start) -> None:
    receiver = await start(structs.replace(LOCAL, handshake_timeout_ns=SECOND // 10))
    reader, writer = await asyncio.open_connection("localhost", receiver.port)

    async with asyncio.timeout(10):
        await reader.read()

    writer.close()
