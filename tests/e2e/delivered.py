"""
Reads what arrived downstream: spans with our attributes, evaluation events, score metrics.
"""

from collections.abc import Iterable, Iterator

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span

Attributes = dict[str, str | float | bool | list[str]]


def spans(requests: Iterable[bytes]) -> Iterator[Span]:
    for request in requests:
        for resource in ExportTraceServiceRequest.FromString(request).resource_spans:
            for scope in resource.scope_spans:
                yield from scope.spans


def log_records(requests: Iterable[bytes]) -> Iterator[LogRecord]:
    for request in requests:
        for resource in ExportLogsServiceRequest.FromString(request).resource_logs:
            for scope in resource.scope_logs:
                yield from scope.log_records


def metrics(requests: Iterable[bytes]) -> Iterator[Metric]:
    for request in requests:
        for resource in ExportMetricsServiceRequest.FromString(request).resource_metrics:
            for scope in resource.scope_metrics:
                yield from scope.metrics


def roots_with_scores(requests: Iterable[bytes]) -> dict[bytes, Attributes]:
    """
    Our attributes by trace id, of the spans without a parent.
    """
    return {
        span.trace_id: {
            key: value for key, value in attributes(span.attributes).items() if key.startswith("toolscore.")
        }
        for span in spans(requests)
        if not span.parent_span_id
    }


def attributes(pairs: Iterable[KeyValue]) -> Attributes:
    """
    Attributes as Python values; a list is read as one of strings.
    """
    return {pair.key: _value(pair) for pair in pairs}


def _value(pair: KeyValue) -> str | float | bool | list[str]:
    kind = pair.value.WhichOneof("value")
    if kind == "array_value":
        return [each.string_value for each in pair.value.array_value.values]
    value: str | float | bool = getattr(pair.value, kind) if kind else ""
    return value


def histogram_totals(requests: Iterable[bytes], name: str, label: str) -> dict[str, tuple[int, float]]:
    """
    The last cumulative (count, sum) of a histogram for each value of the attribute *label*, added over all others.
    """
    last: dict[bytes, tuple[str, int, float]] = {}
    for metric in metrics(requests):
        for point in metric.histogram.data_points if metric.name == name else ():
            series = b"".join(sorted(pair.SerializeToString() for pair in point.attributes))
            last[series] = (str(attributes(point.attributes).get(label)), point.count, point.sum)
    totals: dict[str, tuple[int, float]] = {}
    for value, count, total in last.values():
        before = totals.get(value, (0, 0.0))
        totals[value] = (before[0] + count, before[1] + total)
    return totals
