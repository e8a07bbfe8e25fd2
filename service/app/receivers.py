"""
The way in, as configured: a gRPC and an HTTP listener for each OTLP receiver in use.
"""

import asyncio
from collections.abc import Callable, Sequence

from aiohttp import web

from service.app.security import Security
from service.config import Config
from service.config.receivers import GrpcServerConfig, HttpServerConfig
from service.durations import SECOND
from service.pipeline import Consumer
from service.receiver.otlp_grpc import GrpcReceiverSettings, OtlpGrpcReceiver
from service.receiver.otlp_http import HttpReceiverSettings, OtlpHttpReceiver
from service.telemetry.recorder import Recorder

GRACE_NS = 5 * SECOND
"""For requests in progress when the service stops (`collector.md` §3.2)."""


class Receivers:
    """
    All listeners, started and stopped together.
    """

    def __init__(
        self,
        config: Config,
        consumer: Consumer,
        recorder: Recorder,
        security: Security,
        add_http_routes: Callable[[web.Application], None] | None = None,
    ) -> None:
        """
        *add_http_routes* adds what else the OTLP/HTTP listeners serve.
        """
        self._grpc: list[OtlpGrpcReceiver] = []
        self._http: list[OtlpHttpReceiver] = []
        for name, receiver in config.active_receivers.items():
            if (grpc := receiver.protocols.grpc) is not None:
                where = f"receivers::{name}::protocols::grpc"
                tls, auth = security.server_tls(grpc.tls, where), security.bearer_token(grpc.auth)
                self._grpc.append(
                    OtlpGrpcReceiver(_grpc_settings(grpc), consumer, recorder, tls=tls, auth=auth, where=where)
                )
            if (http := receiver.protocols.http) is not None:
                where = f"receivers::{name}::protocols::http"
                tls, auth = security.server_tls(http.tls, where), security.bearer_token(http.auth)
                settings = _http_settings(http)
                self._http.append(
                    OtlpHttpReceiver(
                        settings, consumer, recorder, tls=tls, auth=auth, add_routes=add_http_routes, where=where
                    )
                )

    @property
    def _all(self) -> Sequence[OtlpGrpcReceiver | OtlpHttpReceiver]:
        return [*self._grpc, *self._http]

    @property
    def grpc_ports(self) -> list[int]:
        """The bound ports, known after `start`."""
        return [receiver.port for receiver in self._grpc]

    @property
    def http_ports(self) -> list[int]:
        """The bound ports, known after `start`."""
        return [receiver.port for receiver in self._http]

    async def start(self) -> None:
        """
        Bind and serve. Raises `ConfigError`.
        """
        for receiver in self._all:
            await receiver.start()

    async def tell_health(self, *, serves: bool) -> None:
        """
        What grpc.health.v1 answers from now on; a stop is not taken back.
        """
        for receiver in self._grpc:
            await receiver.tell_health(serves=serves)

    async def stop(self) -> None:
        await asyncio.gather(*(receiver.stop(GRACE_NS) for receiver in self._all))


def _grpc_settings(block: GrpcServerConfig) -> GrpcReceiverSettings:
    parameters, policy = block.keepalive.server_parameters, block.keepalive.enforcement_policy
    return GrpcReceiverSettings(
        endpoint=block.endpoint,
        max_recv_msg_size=block.max_recv_msg_size,
        max_concurrent_streams=block.max_concurrent_streams,
        max_connections=block.max_connections,
        max_connection_idle_ns=parameters.max_connection_idle_ns,
        max_connection_age_ns=parameters.max_connection_age_ns,
        max_connection_age_grace_ns=parameters.max_connection_age_grace_ns,
        keepalive_time_ns=parameters.time_ns,
        keepalive_timeout_ns=parameters.timeout_ns,
        min_ping_interval_ns=policy.min_time_ns,
        permit_without_stream=policy.permit_without_stream,
    )


def _http_settings(block: HttpServerConfig) -> HttpReceiverSettings:
    return HttpReceiverSettings(
        endpoint=block.endpoint,
        max_request_body_size=block.max_request_body_size,
        compression_algorithms=block.compression_algorithms,
        read_header_timeout_ns=block.read_header_timeout_ns,
        read_timeout_ns=block.read_timeout_ns,
        write_timeout_ns=block.write_timeout_ns,
        idle_timeout_ns=block.idle_timeout_ns,
        max_connections=block.max_connections,
    )
