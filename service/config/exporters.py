"""
`exporters`: where spans, events and metrics go. Keys and defaults as the Collector's exporterhelper.
"""

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from service.config.components import Components
from service.config.tls import AuthConfig, ClientTlsConfig
from service.config.tool_scoring import Mode
from service.config.values import (
    Block,
    Duration,
    EmptyMeansDefaults,
    Fraction,
    HeaderName,
    HeaderValue,
    Mebibytes,
    Multiplier,
    PositiveCount,
    PositiveDuration,
    Switch,
    TargetEndpoint,
    Url,
)
from service.durations import MINUTE, SECOND

HOLD_MAX_ELAPSED_NS = 0
"""For ever: in hold mode the spans exist only here (design §11)."""
PASS_THROUGH_MAX_ELAPSED_NS = 5 * MINUTE
"""exporterhelper's."""
QUEUE_SIZE_MIB = 256

GrpcCompression = Literal["none", "gzip"]
HttpCompression = Literal["none", "gzip", "zstd", "deflate"]


class RetryConfig(Block):
    """
    Retries of exports that failed for now. A RetryInfo or Retry-After of the next hop is honoured.
    """

    enabled: Switch = Field(default=True, description="Whether failed exports are tried again.")
    initial_interval_ns: PositiveDuration = Field(5 * SECOND, description="Wait after the first failure.")
    randomization_factor: Fraction = Field(0.5, description="Each wait is varied by this share, up and down.")
    multiplier: Multiplier = Field(1.5, description="Each wait is so many times the one before.")
    max_interval_ns: PositiveDuration = Field(30 * SECOND, description="Longest wait.")
    max_elapsed_time_ns: Duration | None = Field(
        None, description="Give up after so long; 0s: never. Left out: never in hold mode, 5m in pass_through mode."
    )

    def give_up_after_ns(self, mode: Mode) -> int:
        """
        `max_elapsed_time` with the default of the mode.
        """
        if self.max_elapsed_time_ns is not None:
            return self.max_elapsed_time_ns
        return HOLD_MAX_ELAPSED_NS if mode == "hold" else PASS_THROUGH_MAX_ELAPSED_NS

    @model_validator(mode="after")
    def _intervals_fit(self) -> "RetryConfig":
        if self.initial_interval_ns > self.max_interval_ns:
            raise ValueError("initial_interval should not be longer than max_interval")
        if self.max_elapsed_time_ns and self.max_elapsed_time_ns < self.max_interval_ns:
            raise ValueError("max_elapsed_time should not be shorter than initial_interval and max_interval, or be 0s")
        return self


class QueueConfig(Block):
    """
    Requests that wait to be sent. A full queue holds back the processor, and so the senders; nothing is dropped.
    """

    enabled: Switch = Field(default=True, description="false: no request waits, only num_consumers are on their way.")
    sizer: Literal["requests"] = Field("requests", description="What queue_size counts.")
    num_consumers: PositiveCount = Field(10, le=1_000, description="Requests that are sent at the same time.")
    queue_size: PositiveCount = Field(1_000, description="Requests that may wait.")
    queue_size_mib: Mebibytes = Field(QUEUE_SIZE_MIB, description="Size of the requests that may wait.")
    block_on_overflow: Switch = Field(
        default=False, description="In pass_through mode, let senders wait for room in a full queue, not refuse them."
    )
    wait_for_result: Switch = Field(
        default=False, description="In pass_through mode, acknowledge a request when the next hop took it."
    )

    @property
    def capacity(self) -> int:
        """Requests that are waiting or on their way, at most."""
        return self.queue_size if self.enabled else self.num_consumers

    @property
    def queue_size_bytes(self) -> int:
        return self.queue_size_mib * 1024 * 1024


class ClientKeepaliveConfig(Block):
    """
    gRPC keepalive towards the next hop.
    """

    time_ns: Duration = Field(0, description="Ping after so long without an answer. 0s: never.")
    timeout_ns: PositiveDuration = Field(20 * SECOND, description="Drop the connection if the ping is not answered.")


class OtlpExporterConfig(Block):
    """
    What the OTLP exporters share.
    """

    endpoint: str = Field(description="Address of the next hop.")
    timeout_ns: PositiveDuration = Field(5 * SECOND, description="Time for one attempt.")
    compression: str = Field("none", description="Compression of requests.")
    headers: dict[HeaderName, HeaderValue] = Field({}, description="Headers of every request. Masked when printed.")
    tls: ClientTlsConfig | None = Field(None, description="TLS; left out: the system's certificates.")
    auth: AuthConfig | None = Field(None, description="How we authenticate to the next hop.")
    retry_on_failure: Annotated[RetryConfig, EmptyMeansDefaults()] = Field(
        default_factory=RetryConfig, description="Retries."
    )
    sending_queue: Annotated[QueueConfig, EmptyMeansDefaults()] = Field(
        default_factory=QueueConfig, description="Queue in front of the exporter."
    )


class OtlpGrpcExporterConfig(OtlpExporterConfig):
    """
    OTLP over gRPC.
    """

    endpoint: TargetEndpoint = Field(description="host:port of the next hop.")
    timeout_ns: PositiveDuration = Field(5 * SECOND, description="Time for one attempt.")
    compression: GrpcCompression = Field(
        "none", description="none or gzip. Between two programs on one host compression costs more than all the rest."
    )
    keepalive: ClientKeepaliveConfig | None = Field(None, description="Pings; left out: none.")


class OtlpHttpExporterConfig(OtlpExporterConfig):
    """
    OTLP over HTTP.
    """

    endpoint: Url = Field(description="Base URL of the next hop; /v1/traces and so on are appended.")
    traces_endpoint: Url | None = Field(None, description="URL for traces, as it is.")
    logs_endpoint: Url | None = Field(None, description="URL for logs, as it is.")
    metrics_endpoint: Url | None = Field(None, description="URL for metrics, as it is.")
    encoding: Literal["proto", "json"] = Field("proto", description="Body format.")
    timeout_ns: PositiveDuration = Field(30 * SECOND, description="Time for one attempt.")
    compression: HttpCompression = Field("none", description="none, gzip, zstd or deflate.")

    @model_validator(mode="after")
    def _tls_fits_the_scheme(self) -> "OtlpHttpExporterConfig":
        if self.tls is not None and self.tls.insecure and urlsplit(self.endpoint).scheme == "https":
            raise ValueError("tls::insecure should not be true for the https endpoint")
        return self


class ConsoleExporterConfig(Block):
    """
    Prints each scored trace.
    """


ExporterConfig = OtlpGrpcExporterConfig | OtlpHttpExporterConfig | ConsoleExporterConfig

EXPORTER_TYPES: dict[str, type[Block]] = {
    "otlp_grpc": OtlpGrpcExporterConfig,
    "otlp_http": OtlpHttpExporterConfig,
    "console": ConsoleExporterConfig,
}
EXPORTER_ALIASES = {"otlp": "otlp_grpc", "otlphttp": "otlp_http", "debug": "console"}
"""The Collector's older names, and its name for a console."""

ExportersConfig = Annotated[dict[str, ExporterConfig], Components(EXPORTER_TYPES, EXPORTER_ALIASES)]


def default_exporters() -> dict[str, ExporterConfig]:
    return {"console": ConsoleExporterConfig()}
