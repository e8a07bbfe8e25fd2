"""
The OTLP/HTTP receiver over real connections: what it takes, what it refuses, and with which status.
"""

import asyncio
import gzip
import json
import random
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import aiohttp
import pytest
import zstandard
from aiohttp import web
from doubles import CountingRecorder, RecordingConsumer, eventually
from http_posting import post
from msgspec import structs
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from otlp_requests import log_request, metric_request, span_names, trace_request

from proto_adapters.otlp_json import logs_to_json, metrics_to_json, traces_to_json
from service.durations import MILLISECOND, SECOND
from service.errors import ConfigError, MalformedRequest, Refused, RequestTooLarge
from service.pipeline import Accepted, Signal
from service.receiver.otlp_http import JSON, PROTOBUF, HttpReceiverSettings, OtlpHttpReceiver

MIB = 1024 * 1024
LOCAL = HttpReceiverSettings(endpoint="localhost:0")
Start = Callable[..., Awaitable[OtlpHttpReceiver]]
PATHS = {signal: f"/v1/{signal}" for signal in Signal}
HEAD = b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-protobuf\r\n"


@pytest.fixture
def consumer() -> RecordingConsumer:
    return RecordingConsumer()


@pytest.fixture
def recorder() -> CountingRecorder:
    return CountingRecorder()


@pytest.fixture
async def start(consumer: RecordingConsumer, recorder: CountingRecorder) -> AsyncIterator[Start]:
    started: list[OtlpHttpReceiver] = []

    async def start(
        settings: HttpReceiverSettings = LOCAL, add_routes: Callable[[web.Application], None] | None = None
    ) -> OtlpHttpReceiver:
        receiver = OtlpHttpReceiver(settings, consumer, recorder, add_routes=add_routes)
        await receiver.start()
        started.append(receiver)
        return receiver

    yield start
    for receiver in started:
        await receiver.stop(0)


@pytest.fixture
async def receiver(start: Start) -> OtlpHttpReceiver:
    return await start()


@pytest.mark.parametrize(
    ("signal", "payload"),
    [
        (Signal.TRACES, trace_request("a")),
        (Signal.LOGS, log_request("a")),
        (Signal.METRICS, metric_request("a")),
    ],
)
async def test_protobuf_of_all_signals_arrives_byte_for_byte(
    signal: Signal, payload: bytes, receiver: OtlpHttpReceiver, consumer: RecordingConsumer, recorder: CountingRecorder
) -> None:
    reply = await post(receiver, payload, path=PATHS[signal])

    assert (200, PROTOBUF, b"") == (reply.status, reply.headers["Content-Type"], reply.body)
    assert [(signal, payload)] == consumer.requests
    assert {("accepted", signal): 1, ("accepted_items", signal): 1} == recorder.counts


@pytest.mark.parametrize(
    ("signal", "payload", "body"),
    [
        (Signal.TRACES, trace_request("a"), traces_to_json(trace_request("a"))),
        (Signal.LOGS, log_request("a"), logs_to_json(log_request("a"))),
        (Signal.METRICS, metric_request("a"), metrics_to_json(metric_request("a"))),
    ],
)
async def test_json_of_all_signals_arrives_as_protobuf(
    signal: Signal, payload: bytes, body: str, receiver: OtlpHttpReceiver, consumer: RecordingConsumer
) -> None:
    reply = await post(receiver, body.encode(), path=PATHS[signal], content_type=f"{JSON}; charset=utf-8")

    assert (200, b"{}") == (reply.status, reply.body)
    assert reply.headers["Content-Type"].startswith(JSON)
    assert [(signal, payload)] == consumer.requests


async def test_a_large_json_body_arrives(receiver: OtlpHttpReceiver, consumer: RecordingConsumer) -> None:
    payload = trace_request(*(f"s{number}" for number in range(1000)), size=100)

    reply = await post(receiver, traces_to_json(payload).encode(), content_type=JSON)

    assert 200 == reply.status
    assert [(Signal.TRACES, payload)] == consumer.requests


@pytest.mark.parametrize(
    ("encoding", "compress"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("zstd", zstandard.compress),
        ("GZIP", gzip.compress),
        ("identity", bytes),
    ],
)
async def test_encodings_are_taken_off(
    encoding: str, compress: Callable[[bytes], bytes], receiver: OtlpHttpReceiver, consumer: RecordingConsumer
) -> None:
    payload = trace_request("a", size=MIB)

    reply = await post(receiver, compress(payload), encoding=encoding)

    assert 200 == reply.status
    assert [(Signal.TRACES, payload)] == consumer.requests


async def chunked(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


async def test_a_chunked_body_is_taken(receiver: OtlpHttpReceiver, consumer: RecordingConsumer) -> None:
    payload = trace_request("a", "b")

    assert 200 == (await post(receiver, chunked(payload[:10], payload[10:]))).status
    assert [(Signal.TRACES, payload)] == consumer.requests


@pytest.mark.parametrize(("body", "content_type"), [(b"", PROTOBUF), (b"{}", JSON)])
async def test_an_empty_request_is_a_success_without_a_pipeline_call(
    body: bytes, content_type: str, receiver: OtlpHttpReceiver, consumer: RecordingConsumer
) -> None:
    assert 200 == (await post(receiver, body, content_type=content_type)).status
    assert [] == consumer.requests


@pytest.mark.parametrize("content_type", [PROTOBUF, JSON])
async def test_rejected_spans_are_told_in_the_content_type_of_the_request(
    content_type: str, receiver: OtlpHttpReceiver, consumer: RecordingConsumer
) -> None:
    consumer.answer = Accepted(rejected_items=2, message="bad ids", item_count=5)
    body = trace_request("a") if content_type == PROTOBUF else traces_to_json(trace_request("a")).encode()

    reply = await post(receiver, body, content_type=content_type)

    if content_type == PROTOBUF:
        assert 2 == ExportTraceServiceResponse.FromString(reply.body).partial_success.rejected_spans
    else:
        assert {"partialSuccess": {"rejectedSpans": "2", "errorMessage": "bad ids"}} == json.loads(reply.body)


@pytest.mark.parametrize(
    ("error", "status", "code", "retry_after", "count"),
    [
        pytest.param(MalformedRequest("x"), 400, 3, None, ("failed", "malformed"), id="malformed"),
        pytest.param(RequestTooLarge("x"), 413, 8, None, ("failed", "too_large"), id="too large"),
        pytest.param(Refused("queue_full"), 503, 14, "1", ("refused", "queue_full"), id="pressure"),
        pytest.param(Refused("queue_full", retry_after_s=2.1), 503, 14, "3", ("refused", "queue_full"), id="rounded"),
        pytest.param(ZeroDivisionError(), 503, 14, "5", ("failed", "internal"), id="defect of the consumer"),
    ],
)
async def test_what_is_not_taken_is_answered_and_counted_once(
    error: Exception,
    status: int,
    code: int,
    retry_after: str | None,
    *,
    count: tuple[str, str],
    receiver: OtlpHttpReceiver,
    consumer: RecordingConsumer,
    recorder: CountingRecorder,
) -> None:
    consumer.answer = error

    reply = await post(receiver, trace_request("a"))

    assert (status, code, retry_after) == (reply.status, reply.error.code, reply.headers.get("Retry-After"))
    assert {count: 1} == recorder.counts


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        pytest.param({"path": "/v1/spans"}, 404, id="unknown path"),
        pytest.param({"method": "PUT"}, 405, id="wrong method"),
        pytest.param({"content_type": "text/plain"}, 415, id="unknown content type"),
        pytest.param({"encoding": "br"}, 415, id="unknown encoding"),
        pytest.param({"encoding": "gzip, gzip"}, 415, id="stacked encodings"),
        pytest.param({"encoding": "gzip"}, 400, id="not gzip at all"),
        pytest.param({"content_type": JSON}, 400, id="not JSON at all"),
    ],
)
async def test_what_is_not_served_has_its_own_status(
    changes: dict[str, str], status: int, receiver: OtlpHttpReceiver, consumer: RecordingConsumer
) -> None:
    reply = await post(receiver, b"\x0a\x00", **changes)

    assert status == reply.status
    assert [] == consumer.requests
    assert "Retry-After" not in reply.headers


async def test_errors_are_told_in_json_to_json_senders(receiver: OtlpHttpReceiver) -> None:
    reply = await post(receiver, b'{"resourceSpans": 3}', content_type=JSON)

    assert reply.headers["Content-Type"].startswith(JSON)
    assert 3 == json.loads(reply.body)["code"]
    assert "resourceSpans" in json.loads(reply.body)["message"]


async def test_an_encoding_that_is_switched_off_is_refused(start: Start) -> None:
    receiver = await start(structs.replace(LOCAL, compression_algorithms=("", "gzip")))

    assert 415 == (await post(receiver, zstandard.compress(b""), encoding="zstd")).status


@pytest.mark.parametrize("is_chunked", [False, True])
async def test_a_body_above_the_limit_is_not_read(
    start: Start, consumer: RecordingConsumer, *, is_chunked: bool
) -> None:
    receiver = await start(structs.replace(LOCAL, max_request_body_size=1000))
    body = bytes(1001)

    reply = await post(receiver, chunked(body) if is_chunked else body)

    assert (413, 8) == (reply.status, reply.error.code)
    assert [] == consumer.requests


async def test_a_body_announced_above_the_limit_is_refused_before_it_comes(start: Start) -> None:
    receiver = await start(structs.replace(LOCAL, max_request_body_size=1000))
    reader, writer = await asyncio.open_connection("localhost", receiver.port)
    writer.write(HEAD + b"Content-Length: 1001\r\n\r\n")

    assert b" 413 " in await reader.readline()
    writer.close()


async def test_the_limit_counts_as_much_after_decompression(start: Start, consumer: RecordingConsumer) -> None:
    receiver = await start(structs.replace(LOCAL, max_request_body_size=MIB))

    for encoding, compress in (("gzip", gzip.compress), ("deflate", zlib.compress), ("zstd", zstandard.compress)):
        assert 413 == (await post(receiver, compress(bytes(100 * MIB)), encoding=encoding)).status
    assert [] == consumer.requests


async def test_admission_comes_before_the_body_is_read(
    receiver: OtlpHttpReceiver, consumer: RecordingConsumer, recorder: CountingRecorder
) -> None:
    """
    The answer comes although no byte of the body was sent.
    """
    consumer.limit = 100
    reader, writer = await asyncio.open_connection("localhost", receiver.port)
    writer.write(HEAD + b"Content-Length: 101\r\n\r\n")

    assert b"503" in await reader.readline()
    assert {("refused", "memory_limit"): 1} == recorder.counts
    writer.close()


async def until_answered(receiver: OtlpHttpReceiver, body: bytes, status: int) -> None:
    """Send *body* until the answer is *status*."""
    async with asyncio.timeout(10):
        while True:
            if status == (await post(receiver, body)).status:
                return


async def test_bodies_at_the_door_count_together(receiver: OtlpHttpReceiver, consumer: RecordingConsumer) -> None:
    consumer.limit = 150
    _, slow = await asyncio.open_connection("localhost", receiver.port)
    slow.write(HEAD + b"Content-Length: 100\r\n\r\n" + bytes(50))
    await slow.drain()

    await until_answered(receiver, bytes(100), 503)
    slow.close()
    await until_answered(receiver, bytes(100), 200)


async def closed_by_receiver(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(10):
        return await reader.read()


@pytest.mark.parametrize("beginning", [b"", b"POST /v1/tra", HEAD], ids=["nothing", "half a line", "headers"])
async def test_a_client_that_does_not_finish_its_headers_is_disconnected(start: Start, beginning: bytes) -> None:
    receiver = await start(structs.replace(LOCAL, read_header_timeout_ns=50 * MILLISECOND))
    reader, writer = await asyncio.open_connection("localhost", receiver.port)
    writer.write(beginning)

    assert b"" == await closed_by_receiver(reader)
    writer.close()


async def test_the_header_deadline_ends_with_the_headers(start: Start, consumer: RecordingConsumer) -> None:
    """
    A connection that was opened later is closed by the same deadline, so it has passed for the first one too.
    """
    receiver = await start(structs.replace(LOCAL, read_header_timeout_ns=50 * MILLISECOND))
    consumer.gate.clear()
    sending = asyncio.create_task(post(receiver, trace_request("a")))
    await consumer.entered.wait()
    reader, writer = await asyncio.open_connection("localhost", receiver.port)
    assert b"" == await closed_by_receiver(reader)

    consumer.gate.set()

    assert 200 == (await sending).status
    writer.close()


async def test_a_client_that_does_not_finish_its_body_is_told_and_disconnected(
    start: Start, recorder: CountingRecorder
) -> None:
    receiver = await start(structs.replace(LOCAL, read_timeout_ns=50 * MILLISECOND))
    reader, writer = await asyncio.open_connection("localhost", receiver.port)
    writer.write(HEAD + b"Content-Length: 1000\r\n\r\n" + bytes(10))

    assert b" 408 " in await closed_by_receiver(reader)
    assert {("failed", "timeout"): 1} == recorder.counts
    writer.close()


async def test_an_idle_connection_is_closed(start: Start) -> None:
    receiver = await start(structs.replace(LOCAL, idle_timeout_ns=50 * MILLISECOND))
    reader, writer = await asyncio.open_connection("localhost", receiver.port)
    writer.write(HEAD + b"Content-Length: 0\r\n\r\n")

    assert b" 200 " in await closed_by_receiver(reader)
    writer.close()


async def test_a_slow_second_request_is_closed_too(start: Start) -> None:
    receiver = await start(structs.replace(LOCAL, idle_timeout_ns=50 * MILLISECOND))
    reader, writer = await asyncio.open_connection("localhost", receiver.port)
    writer.write(HEAD + b"Content-Length: 0\r\n\r\n" + b"POST /v1/tra")

    assert 1 == (await closed_by_receiver(reader)).count(b"HTTP/1.1 200")
    writer.close()


async def test_a_body_cut_off_by_its_sender_is_not_taken(
    receiver: OtlpHttpReceiver, consumer: RecordingConsumer, recorder: CountingRecorder
) -> None:
    _, writer = await asyncio.open_connection("localhost", receiver.port)
    writer.write(HEAD + b"Content-Length: 1000\r\n\r\n" + trace_request("a"))
    await writer.drain()
    writer.close()
    await eventually(lambda: bool(recorder.counts))

    assert {("failed", "malformed"): 1} == recorder.counts
    assert [] == consumer.requests


async def test_a_client_that_never_reads_its_answers_is_disconnected(start: Start) -> None:
    receiver = await start(structs.replace(LOCAL, write_timeout_ns=50 * MILLISECOND))
    _, writer = await asyncio.open_connection("localhost", receiver.port)
    request = HEAD + b"Content-Length: 0\r\n\r\n"
    with pytest.raises(ConnectionError):
        async with asyncio.timeout(30):
            await _flood(writer, request)
    writer.close()


async def _flood(writer: asyncio.StreamWriter, request: bytes) -> None:
    while True:
        writer.write(request * 1000)
        await writer.drain()


async def test_connections_above_the_cap_are_turned_away(start: Start, consumer: RecordingConsumer) -> None:
    receiver = await start(structs.replace(LOCAL, max_connections=2))
    held = [await asyncio.open_connection("localhost", receiver.port) for _ in range(2)]

    reader, writer = await asyncio.open_connection("localhost", receiver.port)
    assert b"" == await closed_by_receiver(reader)
    writer.close()
    for _, open_writer in held:
        open_writer.close()
        await open_writer.wait_closed()

    async with asyncio.timeout(10):
        while True:
            try:
                assert 200 == (await post(receiver, trace_request("a"))).status
                break
            except aiohttp.ClientConnectionError:
                await asyncio.sleep(0.01)
    assert 1 == len(consumer.requests)


async def test_garbage_does_not_disturb_others(receiver: OtlpHttpReceiver, consumer: RecordingConsumer) -> None:
    reader, writer = await asyncio.open_connection("localhost", receiver.port)
    writer.write(b"\x16\x03\x01\x00garbage\r\n\r\n")

    assert b" 400 " in await closed_by_receiver(reader)
    assert 200 == (await post(receiver, trace_request("a"))).status
    writer.close()


async def test_a_stop_lets_requests_in_progress_end(receiver: OtlpHttpReceiver, consumer: RecordingConsumer) -> None:
    consumer.gate.clear()
    sending = asyncio.create_task(post(receiver, trace_request("a")))
    await consumer.entered.wait()
    stopping = asyncio.create_task(receiver.stop(10 * SECOND))
    await asyncio.sleep(0)

    consumer.gate.set()

    assert 200 == (await sending).status
    await stopping
    with pytest.raises(aiohttp.ClientConnectionError):
        await post(receiver, trace_request("b"))


async def test_a_port_in_use_is_a_configuration_error(receiver: OtlpHttpReceiver) -> None:
    settings = HttpReceiverSettings(endpoint=f"localhost:{receiver.port}")

    with pytest.raises(ConfigError, match="receivers::otlp::protocols::http::endpoint"):
        await OtlpHttpReceiver(settings, RecordingConsumer(), CountingRecorder()).start()


async def test_other_routes_stand_behind_the_same_guard(start: Start) -> None:
    async def fail(request: web.Request) -> web.Response:
        raise MalformedRequest("no annotation")

    def add_routes(app: web.Application) -> None:
        app.router.add_put("/v1/annotations", fail)

    receiver = await start(add_routes=add_routes)

    reply = await post(receiver, b"x", path="/v1/annotations", method="PUT", content_type=JSON)

    assert (400, "no annotation") == (reply.status, json.loads(reply.body)["message"])


async def test_spans_of_many_clients_all_arrive(receiver: OtlpHttpReceiver, consumer: RecordingConsumer) -> None:
    replies = await asyncio.gather(*(post(receiver, trace_request(f"s{number}")) for number in range(50)))

    assert [200] * 50 == [reply.status for reply in replies]
    assert {f"s{number}" for number in range(50)} == {span_names(payload)[0] for _, payload in consumer.requests}


def hostile_bodies(count: int) -> Iterator[tuple[str, str, bytes]]:
    """Content type, encoding and body: good requests with some bytes changed, cut or put in. Reproducible."""
    chance = random.Random(4)
    whole = trace_request(*"abcdef", size=50)
    forms = {PROTOBUF: whole, JSON: traces_to_json(whole).encode()}
    encoders: dict[str, Callable[[bytes], bytes]] = {
        "": bytes,
        "gzip": gzip.compress,
        "deflate": zlib.compress,
        "zstd": zstandard.compress,
    }
    for _ in range(count):
        content_type, encoding = chance.choice(list(forms)), chance.choice(list(encoders))
        body = bytearray(encoders[encoding](forms[content_type]))
        for _ in range(chance.randrange(1, 4)):
            start = chance.randrange(len(body))
            body[start : start + chance.randrange(3)] = chance.randbytes(chance.randrange(3))
        yield content_type, encoding, bytes(body)


async def test_damaged_bodies_are_taken_or_refused_and_never_a_fault_of_ours(
    receiver: OtlpHttpReceiver, recorder: CountingRecorder
) -> None:
    statuses: Counter[int] = Counter()
    for content_type, encoding, body in hostile_bodies(300):
        statuses[(await post(receiver, body, content_type=content_type, encoding=encoding)).status] += 1

    assert {200, 400} == statuses.keys()
    assert statuses[400] == recorder.counts["failed", "malformed"]
    assert statuses[200] == recorder.counts["accepted", "traces"]
