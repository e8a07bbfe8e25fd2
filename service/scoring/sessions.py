"""
Sessions: what a closed trace hands over, and the evidence of all traces of a session pooled.

Pure. Every trace keeps its own shape; the pooled evidence does not depend on the order in which traces closed. Design
§8, rule W6 of the dialects reference.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from proto_adapters.assembly.sessions import SpanIdentity, linked_calls
from proto_adapters.canonical import CanonicalSpan, CanonicalTrace, Shape, SpanKind, ToolCall
from service.evidence import Coverage, CoverageBasis, CoverageReason, Partition, ToolEvidence
from service.session_evidence import SessionEvidence, TracePart, part_size

MAX_LINKED_TRACES = 1_000
NO_TRACE = b""
"""Stands for linked traces beyond the limit: whether they were received is not known."""

CUT_SHORT = frozenset(
    {
        CoverageReason.SPAN_LIMIT,
        CoverageReason.SIZE_LIMIT,
        CoverageReason.EVICTED,
        CoverageReason.EVIDENCE_RELEASED,
    }
)
"""A trace closed for these may have made requests that nobody saw."""


def part_of(
    trace: CanonicalTrace, evidence: ToolEvidence, *, occurrence: str, root: CanonicalSpan | None, has_root: bool
) -> TracePart | None:
    """
    What the trace hands to its session; `None` if it has none.
    """
    if trace.session_id is None or root is None:
        return None
    tool_spans = tuple(_tool_spans(trace.spans))
    return TracePart(
        occurrence=occurrence,
        trace_id=root.trace_id,
        session_id=trace.session_id,
        evidence=evidence,
        root=_cut_root(root),
        has_root=has_root,
        agent=None if trace.agent_span is None else _cut_agent(trace.agent_span),
        tool_spans=tool_spans,
        linked_traces=_linked_traces(trace.spans, root.trace_id),
        span_count=len(trace.spans),
        size=part_size(evidence, tool_spans) + _text_size(trace.session_id, root),
    )


def _text_size(session_id: str, root: CanonicalSpan) -> int:
    """What senders may make long."""
    return len(session_id) + len(root.name) + sum(len(str(value)) for value in root.selected.values())


def _linked_traces(spans: Iterable[CanonicalSpan], own_id: bytes) -> tuple[bytes, ...]:
    linked = {link.trace_id for span in spans for link in span.links} - {own_id}
    return tuple(sorted(linked)) if len(linked) <= MAX_LINKED_TRACES else (NO_TRACE,)


def _cut_root(span: CanonicalSpan) -> CanonicalSpan:
    return CanonicalSpan(
        trace_id=span.trace_id,
        span_id=span.span_id,
        name=span.name,
        origin=span.origin,
        start_ns=span.start_ns,
        selected=span.selected,
    )


def _cut_agent(span: CanonicalSpan) -> CanonicalSpan:
    return replace(_cut_root(span), kind=span.kind, agent_name=span.agent_name)


def _tool_spans(spans: Iterable[CanonicalSpan]) -> Iterator[CanonicalSpan]:
    """
    TOOL spans that link to another trace or repeat a call; the calls themselves are evidence.
    """
    for span in spans:
        if span.kind is SpanKind.TOOL and (span.links or span.duplicate_of):
            yield CanonicalSpan(
                trace_id=span.trace_id,
                span_id=span.span_id,
                kind=span.kind,
                links=span.links,
                tool_name=span.tool_name,
                mcp_server=span.mcp_server,
                mcp_method=span.mcp_method,
                duplicate_of=span.duplicate_of,
            )


class _Joined(Struct, frozen=True):
    """
    Calls that show a call of another trace again (W6): identity -> the call that counts.
    """

    above: dict[SpanIdentity, SpanIdentity]

    def join(self, inner: SpanIdentity, outer: SpanIdentity) -> None:
        if self.top(outer) != inner:
            self.above[inner] = outer

    def counts(self, call: ToolCall) -> bool:
        return _identity(call) not in self.above

    def top(self, identity: SpanIdentity) -> SpanIdentity:
        while identity in self.above:
            identity = self.above[identity]
        return identity


def pool(session: SessionEvidence) -> ToolEvidence:
    """
    The evidence of a session: names united, attempts of all traces together.

    A trace that has only MCP server spans is a fragment: it tells further names of calls that link to it, nothing else.
    """
    joined = _join_linked(session.parts)
    scored = [part.evidence for part in session.parts if part.evidence.shapes]
    shapes = {shape for evidence in scored for shape in evidence.shapes}
    calls = _pooled_calls(session.parts, joined)
    dropped = sum(not joined.counts(call) and not call.control_tool for each in scored for call in each.calls)
    return ToolEvidence(
        partition=Partition.SESSION,
        shapes=tuple(shape for shape in Shape if shape in shapes),
        calls=calls,
        called_names=tuple(dict.fromkeys(_called_names(session.parts, joined))),
        embedded_calls=_pooled_requests(scored, calls),
        nameless_calls=sum(evidence.nameless_calls for evidence in scored),
        requested_names=tuple(name for evidence in scored for name in evidence.requested_names),
        has_tool_evidence=bool(scored) and all(evidence.has_tool_evidence for evidence in scored),
        observed_call_count=sum(evidence.observed_call_count for evidence in scored) - dropped,
        all_requests_linked=_all_requests_linked(session),
        coverage=_pooled_coverage(session),
        resolution_ns=max((evidence.resolution_ns for evidence in scored), default=0),
    )


def _pooled_calls(parts: Sequence[TracePart], joined: _Joined) -> tuple[ToolCall, ...]:
    aliases: dict[SpanIdentity, set[str]] = defaultdict(set)
    for part in parts:
        for call in part.evidence.calls:
            if not joined.counts(call):
                aliases[joined.top(_identity(call))].update((call.name, *call.aliases))
    calls = (
        _with_aliases(call, aliases.get(_identity(call)))
        for part in parts
        if part.evidence.shapes
        for call in part.evidence.calls
        if joined.counts(call)
    )
    return tuple(sorted(calls, key=_by_start))


def _with_aliases(call: ToolCall, names: set[str] | None) -> ToolCall:
    if not names:
        return call
    return replace(call, aliases=tuple(sorted({*call.aliases, *names} - {call.name})))


def _called_names(parts: Sequence[TracePart], joined: _Joined) -> Iterator[str]:
    for part in parts:
        if part.evidence.shapes:
            yield from part.evidence.called_names
        else:
            yield from (call.name for call in part.evidence.calls if not joined.counts(call))


def _pooled_requests(scored: Iterable[ToolEvidence], calls: Iterable[ToolCall]) -> tuple[ToolCall, ...]:
    """
    Calls that stand in completions only: one that another trace shows as executed is that execution.
    """
    executed = {(call.call_id, call.name) for call in calls if call.call_id}
    requests = (
        call for evidence in scored for call in evidence.embedded_calls if (call.call_id, call.name) not in executed
    )
    return tuple(sorted(requests, key=_by_start))


def _by_start(call: ToolCall) -> tuple[int, bytes, bytes]:
    return call.start_ns, call.span_id, call.trace_id


def _identity(call: ToolCall) -> SpanIdentity:
    return call.trace_id, call.span_id


def _join_linked(parts: Sequence[TracePart]) -> _Joined:
    """
    Rule W6 over all traces. Links that lead in a circle join all but one of it; nothing joins a fragment.
    """
    if not any(span.mcp_method and span.links for part in parts for span in part.tool_spans):
        return _Joined({})
    joined = _Joined({})
    for inner, outer in sorted(linked_calls([_as_trace(part) for part in parts]).items()):
        joined.join(inner, outer)
    scored = {part.trace_id for part in parts if part.evidence.shapes}
    return _Joined({inner: outer for inner, outer in joined.above.items() if joined.top(outer)[0] in scored})


def _as_trace(part: TracePart) -> CanonicalTrace:
    told = {span.span_id for span in part.tool_spans}
    calls = (
        CanonicalSpan(trace_id=call.trace_id, span_id=call.span_id, kind=SpanKind.TOOL, tool_name=call.name)
        for call in part.evidence.calls
        if call.span_id not in told
    )
    return CanonicalTrace(spans=(*part.tool_spans, *calls), shape=None)


def _all_requests_linked(session: SessionEvidence) -> bool:
    """
    Every request of the session can be followed: no trace was cut short, and no link leads to a trace not received.
    """
    if CoverageReason.EVIDENCE_RELEASED in session.reasons:
        return False
    received = {part.trace_id for part in session.parts}
    return all(
        CUT_SHORT.isdisjoint(part.evidence.coverage.reasons) and received.issuperset(part.linked_traces)
        for part in session.parts
    )


def _pooled_coverage(session: SessionEvidence) -> Coverage:
    """
    Complete only if the session and all its traces are.
    """
    coverages = [part.evidence.coverage for part in session.parts]
    reasons = session.reasons.union(*(coverage.reasons for coverage in coverages))
    is_declared = all(coverage.basis is CoverageBasis.DECLARED for coverage in coverages)
    return Coverage(tuple(sorted(reasons)), CoverageBasis.DECLARED if is_declared else CoverageBasis.INFERRED)
