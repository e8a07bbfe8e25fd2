"""
One try to send one request: its result, and what a client must offer for it.

Values and a protocol; no I/O. Both transports map what they see to an `Attempt`; retry, splitting and counting know
nothing else of gRPC or HTTP.
"""

from enum import StrEnum
from typing import Protocol

from google.protobuf.message import DecodeError
from msgspec import Struct
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from service.pipeline import Signal


class AttemptOutcome(StrEnum):
    DELIVERED = "delivered"
    RETRYABLE = "retryable"
    PERMANENT = "permanent"


class Attempt(Struct, frozen=True, kw_only=True):
    """
    What became of one try.
    """

    outcome: AttemptOutcome
    error_type: str = ""
    """gRPC status name, HTTP status code, `timeout` or `connection_error`; empty if delivered."""
    message: str = ""
    """What downstream said, cut to a length that can be logged."""
    retry_after_ns: int | None = None
    """The pause that downstream asked for (RetryInfo, Retry-After)."""
    rejected: int = 0
    """Items that downstream did not take of a delivered request (partial success)."""
    may_be_content: bool = False
    """A permanent refusal that may be due to single items, or to the size: smaller requests are worth a try."""


class Client(Protocol):
    """
    One downstream endpoint.
    """

    async def send(self, signal: Signal, payload: bytes) -> Attempt:
        """
        Try once. Never raises for what the network or downstream does.
        """
        ...

    async def close(self) -> None: ...


MESSAGE_LIMIT = 300
"""Downstream is not trusted to be brief; the log escapes what it sends (`service.telemetry.logs`)."""


def read_success(response: bytes) -> Attempt:
    """
    A success with its response in protobuf: `partial_success` has the same field numbers for all three signals.

    An answer that is not OTLP still says OK: the request was taken.
    """
    try:
        partial = ExportTraceServiceResponse.FromString(response).partial_success
    except DecodeError:
        return Attempt(outcome=AttemptOutcome.DELIVERED)
    return Attempt(
        outcome=AttemptOutcome.DELIVERED, rejected=partial.rejected_spans, message=partial.error_message[:MESSAGE_LIMIT]
    )


def timeout() -> Attempt:
    return Attempt(outcome=AttemptOutcome.RETRYABLE, error_type="timeout", message="no answer in time")


def connection_error(message: str) -> Attempt:
    return Attempt(outcome=AttemptOutcome.RETRYABLE, error_type="connection_error", message=message[:MESSAGE_LIMIT])


def describe(attempt: Attempt) -> str:
    """
    The failure in words, for the log.
    """
    return f"{attempt.error_type} ({attempt.message})" if attempt.message else attempt.error_type
