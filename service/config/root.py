"""
The whole configuration.
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from service.config.exporters import ExporterConfig, ExportersConfig, default_exporters
from service.config.extensions import BearerTokenAuthConfig, ExtensionConfig, ExtensionsConfig
from service.config.processors import MemoryLimiterConfig, ProcessorsConfig
from service.config.receivers import OtlpReceiverConfig, ReceiversConfig, default_receivers
from service.config.service_block import PipelineConfig, PipelinesConfig, ServiceBlockConfig
from service.config.tls import AuthConfig
from service.config.tool_scoring import ToolScoringConfig
from service.config.values import Block, EmptyMeansDefaults
from service.pipeline import Signal


class Config(Block):
    """
    Configuration of the service. Without any, it listens on localhost and prints what it scores.
    """

    receivers: ReceiversConfig = Field(
        default_factory=default_receivers, description="Where spans come in, by component id."
    )
    processors: Annotated[ProcessorsConfig, EmptyMeansDefaults()] = Field(
        default_factory=ProcessorsConfig, description="What happens to spans."
    )
    exporters: ExportersConfig = Field(
        default_factory=default_exporters, description="Where spans, events and metrics go, by component id."
    )
    extensions: ExtensionsConfig = Field({}, description="What runs beside the pipelines, by component id.")
    service: Annotated[ServiceBlockConfig, EmptyMeansDefaults()] = Field(
        default_factory=ServiceBlockConfig, description="Which of it runs, and how it is connected."
    )

    @property
    def tool_scoring(self) -> ToolScoringConfig:
        return self.processors.tool_scoring

    @property
    def memory_limiter(self) -> MemoryLimiterConfig:
        return self.processors.memory_limiter

    @property
    def pipelines(self) -> PipelinesConfig:
        """
        The pipelines as configured, else every signal to every exporter (there is one only, or `checks` complains).
        """
        if self.service.pipelines is not None:
            return self.service.pipelines
        everything = PipelineConfig(exporters=tuple(self.exporters))
        return PipelinesConfig(traces=everything, logs=everything, metrics=everything)

    @property
    def active_receivers(self) -> Mapping[str, OtlpReceiverConfig]:
        """
        The receivers that a pipeline names; all of them if none names any.
        """
        named = {name for pipeline in self._pipelines_by_signal.values() for name in pipeline.receivers}
        return {name: block for name, block in self.receivers.items() if not named or name in named}

    def exporters_of(self, signal: Signal) -> Mapping[str, ExporterConfig]:
        """
        Where *signal* leaves to; nothing if it does not leave.
        """
        pipeline = self._pipelines_by_signal.get(signal)
        return {} if pipeline is None else {name: self.exporters[name] for name in pipeline.exporters}

    @property
    def active_exporters(self) -> Mapping[str, ExporterConfig]:
        return {name: block for signal in Signal for name, block in self.exporters_of(signal).items()}

    @property
    def active_extensions(self) -> Mapping[str, ExtensionConfig]:
        return {name: self.extensions[name] for name in self.service.extensions}

    def authenticator(self, auth: AuthConfig | None) -> BearerTokenAuthConfig | None:
        """
        The extension that *auth* names.
        """
        extension = None if auth is None else self.extensions[auth.authenticator]
        return extension if isinstance(extension, BearerTokenAuthConfig) else None

    @property
    def _pipelines_by_signal(self) -> dict[Signal, PipelineConfig]:
        pipelines = self.pipelines
        by_signal = {Signal.TRACES: pipelines.traces, Signal.LOGS: pipelines.logs, Signal.METRICS: pipelines.metrics}
        return {signal: pipeline for signal, pipeline in by_signal.items() if pipeline is not None}
