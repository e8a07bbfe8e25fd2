"""
The status of every outcome, in gRPC and in HTTP.
"""

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from service.errors import (
    MalformedRequest,
    PermissionDenied,
    Refused,
    RequestError,
    RequestTooLarge,
    Unauthenticated,
)
from service.pipeline import Accepted, Signal
from service.receiver.status import (
    DETAILS_KEY,
    Answer,
    InternalFault,
    RequestTimeout,
    Unsupported,
    answer_for,
    success_message,
    to_json,
    trailing_metadata,
)

Code = grpc.StatusCode


@pytest.mark.parametrize(
    ("error", "code", "http_status", "is_retryable"),
    [
        pytest.param(MalformedRequest("x"), Code.INVALID_ARGUMENT, 400, False, id="unparsable"),
        pytest.param(Refused("memory_limit"), Code.UNAVAILABLE, 503, True, id="pressure"),
        pytest.param(Refused("shutting_down"), Code.UNAVAILABLE, 503, True, id="shutting down"),
        pytest.param(RequestTooLarge("x"), Code.RESOURCE_EXHAUSTED, 413, False, id="message too large"),
        pytest.param(Unauthenticated("x"), Code.UNAUTHENTICATED, 401, False, id="no credentials"),
        pytest.param(PermissionDenied("x"), Code.PERMISSION_DENIED, 403, False, id="wrong credentials"),
        pytest.param(Unsupported("x", http_status=415), Code.UNIMPLEMENTED, 415, False, id="unsupported encoding"),
        pytest.param(Unsupported("x", http_status=405), Code.UNIMPLEMENTED, 405, False, id="wrong method"),
        pytest.param(RequestTimeout("x"), Code.DEADLINE_EXCEEDED, 408, False, id="slow client"),
        pytest.param(InternalFault("x"), Code.UNAVAILABLE, 503, True, id="defect of ours"),
        pytest.param(RequestError("x"), Code.UNAVAILABLE, 503, True, id="error unknown to the table"),
    ],
)
def test_each_error_has_one_status_on_both_transports(
    error: RequestError, code: grpc.StatusCode, http_status: int, *, is_retryable: bool
) -> None:
    answer = answer_for(error)

    assert (code, http_status) == (answer.code, answer.http_status)
    assert is_retryable == (answer.retry_after_s is not None)
    assert is_retryable == bool(trailing_metadata(answer))


def test_a_defect_tells_nothing_of_itself_to_the_sender() -> None:
    assert "secret" not in answer_for(InternalFault("secret")).message


def test_pressure_carries_retry_info_in_the_status_details() -> None:
    ((key, details),) = trailing_metadata(answer_for(Refused("memory_limit", retry_after_s=2.25)))

    status = status_pb2.Status.FromString(details)
    info = error_details_pb2.RetryInfo()

    assert key == DETAILS_KEY
    assert status.code == Code.UNAVAILABLE.value[0]
    assert status.details[0].Unpack(info)
    assert (info.retry_delay.seconds, info.retry_delay.nanos) == (2, 250_000_000)


@pytest.mark.parametrize(("seconds", "header"), [(0.0, "1"), (0.2, "1"), (1.0, "1"), (1.001, "2"), (29.5, "30")])
def test_retry_after_is_rounded_up_to_whole_seconds(seconds: float, header: str) -> None:
    assert header == Answer(Code.UNAVAILABLE, 503, "", retry_after_s=seconds).retry_after_header


@pytest.mark.parametrize("signal", list(Signal))
def test_a_request_taken_as_a_whole_is_answered_without_partial_success(signal: Signal) -> None:
    message = success_message(signal, Accepted(item_count=5))

    assert message.SerializeToString() == b""
    assert to_json(message) == b"{}"


def test_rejected_items_are_told_for_each_signal() -> None:
    accepted = Accepted(rejected_items=3, message="3 spans with an invalid trace_id or span_id")

    traces = ExportTraceServiceResponse.FromString(success_message(Signal.TRACES, accepted).SerializeToString())
    logs = ExportLogsServiceResponse.FromString(success_message(Signal.LOGS, accepted).SerializeToString())
    metrics = ExportMetricsServiceResponse.FromString(success_message(Signal.METRICS, accepted).SerializeToString())

    assert traces.partial_success.rejected_spans == 3
    assert logs.partial_success.rejected_log_records == 3
    assert metrics.partial_success.rejected_data_points == 3
    assert traces.partial_success.error_message == accepted.message


def test_partial_success_in_json_has_the_names_of_proto3_json() -> None:
    answer = to_json(success_message(Signal.TRACES, Accepted(rejected_items=3, message="bad")))

    assert answer == b'{"partialSuccess": {"rejectedSpans": "3", "errorMessage": "bad"}}'
