"""
The OTLP/HTTP exporter against real servers on the loopback interface, good and bad ones.
"""

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Literal

import pytest
import zstandard
from doubles import CountingRecorder, HttpAnswer, RecordingHttpSink, eventually
from msgspec import structs
from otlp_requests import Outcomes, all_span_names, log_request, metric_request, span_names, trace_request

from proto_adapters.otlp_json import traces_from_json
from service.durations import MILLISECOND, SECOND
from service.exporter.attempt import Attempt, AttemptOutcome
from service.exporter.otlp_http import JSON, PROTOBUF, HttpExporterSettings, OtlpHttpClient
from service.exporter.retry import RetrySettings
from service.exporter.sender import Sender
from service.exporter.sending_queue import QueueSettings, SendingQueue
from service.pipeline import SendOutcome, Signal

RETRYABLE, PERMANENT, DELIVERED = AttemptOutcome.RETRYABLE, AttemptOutcome.PERMANENT, AttemptOutcome.DELIVERED
PLAIN = HttpExporterSettings(endpoint="")


@pytest.fixture
async def sink() -> AsyncIterator[RecordingHttpSink]:
    async with RecordingHttpSink() as sink:
        yield sink


async def send(
    sink: RecordingHttpSink,
    payload: bytes = b"",
    settings: HttpExporterSettings = PLAIN,
    signal: Signal = Signal.TRACES,
) -> Attempt:
    client = OtlpHttpClient(structs.replace(settings, endpoint=sink.url))
    attempt = await client.send(signal, payload)
    await client.close()
    return attempt


@pytest.mark.parametrize(
    ("signal", "payload"),
    [
        (Signal.TRACES, trace_request("a")),
        (Signal.LOGS, log_request("a")),
        (Signal.METRICS, metric_request("a")),
    ],
)
async def test_requests_of_all_signals_arrive_byte_for_byte(
    signal: Signal, payload: bytes, sink: RecordingHttpSink
) -> None:
    attempt = await send(sink, payload, signal=signal)

    assert DELIVERED is attempt.outcome
    assert [(signal, payload)] == sink.accepted
    assert PROTOBUF == sink.headers[0]["Content-Type"]


async def test_a_request_of_several_mebibytes_arrives(sink: RecordingHttpSink) -> None:
    payload = trace_request("a", size=4_000_000)

    await send(sink, payload)

    assert [(Signal.TRACES, payload)] == sink.accepted


@pytest.mark.parametrize(
    ("compression", "expand"),
    [("gzip", gzip.decompress), ("deflate", zlib.decompress), ("zstd", zstandard.decompress)],
)
async def test_compressed_requests_say_so(
    compression: Literal["gzip", "zstd", "deflate"], expand: Callable[[bytes], bytes], sink: RecordingHttpSink
) -> None:
    payload = trace_request("a", size=10_000)

    await send(sink, payload, HttpExporterSettings(endpoint="", compression=compression))

    assert compression == sink.headers[0]["Content-Encoding"]
    assert payload == expand(sink.accepted[0][1])


async def test_json_can_be_sent(sink: RecordingHttpSink) -> None:
    payload = trace_request("a")

    await send(sink, payload, HttpExporterSettings(endpoint="", encoding="json"))

    assert JSON == sink.headers[0]["Content-Type"]
    assert payload == traces_from_json(sink.accepted[0][1])


async def test_headers_are_sent(sink: RecordingHttpSink) -> None:
    await send(sink, settings=HttpExporterSettings(endpoint="", headers={"X-Tenant": "blue"}))

    assert "blue" == sink.headers[0]["X-Tenant"]


async def test_retry_after_comes_through(sink: RecordingHttpSink) -> None:
    sink.otherwise = HttpAnswer(429, {"Retry-After": "7"})

    attempt = await send(sink)

    assert (RETRYABLE, "429", 7 * SECOND) == (attempt.outcome, attempt.error_type, attempt.retry_after_ns)


async def test_redirects_are_not_followed(sink: RecordingHttpSink) -> None:
    sink.script = [HttpAnswer(307, {"Location": f"{sink.url}/v1/traces"})]

    assert PERMANENT is (await send(sink)).outcome
    assert 1 == sink.attempts


async def test_of_an_endless_answer_little_is_read(sink: RecordingHttpSink) -> None:
    sink.otherwise = HttpAnswer(500, body=b"x" * 10_000_000)

    assert 300 == len((await send(sink)).message)


async def test_a_black_hole_ends_at_the_timeout(sink: RecordingHttpSink) -> None:
    sink.gate.clear()

    attempt = await send(sink, settings=HttpExporterSettings(endpoint="", timeout_ns=50 * MILLISECOND))

    assert (RETRYABLE, "timeout") == (attempt.outcome, attempt.error_type)
    sink.gate.set()


async def test_an_absent_downstream_is_retryable() -> None:
    client = OtlpHttpClient(HttpExporterSettings(endpoint="http://localhost:1"))

    attempt = await client.send(Signal.TRACES, b"")

    assert (RETRYABLE, "connection_error") == (attempt.outcome, attempt.error_type)
    await client.close()


@asynccontextmanager
async def cutting_server(answer: bytes) -> AsyncIterator[OtlpHttpClient]:
    """A client of a server that says *answer* and hangs up."""

    async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(cut, "localhost", 0)
    client = OtlpHttpClient(HttpExporterSettings(endpoint=f"http://localhost:{server.sockets[0].getsockname()[1]}"))
    yield client
    await client.close()
    server.close()
    await server.wait_closed()


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 20", b"not http\r\n\r\n"], ids=["nothing", "half", "garbage"])
async def test_a_connection_cut_before_the_status_is_retryable(answer: bytes) -> None:
    async with cutting_server(answer) as client:
        attempt = await client.send(Signal.TRACES, b"x")

    assert (RETRYABLE, "connection_error") == (attempt.outcome, attempt.error_type)


async def test_a_status_counts_although_its_body_was_cut_off() -> None:
    """
    Sending again would double the spans.
    """
    async with cutting_server(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf") as client:
        assert DELIVERED is (await client.send(Signal.TRACES, b"x")).outcome


def a_queue(sink: RecordingHttpSink, recorder: CountingRecorder) -> SendingQueue:
    retry = RetrySettings(initial_interval_ns=10 * MILLISECOND, max_interval_ns=10 * MILLISECOND)
    sender = Sender(OtlpHttpClient(HttpExporterSettings(endpoint=sink.url)), retry, recorder, exporter="otlp_http")
    queue = SendingQueue(sender, QueueSettings(), recorder, exporter="otlp_http")
    queue.start()
    return queue


async def test_a_poisoned_span_costs_only_itself(sink: RecordingHttpSink) -> None:
    recorder, outcomes = CountingRecorder(), Outcomes()
    sink.otherwise = lambda payload: HttpAnswer(400 if "poison" in span_names(payload) else 200)
    queue = a_queue(sink, recorder)

    queue.offer(outcomes.request("a", "poison", "b", "c"))
    await eventually(lambda: queue.size == 0)

    assert [(SendOutcome.DELIVERED, 1)] == outcomes.settled
    assert ["a", "b", "c"] == sorted(all_span_names(sink.payloads))
    await queue.stop(SECOND)


async def test_outages_lose_nothing_and_a_stop_drains(sink: RecordingHttpSink) -> None:
    recorder, outcomes = CountingRecorder(), Outcomes()
    sink.script = [HttpAnswer(503), HttpAnswer(502), HttpAnswer(504), HttpAnswer(429)] * 5
    queue = a_queue(sink, recorder)
    for number in range(30):
        queue.offer(outcomes.request(f"s{number}"))
    await sink.wait_for(accepted=1)
    sink.script.clear()

    await queue.stop(10 * SECOND)

    assert sorted(f"s{number}" for number in range(30)) == sorted(all_span_names(sink.payloads))
    assert [(SendOutcome.DELIVERED, 0)] * 30 == outcomes.settled
