"""
OTLP over gRPC: the three collector services on raw bytes, and grpc.health.v1 on the same port.

Requests are not deserialised here: a malformed message must be INVALID_ARGUMENT, which grpcio's own deserialisation
cannot answer (`reference/collector.md` §2.4). No backpressure by `maximum_concurrent_rpcs` either: its
RESOURCE_EXHAUSTED has no RetryInfo, so senders would drop.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import cast

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from msgspec import Struct

from service.durations import MINUTE, SECOND, ceil_milliseconds
from service.errors import ConfigError, RequestError
from service.pipeline import Accepted, Consumer, Signal
from service.receiver.intake import Intake
from service.receiver.status import answer_for, success_message, trailing_metadata
from service.telemetry.recorder import Recorder, Transport
from service.transport_security.bearer_token import BearerTokenAuth
from service.transport_security.tls import ServerTls

_logger = logging.getLogger(__name__)

SERVICES = {
    Signal.TRACES: "opentelemetry.proto.collector.trace.v1.TraceService",
    Signal.LOGS: "opentelemetry.proto.collector.logs.v1.LogsService",
    Signal.METRICS: "opentelemetry.proto.collector.metrics.v1.MetricsService",
}
_HEALTH_SERVICES = ("", SERVICES[Signal.TRACES])

Context = grpc.aio.ServicerContext[bytes, bytes]
Export = Callable[[bytes, Context], Awaitable[bytes]]


class GrpcReceiverSettings(Struct, frozen=True, kw_only=True):
    """
    The gRPC listener; keys and meaning as the Collector's `configgrpc`. 0 leaves gRPC's own.
    """

    endpoint: str = "localhost:4317"
    max_recv_msg_size: int = 64 * 1024 * 1024
    """Bytes, after decompression; OTLP 1.11 recommends 64 MiB."""
    max_concurrent_streams: int = 100
    max_connections: int = 1000
    """For each address that the endpoint's host resolves to; 0 is no limit."""
    max_connection_idle_ns: int = MINUTE
    max_connection_age_ns: int = 3 * MINUTE
    max_connection_age_grace_ns: int = MINUTE
    keepalive_time_ns: int = MINUTE
    keepalive_timeout_ns: int = 20 * SECOND
    min_ping_interval_ns: int = 10 * SECOND
    """A client that pings more often than this is disconnected ("too many pings")."""
    permit_without_stream: bool = True
    """Whether a client may ping without a call in progress."""
    handshake_timeout_ns: int = 10 * SECOND
    """For TLS and HTTP/2 preface together: slow clients do not hold a connection for longer."""

    def channel_options(self) -> list[tuple[str, int]]:
        durations = {
            "grpc.max_connection_idle_ms": self.max_connection_idle_ns,
            "grpc.max_connection_age_ms": self.max_connection_age_ns,
            "grpc.max_connection_age_grace_ms": self.max_connection_age_grace_ns,
            "grpc.keepalive_time_ms": self.keepalive_time_ns,
            "grpc.keepalive_timeout_ms": self.keepalive_timeout_ns,
            "grpc.http2.min_ping_interval_without_data_ms": self.min_ping_interval_ns,
            "grpc.server_handshake_timeout_ms": self.handshake_timeout_ns,
        }
        return [
            # A second instance on the same port would silently take half of the connections, and tear traces apart.
            ("grpc.so_reuseport", 0),
            ("grpc.max_receive_message_length", self.max_recv_msg_size),
            ("grpc.max_concurrent_streams", self.max_concurrent_streams),
            ("grpc.keepalive_permit_without_calls", int(self.permit_without_stream)),
            *([("grpc.max_allowed_incoming_connections", self.max_connections)] if self.max_connections else []),
            *((name, ceil_milliseconds(duration_ns)) for name, duration_ns in durations.items() if duration_ns),
        ]


class OtlpGrpcReceiver:
    """
    Listens from `start` until `stop`; hands requests to the consumer as the bytes that came in.
    """

    def __init__(
        self,
        settings: GrpcReceiverSettings,
        consumer: Consumer,
        recorder: Recorder,
        *,
        tls: ServerTls | None = None,
        auth: BearerTokenAuth | None = None,
        where: str = "receivers::otlp::protocols::grpc",
    ) -> None:
        """
        *where* is the configuration path, for error messages.
        """
        self._settings = settings
        self._where = where
        self._tls = tls
        self._auth = auth
        self._intake = Intake(consumer, recorder, Transport.GRPC)
        self._health = health.aio.HealthServicer()  # type: ignore[attr-defined]  # the stubs leave the asyncio one out
        self._server: grpc.aio.Server | None = None
        self.port = 0
        """The bound port, known after `start`."""

    async def start(self) -> None:
        """
        Bind and serve. Raises `ConfigError` if the endpoint cannot be bound.
        """
        server = grpc.aio.server(options=self._settings.channel_options())
        server.add_generic_rpc_handlers([_export_handler(name, self._handler(s)) for s, name in SERVICES.items()])
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        self.port = self._bind(server)
        await server.start()
        self._server = server
        await self.tell_health(serves=True)
        _logger.info("OTLP/gRPC receiver listens on %s (port %d)", self._settings.endpoint, self.port)

    def _bind(self, server: grpc.aio.Server) -> int:
        try:
            if self._tls is None:
                return server.add_insecure_port(self._settings.endpoint)
            return server.add_secure_port(self._settings.endpoint, self._tls.grpc_credentials())
        except RuntimeError as error:
            raise ConfigError([(f"{self._where}::endpoint", str(error))]) from error

    async def tell_health(self, *, serves: bool) -> None:
        """
        What health checks are answered, until `set_not_ready`.
        """
        status = health_pb2.HealthCheckResponse
        for service in _HEALTH_SERVICES:
            await self._health.set(service, status.SERVING if serves else status.NOT_SERVING)

    async def set_not_ready(self) -> None:
        """
        Tell health checks that we are going; requests are still taken.
        """
        await self._health.enter_graceful_shutdown()

    async def stop(self, grace_ns: int) -> None:
        """
        Not ready, refuse what is new (UNAVAILABLE, then GOAWAY), give requests in progress *grace_ns* to end.
        """
        await self.set_not_ready()
        self._intake.close()
        if self._server is not None:
            await self._server.stop(grace_ns / SECOND)
            await self._intake.settle(grace_ns)
            _logger.info("OTLP/gRPC receiver stopped")
        self._server = None

    def _handler(self, signal: Signal) -> Export:
        async def export(request: bytes, context: Context) -> bytes:
            try:
                self._authenticate(context)
                accepted = await self._receive(signal, request)
            except RequestError as error:
                self._intake.count(signal, error)
                answer = answer_for(error)
                await context.abort(answer.code, answer.message, trailing_metadata(answer))
            return success_message(signal, accepted).SerializeToString()

        return export

    def _authenticate(self, context: Context) -> None:
        """Health checks are not asked: probes cannot send tokens, and learn nothing but that we run."""
        if self._auth is not None:
            metadata = dict(cast("Iterable[tuple[str, str]]", context.invocation_metadata() or ()))
            self._auth.check(metadata.get("authorization"))

    async def _receive(self, signal: Signal, request: bytes) -> Accepted:
        self._intake.admit(len(request))
        return await self._intake.take(signal, request)


def _export_handler(
    service: str, export: Callable[[bytes, Context], Awaitable[bytes]]
) -> "grpc.GenericRpcHandler[bytes, bytes]":
    """Without serialisers grpcio passes bytes through as they are."""
    return grpc.method_handlers_generic_handler(service, {"Export": grpc.unary_unary_rpc_method_handler(export)})
