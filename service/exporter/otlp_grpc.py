"""
OTLP over gRPC, sending: serialised requests on a channel, and what the answers mean.

grpcio gets bytes and gives bytes (`request_serializer=None`). It does not retry by itself: `service.exporter.retry`
alone decides that.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Literal, cast

import grpc
import grpc.aio
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2
from msgspec import Struct

from service.durations import SECOND, ceil_milliseconds
from service.exporter.attempt import MESSAGE_LIMIT, Attempt, AttemptOutcome, read_success
from service.pipeline import Signal
from service.transport_security.bearer_token import BearerTokenAuth
from service.transport_security.tls import ClientTls

DETAILS_KEY = "grpc-status-details-bin"
RESPONSE_LIMIT = 4 * 1024 * 1024
MAX_RECONNECT_BACKOFF_MS = 5_000
"""Below our own retry interval: a retry must meet a channel that has looked again, not one that still sulks."""

PATHS = {
    Signal.TRACES: "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    Signal.LOGS: "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
    Signal.METRICS: "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
}

_RETRYABLE = {
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.ABORTED,
    grpc.StatusCode.OUT_OF_RANGE,
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DATA_LOSS,
}
"""OTLP 1.11, "Failures"; RESOURCE_EXHAUSTED belongs to it only with RetryInfo."""

_ABOUT_THE_SENDER = {
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.UNIMPLEMENTED,
    grpc.StatusCode.NOT_FOUND,
}
"""Permanent refusals that no splitting can help."""


class GrpcExporterSettings(Struct, frozen=True, kw_only=True):
    """
    One downstream endpoint; keys and meaning as the Collector's `configgrpc`. Compression is none by default: on one
    host it costs more than it saves (design §10).
    """

    endpoint: str
    """`host:port`; a leading `http://` or `https://` is ignored."""
    timeout_ns: int = 5 * SECOND
    """Per attempt."""
    compression: Literal["none", "gzip"] = "none"
    headers: Mapping[str, str] = {}
    keepalive_time_ns: int = 0
    keepalive_timeout_ns: int = 20 * SECOND

    def __repr__(self) -> str:
        """Headers may hold credentials."""
        return f"GrpcExporterSettings(endpoint={self.endpoint!r})"

    def target(self) -> str:
        return self.endpoint.removeprefix("http://").removeprefix("https://").rstrip("/")

    def channel_options(self) -> list[tuple[str, int | str]]:
        options: list[tuple[str, int | str]] = [
            ("grpc.enable_retries", 0),
            ("grpc.max_receive_message_length", RESPONSE_LIMIT),
            ("grpc.max_send_message_length", -1),
            ("grpc.initial_reconnect_backoff_ms", 500),
            ("grpc.max_reconnect_backoff_ms", MAX_RECONNECT_BACKOFF_MS),
            ("grpc.primary_user_agent", "toolscore"),
            ("grpc.lb_policy_name", "round_robin"),
        ]
        if self.keepalive_time_ns:
            options += [
                ("grpc.keepalive_time_ms", ceil_milliseconds(self.keepalive_time_ns)),
                ("grpc.keepalive_timeout_ms", ceil_milliseconds(self.keepalive_timeout_ns)),
            ]
        return options


class OtlpGrpcClient:
    """
    A `Client` over one channel. A call fails fast while downstream is down, so that a stop never waits for it.

    Without *tls* the channel is plaintext.
    """

    def __init__(
        self, settings: GrpcExporterSettings, *, tls: ClientTls | None = None, auth: BearerTokenAuth | None = None
    ) -> None:
        self._settings = settings
        self._tls = tls
        self._auth = auth
        self._compression = grpc.Compression.Gzip if settings.compression == "gzip" else grpc.Compression.NoCompression
        self._headers = tuple((name.lower(), value) for name, value in settings.headers.items())
        self._material = tls.current() if tls is not None else None
        self._channel = self._open_channel()
        self._closing: set[asyncio.Task[None]] = set()

    async def send(self, signal: Signal, payload: bytes) -> Attempt:
        self._renew_channel()
        call = self._channel.unary_unary(PATHS[signal], request_serializer=None, response_deserializer=None)(
            payload,
            timeout=self._settings.timeout_ns / SECOND or None,
            metadata=self._metadata(),
            compression=self._compression,
        )
        try:
            return read_success(await call)
        except grpc.aio.AioRpcError as error:
            return read_error(error.code(), error.details() or "", _details_of(error))

    def _metadata(self) -> tuple[tuple[str, str], ...]:
        if self._auth is None:
            return self._headers
        return (*self._headers, ("authorization", self._auth.authorization()))

    def _open_channel(self) -> grpc.aio.Channel:
        options = self._settings.channel_options()
        if self._tls is None or self._material is None:
            return grpc.aio.insecure_channel(self._settings.target(), options=options)
        if self._tls.server_name_override is not None:
            options.append(("grpc.ssl_target_name_override", self._tls.server_name_override))
        credentials = self._tls.grpc_credentials(self._material)
        return grpc.aio.secure_channel(self._settings.target(), credentials, options=options)

    def _renew_channel(self) -> None:
        """A channel keeps the certificates that it was made with; calls on the old one may end."""
        if self._tls is None or (material := self._tls.current()) is self._material:
            return
        old, self._material = self._channel, material
        self._channel = self._open_channel()
        closing = asyncio.create_task(old.close(grace=self._settings.timeout_ns / SECOND))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        await self._channel.close(grace=None)
        await asyncio.gather(*self._closing)


def _details_of(error: grpc.aio.AioRpcError) -> bytes:
    metadata = cast("Iterable[tuple[str, str | bytes]]", error.trailing_metadata())
    for key, value in metadata:
        if key == DETAILS_KEY and isinstance(value, bytes):
            return value
    return b""


def read_error(code: grpc.StatusCode, message: str, details: bytes) -> Attempt:
    """
    A status other than OK. *details* is a serialised `google.rpc.Status`, or empty.
    """
    retry_after_ns = read_retry_info(details)
    is_throttled = code is grpc.StatusCode.RESOURCE_EXHAUSTED and retry_after_ns is not None
    if code in _RETRYABLE or is_throttled:
        return Attempt(
            outcome=AttemptOutcome.RETRYABLE,
            error_type=code.name,
            message=message[:MESSAGE_LIMIT],
            retry_after_ns=retry_after_ns,
        )
    return Attempt(
        outcome=AttemptOutcome.PERMANENT,
        error_type=code.name,
        message=message[:MESSAGE_LIMIT],
        may_be_content=code not in _ABOUT_THE_SENDER,
    )


def read_retry_info(details: bytes) -> int | None:
    """
    The pause in the RetryInfo in a serialised `google.rpc.Status`; None if it has none, or cannot be read.
    """
    info = error_details_pb2.RetryInfo()
    try:
        for detail in status_pb2.Status.FromString(details).details:
            if detail.Unpack(info):
                delay_ns: int = info.retry_delay.ToNanoseconds()
                return max(0, delay_ns)
    except DecodeError:
        return None
    return None
