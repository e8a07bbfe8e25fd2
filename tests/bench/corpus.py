"""
Traffic that a bench sends: serialised requests that can be sent any number of times, each time as new traces.
"""

from collections.abc import Iterable, Sequence
from functools import cache

from msgspec import Struct
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans
from recorded import BUNDLES, recordings

PASS_MARK = b"\xff\xfe\xfd\xfc"
"""The end of every trace id in a template. No UTF-8 text holds these bytes."""


class Template(Struct, frozen=True):
    """
    One request, cut where the number of the pass belongs.
    """

    pieces: tuple[bytes, ...]
    span_count: int

    def stamped(self, number: int) -> bytes:
        """
        The request with the trace ids of pass *number*.
        """
        return number.to_bytes(len(PASS_MARK), "big").join(self.pieces)


class Corpus(Struct, frozen=True):
    """
    The requests of one pass, in order.
    """

    name: str
    templates: tuple[Template, ...]

    @property
    def span_count(self) -> int:
        return sum(template.span_count for template in self.templates)

    @property
    def byte_count(self) -> int:
        return sum(map(len, self.requests()))

    def requests(self, number: int = 1) -> list[bytes]:
        """
        The serialised requests of pass *number*.
        """
        return [template.stamped(number) for template in self.templates]


def corpus_of(name: str, requests: Iterable[bytes]) -> Corpus:
    """
    A corpus of requests whose trace ids all end in the mark.
    """
    return Corpus(name, tuple(map(_template, requests)))


def _template(request: bytes) -> Template:
    pieces = tuple(request.split(PASS_MARK))
    spans = sum(len(scope.spans) for scope in _scopes(ExportTraceServiceRequest.FromString(request)))
    assert len(pieces) > spans, "a trace id without the mark"
    return Template(pieces, spans)


@cache
def recorded_corpus(bundles: Sequence[str] = BUNDLES, *, scenarios: int = 100) -> Corpus:
    """
    Real recordings, the first *scenarios* of each bundle, in the requests in which they were exported.
    """
    chosen = [recording for bundle in bundles for recording in recordings(bundle)[:scenarios]]
    return corpus_of("recordings", (_marked(request) for recording in chosen for request in recording.requests))


def _marked(request: bytes) -> bytes:
    message = ExportTraceServiceRequest.FromString(request)
    for scope in _scopes(message):
        for span in scope.spans:
            span.trace_id = span.trace_id[: -len(PASS_MARK)] + PASS_MARK
            for link in span.links:
                link.trace_id = link.trace_id[: -len(PASS_MARK)] + PASS_MARK
    return message.SerializeToString()


def _scopes(message: ExportTraceServiceRequest) -> Iterable[ScopeSpans]:
    return (scope for resource in message.resource_spans for scope in resource.scope_spans)
