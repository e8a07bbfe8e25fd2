"""
The way in, as configured: a gRPC and an HTTP listener for each OTLP receiver in use.
"""

from service.config import Config
from service.config.receivers import GrpcServerConfig
from service.durations import SECOND
from service.pipeline import Consumer
from service.receiver.otlp_grpc import GrpcReceiverSettings, OtlpGrpcReceiver
from service.telemetry.recorder import Recorder

GRACE_NS = 5 * SECOND
"""For requests in progress when the service stops (`collector.md` §3.2)."""


class Receivers:
    """
    All listeners, started and stopped together.
    """

    def __init__(self, config: Config, consumer: Consumer, recorder: Recorder) -> None:
        protocols = [receiver.protocols for receiver in config.active_receivers.values()]
        self._grpc = [
            OtlpGrpcReceiver(_grpc_settings(block.grpc), consumer, recorder) for block in protocols if block.grpc
        ]

    @property
    def grpc_ports(self) -> list[int]:
        """The bound ports, known after `start`."""
        return [receiver.port for receiver in self._grpc]

    async def start(self) -> None:
        """
        Bind and serve. Raises `ConfigError`.
        """
        for receiver in self._grpc:
            await receiver.start()

    async def stop(self) -> None:
        for receiver in self._grpc:
            await receiver.stop(GRACE_NS)


def _grpc_settings(block: GrpcServerConfig) -> GrpcReceiverSettings:
    parameters = block.keepalive.server_parameters
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
        min_ping_interval_ns=block.keepalive.enforcement_policy.min_time_ns,
    )
