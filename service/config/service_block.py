"""
`service`: which extensions run, what goes where, and how the service tells of itself.
"""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from service.config.tls import AuthConfig, ServerTlsConfig
from service.config.values import (
    AttributeKey,
    Block,
    Distinct,
    EmptyMeansDefaults,
    Endpoint,
    Host,
    Name,
    Port,
    PositiveDuration,
    join_endpoint,
)
from service.durations import SECOND

SHUTDOWN_TIMEOUT_NS = 30 * SECOND
"""The grace that Kubernetes gives by default."""
PROMETHEUS_PORT = 8_888
SERVICE_NAME = "toolscore"

LogLevel = Literal["debug", "info", "warn", "error"]
MetricsLevel = Literal["none", "basic", "normal", "detailed"]


class PipelineConfig(Block):
    """
    Where one signal leaves. What comes in and what processes it is fixed, and may be written down all the same.
    """

    receivers: Annotated[tuple[Name, ...], Distinct] = Field((), description="Ids of receivers; may be left out.")
    processors: Annotated[tuple[Name, ...], Distinct] = Field((), description="Processors; may be left out.")
    exporters: Annotated[tuple[Name, ...], Distinct] = Field(min_length=1, description="Ids of exporters.")


class PipelinesConfig(Block):
    """
    A signal without a pipeline does not leave.
    """

    traces: PipelineConfig | None = Field(None, description="Spans.")
    logs: PipelineConfig | None = Field(None, description="Evaluation events, and logs that came in.")
    metrics: PipelineConfig | None = Field(None, description="Score metrics, and metrics that came in.")


class PrometheusConfig(Block):
    """
    The `/metrics` page.
    """

    host: Host = Field("localhost", description="Host to listen on.")
    port: Port = Field(PROMETHEUS_PORT, description="Port to listen on.")
    tls: ServerTlsConfig | None = Field(None, description="TLS; left out: plaintext.")
    auth: AuthConfig | None = Field(None, description="Who may read; left out: everybody.")

    @property
    def endpoint(self) -> Endpoint:
        return join_endpoint(self.host, self.port)


class TelemetryMetricsConfig(Block):
    """
    Metrics of the service itself, and the scores.
    """

    level: MetricsLevel = Field(
        "normal", description="none: no metrics page. The Collector's other levels are one here."
    )
    prometheus: Annotated[PrometheusConfig, EmptyMeansDefaults()] = Field(
        default_factory=PrometheusConfig, description="The metrics page."
    )

    @property
    def page(self) -> PrometheusConfig | None:
        """The metrics page that is served, if any."""
        return None if self.level == "none" else self.prometheus

    @model_validator(mode="before")
    @classmethod
    def _unwrap_readers(cls, value: object) -> object:
        """
        The Collector's form `readers: [{pull: {exporter: {prometheus: {…}}}}]` means the same.
        """
        match value:
            case {"readers": [{"pull": {"exporter": {"prometheus": page}}}], **others} if "prometheus" not in others:
                return {**others, "prometheus": page}
            case _:
                return value


class TelemetryLogsConfig(Block):
    """
    Logs of the service itself, on standard error.
    """

    level: LogLevel = Field("info", description="Lowest level that is written.")
    encoding: Literal["console", "json"] = Field("console", description="For people, or for machines.")


class TelemetryConfig(Block):
    """
    How the service tells of itself.
    """

    resource: dict[AttributeKey, str] = Field(
        {}, description="Resource attributes of metrics; service.name is toolscore unless it stands here."
    )
    logs: Annotated[TelemetryLogsConfig, EmptyMeansDefaults()] = Field(
        default_factory=TelemetryLogsConfig, description="Logs."
    )
    metrics: Annotated[TelemetryMetricsConfig, EmptyMeansDefaults()] = Field(
        default_factory=TelemetryMetricsConfig, description="Metrics."
    )

    @property
    def resource_attributes(self) -> dict[str, str]:
        return {"service.name": SERVICE_NAME, **self.resource}


class ServiceBlockConfig(Block):
    """
    What runs.
    """

    extensions: Annotated[tuple[Name, ...], Distinct] = Field((), description="Ids of extensions that run.")
    shutdown_timeout_ns: PositiveDuration = Field(
        SHUTDOWN_TIMEOUT_NS, description="Time to score and deliver what is open before the process ends."
    )
    pipelines: PipelinesConfig | None = Field(
        None, description="Where each signal leaves. Left out: all three go to the only exporter."
    )
    telemetry: Annotated[TelemetryConfig, EmptyMeansDefaults()] = Field(
        default_factory=TelemetryConfig, description="Self-telemetry."
    )
