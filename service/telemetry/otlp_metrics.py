"""
Metrics as an OTLP request, for our own exporter to send.

No I/O: the bytes go through the same sending queue and retries as everything else.
"""

from enum import StrEnum

from msgspec import Struct
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.sdk.metrics.export import Metric, MetricsData, ResourceMetrics, ScopeMetrics

from service.telemetry.deltas import Deltas
from service.telemetry.otel_recorder import SCORES_SCOPE


class Selection(StrEnum):
    """
    Which metrics are sent.
    """

    SCORES = "scores"
    ALL = "all"
    """The service's own telemetry too."""


class MetricsRequest(Struct, frozen=True):
    """
    A serialised ExportMetricsServiceRequest.
    """

    payload: bytes
    point_count: int


class OtlpMetrics:
    """
    One reader of the recorder's metrics. With *delta* it remembers what it gave last, so each destination has its own.
    """

    def __init__(self, selection: Selection = Selection.SCORES, *, delta: bool = False) -> None:
        self._selection = selection
        self._deltas: dict[str, Deltas] | None = {} if delta else None

    def encode(self, collected: MetricsData) -> MetricsRequest | None:
        """
        What is to be sent of *collected*, or nothing.
        """
        resources = [self._resource(resource) for resource in collected.resource_metrics]
        point_count = sum(
            len(metric.data.data_points)
            for resource in resources
            for scope in resource.scope_metrics
            for metric in scope.metrics
        )
        if not point_count:
            return None
        return MetricsRequest(encode_metrics(MetricsData(resources)).SerializeToString(), point_count)

    def _resource(self, resource: ResourceMetrics) -> ResourceMetrics:
        scopes = [
            ScopeMetrics(scope.scope, self._metrics(scope), scope.schema_url)
            for scope in resource.scope_metrics
            if self._selection is Selection.ALL or scope.scope.name == SCORES_SCOPE
        ]
        return ResourceMetrics(resource.resource, scopes, resource.schema_url)

    def _metrics(self, scope: ScopeMetrics) -> list[Metric]:
        if self._deltas is None:
            return list(scope.metrics)
        return self._deltas.setdefault(scope.scope.name, Deltas()).since_last(list(scope.metrics))
