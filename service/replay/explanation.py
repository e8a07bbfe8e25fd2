"""
Explanations: how spans were read, as plain values for tables, JSON lines and the live page (design §14).
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from proto_adapters.canonical import CanonicalSpan, SpanKind, ToolCall
from service.evidence import ToolEvidence
from service.replay.traces import RecordedTrace, assess
from service.root_condition import RootCondition, by_start
from service.scoring.assessment import Assessment, Assessor

SpanNames = Mapping[tuple[bytes, bytes], str]
"""Trace id and span id -> the span's name, of spans of which only the header was read."""
NO_NAMES: Final[SpanNames] = MappingProxyType({})


class ExplainedCall(Struct, frozen=True):
    """
    A call embedded in a completion.
    """

    name: str
    call_id: str | None
    source: str


class ExplainedSpan(Struct, frozen=True, kw_only=True, tag="span"):
    """
    How one span was read. Ids in hex.
    """

    file: str
    trace_id: str
    span_id: str
    parent_span_id: str | None
    name: str
    kind: str
    kind_rule: str
    dialects: list[str]
    tool_name: str | None
    tool_name_key: str | None
    duplicate_of: str | None
    duplicate_rule: str | None
    executed: bool | None
    embedded_calls: list[ExplainedCall]
    completion: str | None
    """Of LLM spans only."""
    problems: list[str]


class ScoredCall(Struct, frozen=True, kw_only=True):
    """
    A call as the scorers see it. Times in Unix nanoseconds.
    """

    name: str
    start_ns: int
    end_ns: int | None
    status: str
    control_tool: bool


class ExplainedTrace(Struct, frozen=True, kw_only=True, tag="trace"):
    """
    What the scorers see of one trace. A fragment that only MCP servers wrote is not scored (reference §5.5).
    """

    file: str
    trace_id: str
    session_id: str | None
    shape: str | None
    server_only: bool
    calls: list[ScoredCall]
    coverage: str
    reasons: list[str] = field(default_factory=list)


def explain_trace(
    trace: RecordedTrace, assessor: Assessor, condition: RootCondition, *, file: str, names: SpanNames = NO_NAMES
) -> tuple[list[ExplainedSpan], ExplainedTrace]:
    """
    Every span of a recorded trace, and the trace.
    """
    assessment, _ = assess(trace, assessor, condition)
    spans = sorted([*assessment.trace.spans, *_announcements(trace, assessment.trace.spans)], key=by_start)
    named = (replace(span, name=span.name or names.get((span.trace_id, span.span_id), "")) for span in spans)
    return [explain_span(span, file=file) for span in named], _explained(assessment, trace.trace_id, file)


def _announcements(trace: RecordedTrace, told: Sequence[CanonicalSpan]) -> Iterator[CanonicalSpan]:
    """
    Pending spans, which stand for another span and for nothing of their own: ignored (X2), or replaced by it (X3).
    """
    shown = {span.span_id for span in told}
    real = {span.span_id for span in told if not span.pending}
    for span in trace.spans:
        if span.pending and span.span_id not in shown:
            rule = "X2" if span.pending_for in real else "X3"
            yield CanonicalSpan(
                trace_id=span.trace_id,
                span_id=span.span_id,
                parent_span_id=span.pending_for,
                name=span.name,
                dialects=span.dialects,
                kind_rule=rule,
                start_ns=span.start_ns,
            )


def explain_span(span: CanonicalSpan, *, file: str = "") -> ExplainedSpan:
    """
    How one canonical span was read.
    """
    return ExplainedSpan(
        file=file,
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_span_id=span.parent_span_id.hex() if span.parent_span_id else None,
        name=span.name,
        kind=span.kind,
        kind_rule=span.kind_rule,
        dialects=list(span.dialects),
        tool_name=span.tool_name,
        tool_name_key=span.tool_name_key,
        duplicate_of=span.duplicate_of.hex() if span.duplicate_of else None,
        duplicate_rule=span.duplicate_rule,
        executed=span.executed,
        embedded_calls=[ExplainedCall(call.name, call.call_id, call.source) for call in span.embedded_calls],
        completion=span.completion if span.kind is SpanKind.LLM else None,
        problems=list(span.problems),
    )


def _explained(assessment: Assessment, trace_id: bytes, file: str) -> ExplainedTrace:
    trace, evidence = assessment.trace, assessment.evidence
    return ExplainedTrace(
        file=file,
        trace_id=trace_id.hex(),
        session_id=trace.session_id,
        shape=None if trace.server_only else trace.shape,
        server_only=trace.server_only,
        calls=[] if trace.server_only else [_scored(call) for call in seen_calls(evidence)],
        coverage=evidence.coverage.label,
        reasons=list(evidence.coverage.reasons),
    )


def seen_calls(evidence: ToolEvidence) -> tuple[ToolCall, ...]:
    """
    Executed calls, or the embedded ones where the trace has no TOOL span.
    """
    return evidence.calls or evidence.embedded_calls


def _scored(call: ToolCall) -> ScoredCall:
    return ScoredCall(
        name=call.name,
        start_ns=call.start_ns,
        end_ns=call.end_ns,
        status=call.status,
        control_tool=call.control_tool,
    )
