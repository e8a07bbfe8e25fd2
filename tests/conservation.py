"""
What "every span came out, once and unchanged" means: two bags of spans are compared, each span with its resource, its
scope and everything in it but the attributes that the service adds (design §9).
"""

from collections import Counter
from collections.abc import Iterable

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from proto_adapters.otlp_encode import cut_attributes
from proto_adapters.split import OriginTable, split_traces

OUR_PREFIX = "toolscore."
SpanBag = Counter[bytes]


def span_bag(requests: Iterable[bytes]) -> SpanBag:
    """
    The spans of serialised ExportTraceServiceRequests, in a form that does not depend on how they were grouped.
    """
    return Counter(
        _normal_form(resource_spans, scope_spans, span)
        for request in requests
        for resource_spans in ExportTraceServiceRequest.FromString(request).resource_spans
        for scope_spans in resource_spans.scope_spans
        for span in scope_spans.spans
    )


def _normal_form(resource_spans: ResourceSpans, scope_spans: ScopeSpans, span: Span) -> bytes:
    alone = ResourceSpans(resource=resource_spans.resource, schema_url=resource_spans.schema_url)
    scope = alone.scope_spans.add(scope=scope_spans.scope, schema_url=scope_spans.schema_url)
    kept = scope.spans.add()
    kept.CopyFrom(span)
    del kept.attributes[:]
    kept.attributes.extend(each for each in span.attributes if not each.key.startswith(OUR_PREFIX))
    return alone.SerializeToString(deterministic=True)


def lost_and_added(sent: SpanBag, received: SpanBag) -> tuple[list[str], list[str]]:
    """
    The spans that are missing, and those that are new, changed or there once too often, in readable form.
    """
    return _readable(sent - received), _readable(received - sent)


def _readable(spans: SpanBag) -> list[str]:
    return [str(ResourceSpans.FromString(each)) for each in spans.elements()]


def assert_conserved(sent: Iterable[bytes], received: Iterable[bytes]) -> None:
    """
    Every span of *sent* is in *received* as often as it was sent, unchanged but for our attributes, and no other is.
    """
    lost, added = lost_and_added(span_bag(sent), span_bag(received))
    assert ([], []) == (lost, added)


def wire_bag(requests: Iterable[bytes]) -> Counter[tuple[bytes, bytes, bytes]]:
    """
    The spans of serialised requests as their bytes, each under its resource and scope, without our attributes.
    """
    origins = OriginTable()
    return Counter(
        (origin.resource_header, origin.scope_header, cut_attributes(span, OUR_PREFIX)[0])
        for request in requests
        for origin, spans in split_traces(request, origins).groups
        for span in spans
    )


def assert_bytes_conserved(sent: Iterable[bytes], received: Iterable[bytes], rejected: Iterable[bytes] = ()) -> None:
    """
    As `assert_conserved`, byte for byte, also for spans that no parser reads; *rejected* spans did not come in.
    """
    taken = Counter({key: count for key, count in wire_bag(sent).items() if key[2] not in set(rejected)})
    assert taken == wire_bag(received)
