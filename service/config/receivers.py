"""
`receivers`: where spans come in.
"""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from service.config.components import Components
from service.config.tls import AuthConfig, ServerTlsConfig
from service.config.values import (
    Block,
    Count,
    Distinct,
    Duration,
    EmptyMeansDefaults,
    Endpoint,
    Mebibytes,
    PositiveCount,
    Switch,
)
from service.durations import MINUTE, SECOND

GRPC_ENDPOINT = "localhost:4317"
HTTP_ENDPOINT = "localhost:4318"
MAX_RECV_MSG_SIZE_MIB = 64
"""What OTLP 1.11 recommends; grpc-go's 4 MiB would refuse batches that Collectors send."""
MAX_REQUEST_BODY_SIZE = 20 * 1024 * 1024
"""The Collector's limit."""
MAX_CONNECTIONS = 1_000

Encoding = Literal["", "gzip", "zstd", "deflate"]
"""HTTP content encodings; the empty one is no compression."""


class KeepaliveServerParameters(Block):
    """
    How long a gRPC connection lives. Ages are bounded so that clients find new replicas.
    """

    max_connection_idle_ns: Duration = Field(
        MINUTE, description="Close a connection after so long without calls. 0s: never."
    )
    max_connection_age_ns: Duration = Field(3 * MINUTE, description="Close a connection after so long. 0s: never.")
    max_connection_age_grace_ns: Duration = Field(MINUTE, description="Time for running calls after that.")
    time_ns: Duration = Field(MINUTE, description="Ping a silent client after so long. 0s: never.")
    timeout_ns: Duration = Field(20 * SECOND, description="Close the connection if the ping is not answered in time.")


class KeepaliveEnforcement(Block):
    """
    How often clients may ping.
    """

    min_time_ns: Duration = Field(10 * SECOND, description="Shortest time between two pings of a client.")
    permit_without_stream: Switch = Field(
        default=True, description="Whether a client may ping while it has no call running."
    )


class ServerKeepaliveConfig(Block):
    """
    gRPC keepalive of a listener.
    """

    server_parameters: Annotated[KeepaliveServerParameters, EmptyMeansDefaults()] = Field(
        default_factory=KeepaliveServerParameters, description="Ages and pings of connections."
    )
    enforcement_policy: Annotated[KeepaliveEnforcement, EmptyMeansDefaults()] = Field(
        default_factory=KeepaliveEnforcement, description="What pings of clients are put up with."
    )


class GrpcServerConfig(Block):
    """
    OTLP over gRPC. gzip and deflate are understood; `zstd` is not (the gRPC library has none).
    """

    endpoint: Endpoint = Field(GRPC_ENDPOINT, description="Address to listen on, host:port.")
    max_recv_msg_size_mib: Mebibytes = Field(
        MAX_RECV_MSG_SIZE_MIB, le=2_047, description="Largest request, after decompression."
    )
    max_concurrent_streams: PositiveCount = Field(
        100, le=2**31 - 1, description="Calls that one connection may have running."
    )
    max_connections: Count = Field(MAX_CONNECTIONS, le=2**31 - 1, description="Open connections. 0: no limit.")
    keepalive: Annotated[ServerKeepaliveConfig, EmptyMeansDefaults()] = Field(
        default_factory=ServerKeepaliveConfig, description="Life of connections."
    )
    tls: ServerTlsConfig | None = Field(None, description="TLS; left out: plaintext.")
    auth: AuthConfig | None = Field(None, description="Who may send; left out: everybody.")

    @property
    def max_recv_msg_size(self) -> int:
        """In bytes."""
        return self.max_recv_msg_size_mib * 1024 * 1024


class HttpServerConfig(Block):
    """
    OTLP over HTTP, protobuf and JSON, and the annotations endpoint.
    """

    endpoint: Endpoint = Field(HTTP_ENDPOINT, description="Address to listen on, host:port.")
    max_request_body_size: PositiveCount = Field(
        MAX_REQUEST_BODY_SIZE, description="Largest body in bytes, before and again after decompression."
    )
    compression_algorithms: Annotated[tuple[Encoding, ...], Distinct] = Field(
        ("", "gzip", "zstd", "deflate"), min_length=1, description="Content encodings that are accepted."
    )
    read_header_timeout_ns: Duration = Field(10 * SECOND, description="Time to send the headers. 0s: no limit.")
    read_timeout_ns: Duration = Field(30 * SECOND, description="Time to send a whole request. 0s: no limit.")
    write_timeout_ns: Duration = Field(30 * SECOND, description="Time to take the answer. 0s: no limit.")
    idle_timeout_ns: Duration = Field(MINUTE, description="Close a connection without requests. 0s: never.")
    max_connections: Count = Field(MAX_CONNECTIONS, le=2**31 - 1, description="Open connections. 0: no limit.")
    tls: ServerTlsConfig | None = Field(None, description="TLS; left out: plaintext.")
    auth: AuthConfig | None = Field(None, description="Who may send; left out: everybody.")


class ProtocolsConfig(Block):
    """
    The transports of an OTLP receiver. Naming one switches the other off; naming none of them gives both.
    """

    grpc: Annotated[GrpcServerConfig | None, EmptyMeansDefaults()] = Field(None, description="OTLP over gRPC.")
    http: Annotated[HttpServerConfig | None, EmptyMeansDefaults()] = Field(None, description="OTLP over HTTP.")

    @model_validator(mode="after")
    def _has_a_protocol(self) -> "ProtocolsConfig":
        if self.grpc is None and self.http is None:
            raise ValueError("should name grpc, http or both")
        return self


def _both_protocols() -> ProtocolsConfig:
    return ProtocolsConfig(grpc=GrpcServerConfig(), http=HttpServerConfig())


class OtlpReceiverConfig(Block):
    """
    Receives OTLP traces, logs and metrics.
    """

    protocols: ProtocolsConfig = Field(
        default_factory=_both_protocols, description="Transports; left out: gRPC and HTTP on localhost."
    )


ReceiversConfig = Annotated[dict[str, OtlpReceiverConfig], Components({"otlp": OtlpReceiverConfig})]


def default_receivers() -> dict[str, OtlpReceiverConfig]:
    return {"otlp": OtlpReceiverConfig()}
