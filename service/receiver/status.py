"""
What a receiver answers: one table for gRPC and HTTP.

Pure: from an error, or from what was accepted, to a status and to bytes. `reference/collector.md` §2.2 is
the table; which statuses a sender may retry is OTLP's own rule (OTLP specification 1.11, "Failures").
"""

import math

import grpc
from google.protobuf import any_pb2, duration_pb2, json_format
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2
from msgspec import Struct
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

from service.errors import (
    MalformedRequest,
    PermissionDenied,
    Refused,
    RequestError,
    RequestTooLarge,
    Unauthenticated,
)
from service.pipeline import Accepted, Signal

DETAILS_KEY = "grpc-status-details-bin"
INTERNAL_RETRY_S = 5.0
"""How long a sender should wait after a fault of ours; the fault is retryable so that no span is lost by it."""


class Unsupported(RequestError):
    """
    Path, method, content type or encoding that is not served. *http_status* tells which.
    """

    def __init__(self, message: str, *, http_status: int) -> None:
        super().__init__(message)
        self.http_status = http_status


class RequestTimeout(RequestError):
    """
    The sender was too slow in sending its request.
    """


class InternalFault(RequestError):
    """
    We failed in taking a request, by a defect of ours. Retryable: the sender still has the spans.
    """


class Answer(Struct, frozen=True):
    """
    How a request that was not taken is answered. *retry_after_s* is set if and only if it may be sent again.
    """

    code: grpc.StatusCode
    http_status: int
    message: str
    retry_after_s: float | None = None

    @property
    def retry_after_header(self) -> str | None:
        """Whole seconds, rounded up: rounding down would turn a short pause into none."""
        return None if self.retry_after_s is None else str(max(1, math.ceil(self.retry_after_s)))


_STATUSES: dict[type[RequestError], tuple[grpc.StatusCode, int]] = {
    MalformedRequest: (grpc.StatusCode.INVALID_ARGUMENT, 400),
    RequestTooLarge: (grpc.StatusCode.RESOURCE_EXHAUSTED, 413),
    Unauthenticated: (grpc.StatusCode.UNAUTHENTICATED, 401),
    PermissionDenied: (grpc.StatusCode.PERMISSION_DENIED, 403),
    RequestTimeout: (grpc.StatusCode.DEADLINE_EXCEEDED, 408),
    Refused: (grpc.StatusCode.UNAVAILABLE, 503),
    InternalFault: (grpc.StatusCode.UNAVAILABLE, 503),
}


def answer_for(error: RequestError) -> Answer:
    """
    The status of *error*. An error that the table does not know is a fault of ours.
    """
    match error:
        case Unsupported():
            return Answer(grpc.StatusCode.UNIMPLEMENTED, error.http_status, str(error))
        case Refused():
            return Answer(*_STATUSES[Refused], str(error), retry_after_s=error.retry_after_s)
    if type(error) in _STATUSES and not isinstance(error, InternalFault):
        return Answer(*_STATUSES[type(error)], str(error))
    return Answer(*_STATUSES[InternalFault], "internal fault, please retry", retry_after_s=INTERNAL_RETRY_S)


def status_message(answer: Answer) -> status_pb2.Status:
    """
    The `google.rpc.Status` of *answer*: body of an HTTP error, detail of a gRPC one.
    """
    number: int = answer.code.value[0]
    status = status_pb2.Status(code=number, message=answer.message)
    if answer.retry_after_s is not None:
        status.details.append(_retry_info(answer.retry_after_s))
    return status


def _retry_info(seconds: float) -> any_pb2.Any:
    delay = duration_pb2.Duration()
    delay.FromNanoseconds(round(seconds * 1e9))
    packed = any_pb2.Any()
    packed.Pack(error_details_pb2.RetryInfo(retry_delay=delay))
    return packed


def trailing_metadata(answer: Answer) -> tuple[tuple[str, bytes], ...]:
    """
    The gRPC trailers that carry RetryInfo; none for a status that must not be retried.
    """
    if answer.retry_after_s is None:
        return ()
    return ((DETAILS_KEY, status_message(answer).SerializeToString()),)


def success_message(signal: Signal, accepted: Accepted) -> Message:
    """
    The Export*ServiceResponse: empty, or with `partial_success` if items were rejected or there is something to say.
    """
    if not accepted.rejected_items and not accepted.message:
        return _EMPTY_RESPONSES[signal]
    rejected, message = accepted.rejected_items, accepted.message
    match signal:
        case Signal.TRACES:
            return trace_service_pb2.ExportTraceServiceResponse(
                partial_success=trace_service_pb2.ExportTracePartialSuccess(
                    rejected_spans=rejected, error_message=message
                )
            )
        case Signal.LOGS:
            return logs_service_pb2.ExportLogsServiceResponse(
                partial_success=logs_service_pb2.ExportLogsPartialSuccess(
                    rejected_log_records=rejected, error_message=message
                )
            )
        case Signal.METRICS:
            return metrics_service_pb2.ExportMetricsServiceResponse(
                partial_success=metrics_service_pb2.ExportMetricsPartialSuccess(
                    rejected_data_points=rejected, error_message=message
                )
            )


_EMPTY_RESPONSES: dict[Signal, Message] = {
    Signal.TRACES: trace_service_pb2.ExportTraceServiceResponse(),
    Signal.LOGS: logs_service_pb2.ExportLogsServiceResponse(),
    Signal.METRICS: metrics_service_pb2.ExportMetricsServiceResponse(),
}


def to_json(message: Message) -> bytes:
    """
    *message* as proto3 JSON, compact.
    """
    return json_format.MessageToJson(message, indent=None).encode()
