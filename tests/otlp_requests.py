"""
Small OTLP requests for transport tests: spans known by their names, built with the official protobuf classes.
"""

from collections.abc import Iterable

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from service.pipeline import ExportRequest, SendOutcome, Signal


def trace_request(*names: str, service: str = "shop", size: int = 0) -> bytes:
    """
    One resource with a span for each name; *size* is the length of an attribute that each span gets.
    """
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    resource.resource.attributes.add(key="service.name").value.string_value = service
    scope = resource.scope_spans.add()
    scope.scope.name = "test"
    for number, name in enumerate(names, start=1):
        span = scope.spans.add(name=name, trace_id=number.to_bytes(16, "big"), span_id=number.to_bytes(8, "big"))
        if size:
            span.attributes.add(key="padding").value.string_value = "x" * size
    return request.SerializeToString()


def log_request(*bodies: str) -> bytes:
    request = ExportLogsServiceRequest()
    scope = request.resource_logs.add().scope_logs.add()
    for body in bodies:
        scope.log_records.add().body.string_value = body
    return request.SerializeToString()


def metric_request(*names: str, points: int = 1) -> bytes:
    """
    One gauge for each name, with *points* data points each.
    """
    request = ExportMetricsServiceRequest()
    scope = request.resource_metrics.add().scope_metrics.add()
    for name in names:
        metric = scope.metrics.add(name=name)
        for point in range(points):
            metric.gauge.data_points.add(as_int=point)
    return request.SerializeToString()


def span_names(payload: bytes) -> list[str]:
    request = ExportTraceServiceRequest.FromString(payload)
    return [span.name for resource in request.resource_spans for scope in resource.scope_spans for span in scope.spans]


def all_span_names(payloads: Iterable[bytes]) -> list[str]:
    return [name for payload in payloads for name in span_names(payload)]


class Outcomes:
    """
    Export requests and what became of each of them, in the order in which they were settled.
    """

    def __init__(self) -> None:
        self.settled: list[tuple[SendOutcome, int]] = []

    def request(self, *names: str, size: int = 0) -> ExportRequest:
        return self.of(Signal.TRACES, trace_request(*names, size=size), len(names))

    def of(self, signal: Signal, payload: bytes, item_count: int) -> ExportRequest:
        return ExportRequest(signal, payload, item_count, lambda *outcome: self.settled.append(outcome))
