"""
The OTLP/gRPC exporter against real servers on the loopback interface, good and bad ones.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Literal

import grpc
import pytest
from cutting_proxy import CuttingProxy
from doubles import Answer, CountingRecorder, RecordingSink, eventually
from msgspec import structs
from otlp_requests import Outcomes, all_span_names, log_request, metric_request, span_names, trace_request

from service.durations import MILLISECOND, SECOND
from service.exporter.attempt import Attempt, AttemptOutcome, read_success
from service.exporter.otlp_grpc import GrpcExporterSettings, OtlpGrpcClient, read_error, read_retry_info
from service.exporter.retry import RetrySettings
from service.exporter.sender import Sender
from service.exporter.sending_queue import QueueSettings, SendingQueue
from service.pipeline import SendOutcome, Signal

Code = grpc.StatusCode
PLAIN = GrpcExporterSettings(endpoint="")
RETRYABLE, PERMANENT, DELIVERED = AttemptOutcome.RETRYABLE, AttemptOutcome.PERMANENT, AttemptOutcome.DELIVERED


@pytest.fixture
async def sink() -> AsyncIterator[RecordingSink]:
    async with RecordingSink() as sink:
        yield sink


async def send(sink: RecordingSink, settings: GrpcExporterSettings = PLAIN) -> Attempt:
    client = OtlpGrpcClient(structs.replace(settings, endpoint=sink.endpoint))
    attempt = await client.send(Signal.TRACES, b"")
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
@pytest.mark.parametrize("compression", ["none", "gzip"])
async def test_requests_of_all_signals_arrive_byte_for_byte(
    signal: Signal, payload: bytes, compression: Literal["none", "gzip"], sink: RecordingSink
) -> None:
    client = OtlpGrpcClient(GrpcExporterSettings(endpoint=sink.endpoint, compression=compression))

    assert DELIVERED is (await client.send(signal, payload)).outcome
    assert [(signal, payload)] == sink.accepted
    await client.close()


@pytest.mark.parametrize(
    ("answer", "outcome", "may_be_content"),
    [
        (Code.CANCELLED, RETRYABLE, False),
        (Code.UNKNOWN, PERMANENT, True),
        (Code.INVALID_ARGUMENT, PERMANENT, True),
        (Code.DEADLINE_EXCEEDED, RETRYABLE, False),
        (Code.NOT_FOUND, PERMANENT, False),
        (Code.ALREADY_EXISTS, PERMANENT, True),
        (Code.PERMISSION_DENIED, PERMANENT, False),
        (Code.UNAUTHENTICATED, PERMANENT, False),
        (Code.RESOURCE_EXHAUSTED, PERMANENT, True),
        ((Code.RESOURCE_EXHAUSTED, 0.5), RETRYABLE, False),
        (Code.FAILED_PRECONDITION, PERMANENT, True),
        (Code.ABORTED, RETRYABLE, False),
        (Code.OUT_OF_RANGE, RETRYABLE, False),
        (Code.UNIMPLEMENTED, PERMANENT, False),
        (Code.INTERNAL, PERMANENT, True),
        (Code.UNAVAILABLE, RETRYABLE, False),
        ((Code.UNAVAILABLE, 0.5), RETRYABLE, False),
        (Code.DATA_LOSS, RETRYABLE, False),
    ],
    ids=str,
)
async def test_each_status_is_retried_exactly_if_otlp_says_so(
    answer: Answer, outcome: AttemptOutcome, sink: RecordingSink, *, may_be_content: bool
) -> None:
    sink.otherwise = answer

    attempt = await send(sink)

    assert (outcome, may_be_content) == (attempt.outcome, attempt.may_be_content)
    code = answer[0] if isinstance(answer, tuple) else answer
    assert isinstance(code, grpc.StatusCode)
    assert code.name == attempt.error_type
    assert (SECOND // 2 if isinstance(answer, tuple) else None) == attempt.retry_after_ns


def test_every_status_is_in_the_table() -> None:
    for code in Code:
        if code is not Code.OK:
            assert read_error(code, "", b"").outcome in {RETRYABLE, PERMANENT}


async def test_partial_success_is_read(sink: RecordingSink) -> None:
    sink.otherwise = 3

    attempt = await send(sink)

    assert (DELIVERED, 3, "scripted") == (attempt.outcome, attempt.rejected, attempt.message)


def test_an_unreadable_answer_still_says_that_the_request_was_taken() -> None:
    assert DELIVERED is read_success(b"\xff\xff").outcome


@pytest.mark.parametrize("details", [b"", b"\xff\xff", b"\x1a\x02\xff\xff"])
def test_unreadable_details_hold_no_retry_info(details: bytes) -> None:
    assert read_retry_info(details) is None


def test_what_downstream_says_is_cut_short() -> None:
    assert len(read_error(Code.INTERNAL, "x" * 10_000, b"").message) <= 300


async def test_headers_are_sent_with_lower_case_names(sink: RecordingSink) -> None:
    await send(sink, GrpcExporterSettings(endpoint="", headers={"X-Tenant": "blue"}))

    assert "blue" == sink.metadata[0]["x-tenant"]


@pytest.mark.parametrize("prefix", ["", "http://"])
async def test_an_endpoint_may_have_a_scheme(prefix: str, sink: RecordingSink) -> None:
    client = OtlpGrpcClient(GrpcExporterSettings(endpoint=prefix + sink.endpoint))

    assert DELIVERED is (await client.send(Signal.TRACES, b"")).outcome
    await client.close()


async def test_a_black_hole_ends_at_the_timeout(sink: RecordingSink) -> None:
    sink.gate.clear()

    attempt = await send(sink, GrpcExporterSettings(endpoint="", timeout_ns=50 * MILLISECOND))

    assert (RETRYABLE, "DEADLINE_EXCEEDED") == (attempt.outcome, attempt.error_type)


async def test_an_absent_downstream_fails_fast_and_is_retryable() -> None:
    client = OtlpGrpcClient(GrpcExporterSettings(endpoint="localhost:1"))

    attempt = await client.send(Signal.TRACES, b"")

    assert (RETRYABLE, "UNAVAILABLE") == (attempt.outcome, attempt.error_type)
    await client.close()


def a_queue(endpoint: str, recorder: CountingRecorder, **settings: int) -> SendingQueue:
    client = OtlpGrpcClient(GrpcExporterSettings(endpoint=endpoint))
    retry = RetrySettings(initial_interval_ns=20 * MILLISECOND, max_interval_ns=100 * MILLISECOND)
    sender = Sender(client, retry, recorder, exporter="otlp_grpc")
    queue = SendingQueue(sender, QueueSettings(**settings), recorder, exporter="otlp_grpc")
    queue.start()
    return queue


async def test_a_connection_cut_mid_message_loses_nothing(sink: RecordingSink) -> None:
    recorder, outcomes = CountingRecorder(), Outcomes()
    async with CuttingProxy(sink.port, cuts=2, after=1000) as proxy:
        queue = a_queue(f"localhost:{proxy.port}", recorder)
        queue.offer(outcomes.request("a", size=1_000_000))
        await eventually(lambda: queue.size == 0)
        await queue.stop(SECOND)

    assert [(SendOutcome.DELIVERED, 0)] == outcomes.settled
    assert ["a"] == all_span_names(sink.payloads)
    assert recorder.counts["retried", "UNAVAILABLE"] >= 1


async def test_retry_info_is_waited_for(sink: RecordingSink) -> None:
    recorder, outcomes = CountingRecorder(), Outcomes()
    sink.script = [(Code.UNAVAILABLE, 0.3)]
    queue = a_queue(sink.endpoint, recorder)
    loop = asyncio.get_running_loop()
    began = loop.time()

    queue.offer(outcomes.request("a"))
    await sink.wait_for(accepted=1)

    assert loop.time() - began >= 0.3
    await queue.stop(SECOND)


async def test_the_spans_of_an_outage_arrive_after_it() -> None:
    recorder, outcomes = CountingRecorder(), Outcomes()
    sink = RecordingSink()
    await sink.start()
    port = sink.port
    await sink.stop()
    queue = a_queue(f"localhost:{port}", recorder)
    for number in range(20):
        assert queue.offer(outcomes.request(f"s{number}"))
    await eventually(lambda: recorder.counts["retried", "UNAVAILABLE"] >= 20)

    await sink.start(port=port)
    await sink.wait_for(accepted=20)

    assert sorted(f"s{number}" for number in range(20)) == sorted(all_span_names(sink.payloads))
    await queue.stop(SECOND)
    await sink.stop()


async def test_a_poisoned_span_costs_only_itself(sink: RecordingSink) -> None:
    recorder, outcomes = CountingRecorder(), Outcomes()
    sink.otherwise = lambda payload: Code.INVALID_ARGUMENT if "poison" in span_names(payload) else None
    queue = a_queue(sink.endpoint, recorder)

    queue.offer(outcomes.request("a", "b", "poison", "c", "d"))
    await eventually(lambda: queue.size == 0)

    assert [(SendOutcome.DELIVERED, 1)] == outcomes.settled
    assert ["a", "b", "c", "d"] == sorted(all_span_names(sink.payloads))
    assert 1 == recorder.counts["lost", "rejected_downstream"]
    await queue.stop(SECOND)


async def test_a_request_too_large_for_downstream_is_sent_in_halves(sink: RecordingSink) -> None:
    recorder, outcomes = CountingRecorder(), Outcomes()
    sink.otherwise = lambda payload: Code.RESOURCE_EXHAUSTED if len(payload) > 2500 else None
    queue = a_queue(sink.endpoint, recorder)

    queue.offer(outcomes.request("a", "b", "c", "d", size=1000))
    await eventually(lambda: queue.size == 0)

    assert [(SendOutcome.DELIVERED, 0)] == outcomes.settled
    assert ["a", "b", "c", "d"] == sorted(all_span_names(sink.payloads))
    await queue.stop(SECOND)


async def test_a_slow_sink_fills_the_queue_and_then_empties_it(sink: RecordingSink) -> None:
    recorder, outcomes = CountingRecorder(), Outcomes()
    sink.gate.clear()
    queue = a_queue(sink.endpoint, recorder, queue_size=4, num_consumers=2)
    taken = [queue.offer(outcomes.request(name)) for name in "abcdef"]
    await sink.wait_for(attempts=2)

    assert [True] * 4 + [False] * 2 == taken
    assert 2 == queue.in_flight
    sink.gate.set()
    await eventually(lambda: queue.size == 0)

    assert ["a", "b", "c", "d"] == sorted(all_span_names(sink.payloads))
    await queue.stop(SECOND)


async def test_a_stop_drains_the_queue(sink: RecordingSink) -> None:
    recorder, outcomes = CountingRecorder(), Outcomes()
    queue = a_queue(sink.endpoint, recorder)
    for number in range(50):
        queue.offer(outcomes.request(f"s{number}"))

    await queue.stop(10 * SECOND)

    assert [(SendOutcome.DELIVERED, 0)] * 50 == outcomes.settled
    assert 50 == len(all_span_names(sink.payloads)) == recorder.counts["sent", "otlp_grpc"]
