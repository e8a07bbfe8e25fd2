"""
What an HTTP answer means for the request that was sent.
"""

from datetime import UTC, datetime

import pytest
from google.rpc import status_pb2
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from service.durations import SECOND
from service.exporter.attempt import AttemptOutcome
from service.exporter.otlp_grpc import GrpcExporterSettings
from service.exporter.otlp_http import JSON, PROTOBUF, HttpExporterSettings, read_answer, read_retry_after
from service.pipeline import Signal

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
RETRYABLE, PERMANENT, DELIVERED = AttemptOutcome.RETRYABLE, AttemptOutcome.PERMANENT, AttemptOutcome.DELIVERED


@pytest.mark.parametrize(
    ("status", "outcome", "may_be_content"),
    [
        (200, DELIVERED, False),
        (202, DELIVERED, False),
        (301, PERMANENT, False),
        (400, PERMANENT, True),
        (401, PERMANENT, False),
        (403, PERMANENT, False),
        (404, PERMANENT, False),
        (405, PERMANENT, False),
        (408, PERMANENT, False),
        (413, PERMANENT, True),
        (415, PERMANENT, False),
        (422, PERMANENT, True),
        (429, RETRYABLE, False),
        (500, PERMANENT, True),
        (501, PERMANENT, False),
        (502, RETRYABLE, False),
        (503, RETRYABLE, False),
        (504, RETRYABLE, False),
    ],
)
def test_each_status_is_retried_exactly_if_otlp_says_so(
    status: int, outcome: AttemptOutcome, *, may_be_content: bool
) -> None:
    attempt = read_answer(status, {}, b"", NOW)

    assert (outcome, may_be_content) == (attempt.outcome, attempt.may_be_content)
    assert ("" if outcome is DELIVERED else str(status)) == attempt.error_type


@pytest.mark.parametrize(
    ("value", "pause_ns"),
    [
        pytest.param("", None, id="absent"),
        pytest.param("3", 3 * SECOND, id="seconds"),
        pytest.param("0", 0, id="zero"),
        pytest.param("Mon, 30 Nov 2026 12:01:30 GMT", 90 * SECOND, id="date"),
        pytest.param("Mon, 30 Nov 2026 11:00:00 GMT", 0, id="date in the past"),
        pytest.param("soon", None, id="neither"),
        pytest.param("-5", None, id="negative"),
        pytest.param("9" * 5000, None, id="absurd"),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str, pause_ns: int | None) -> None:
    assert pause_ns == read_retry_after(value, NOW)
    assert pause_ns == read_answer(503, {"Retry-After": value}, b"", NOW).retry_after_ns


def test_retry_after_on_a_permanent_refusal_means_nothing() -> None:
    assert read_answer(400, {"Retry-After": "3"}, b"", NOW).retry_after_ns is None


def test_partial_success_is_read_from_protobuf() -> None:
    response = ExportTraceServiceResponse()
    response.partial_success.rejected_spans = 3
    response.partial_success.error_message = "bad ids"

    attempt = read_answer(200, {"Content-Type": PROTOBUF}, response.SerializeToString(), NOW)

    assert (DELIVERED, 3, "bad ids") == (attempt.outcome, attempt.rejected, attempt.message)


@pytest.mark.parametrize("name", ["rejectedSpans", "rejectedLogRecords", "rejectedDataPoints"])
@pytest.mark.parametrize("count", ["3", '"3"'])
def test_partial_success_is_read_from_json(name: str, count: str) -> None:
    body = f'{{"partialSuccess": {{"{name}": {count}, "errorMessage": "bad ids"}}}}'.encode()

    attempt = read_answer(200, {"Content-Type": f"{JSON}; charset=utf-8"}, body, NOW)

    assert (DELIVERED, 3, "bad ids") == (attempt.outcome, attempt.rejected, attempt.message)


@pytest.mark.parametrize("content_type", [PROTOBUF, JSON, "text/html", ""])
def test_an_unreadable_answer_still_says_that_the_request_was_taken(content_type: str) -> None:
    attempt = read_answer(200, {"Content-Type": content_type}, b"\xff<html>", NOW)

    assert (DELIVERED, 0) == (attempt.outcome, attempt.rejected)


@pytest.mark.parametrize(
    ("content_type", "body", "message"),
    [
        (PROTOBUF, status_pb2.Status(code=3, message="bad").SerializeToString(), "bad"),
        (PROTOBUF, b"\xff", ""),
        ("text/plain", b"bad \xff", "bad \ufffd"),
        ("text/plain", b"x" * 10_000, "x" * 300),
    ],
)
def test_the_message_of_an_error_is_told_within_bounds(content_type: str, body: bytes, message: str) -> None:
    assert message == read_answer(400, {"Content-Type": content_type}, body, NOW).message


def test_signals_may_have_urls_of_their_own() -> None:
    settings = HttpExporterSettings(
        endpoint="http://localhost:4318/", signal_endpoints={Signal.LOGS: "http://logs:1/ingest"}
    )

    assert ["http://localhost:4318/v1/traces", "http://logs:1/ingest", "http://localhost:4318/v1/metrics"] == [
        settings.url(signal) for signal in Signal
    ]


@pytest.mark.parametrize("settings", [GrpcExporterSettings, HttpExporterSettings])
def test_headers_show_in_no_representation(settings: type[GrpcExporterSettings | HttpExporterSettings]) -> None:
    shown = repr(settings(endpoint="http://localhost:4318", headers={"x-api-key": "s3cret"}))

    assert "s3cret" not in shown
    assert "localhost:4318" in shown
