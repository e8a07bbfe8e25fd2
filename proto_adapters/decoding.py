"""
From span bytes to the canonical span: the header of every span, the attributes of those that may be GenAI.

Pure: bytes in, values out; never raises. Which spans have their attributes decoded is decided by scope (pure
infrastructure instrumentations are left alone), except for roots and where the configuration reads attributes of every
span (design §2).
"""

from msgspec import Struct
from msgspec.structs import replace

from proto_adapters.canonical import CanonicalSpan, LogCompletion, Origin, Problem
from proto_adapters.dialects import scope_may_hold_genai
from proto_adapters.otlp_decode import view_log, view_span
from proto_adapters.span_read import ReadOptions, read_log, read_span
from proto_adapters.split import SpanHead, read_head
from proto_adapters.wire import is_overgrown


class DecodeOptions(Struct, frozen=True):
    """
    How spans are read. `view_all` decodes the attributes of every span, whatever its scope.
    """

    read: ReadOptions = ReadOptions()
    view_all: bool = False


def decode_span(span: bytes, origin: Origin, options: DecodeOptions) -> CanonicalSpan | None:
    """
    The canonical span, or `None` if not even the ids can be read.

    A span with readable ids and undecodable attributes keeps its place in the trace, with the problem
    `span_undecodable`.
    """
    if is_overgrown(span):
        return _unread(span, origin)
    if options.view_all or scope_may_hold_genai(origin.scope_name):
        return _look_into(span, origin, options)
    head = read_head(span)
    if head is None:
        return None
    return _look_into(span, origin, options) if head.parent_span_id is None else _from_head(head, origin)


def _look_into(span: bytes, origin: Origin, options: DecodeOptions) -> CanonicalSpan | None:
    view = view_span(span, origin)
    if view is not None:
        return read_span(view, options.read)
    return _unread(span, origin)


def _unread(span: bytes, origin: Origin) -> CanonicalSpan | None:
    head = read_head(span)
    return None if head is None else replace(_from_head(head, origin), problems=(Problem.SPAN_UNDECODABLE,))


def decode_log(record: bytes, origin: Origin, options: DecodeOptions) -> LogCompletion | None:
    """
    What a log record tells of a completion, or `None` if it tells nothing.
    """
    view = view_log(record, origin)
    return None if view is None else read_log(view, options.read)


def _from_head(head: SpanHead, origin: Origin) -> CanonicalSpan:
    return CanonicalSpan(
        trace_id=head.trace_id,
        span_id=head.span_id,
        parent_span_id=head.parent_span_id,
        otel_kind=head.otel_kind,
        origin=origin,
        start_ns=head.start_ns,
        end_ns=head.end_ns,
        flags=head.flags,
        dropped_attributes_count=head.dropped_attributes_count,
        dropped_events_count=head.dropped_events_count,
    )
