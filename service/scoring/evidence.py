"""
Evidence of one trace: from assembled canonical spans and closing facts to `ToolEvidence`.

Pure: no clock, no I/O. Coverage follows design §5: it is complete only if no reason of the closed set applies.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from proto_adapters.canonical import (
    CanonicalSpan,
    CanonicalTrace,
    Problem,
    Shape,
    SpanKind,
    ToolCall,
)
from service.evidence import Coverage, CoverageBasis, CoverageReason, ToolEvidence
from service.root_condition import PARENT_EMPTY, RootCondition, find_roots, reachable_from

MILLISECOND_NS = 1_000_000

MAY_HIDE_A_TOOL = frozenset({SpanKind.TOOL, SpanKind.LLM, SpanKind.UNKNOWN})
"""Kinds on which a dropped attribute may have been the one that names a tool call."""


class ClosingFacts(Struct, frozen=True):
    """
    What the buffer knows of a closing and the spans cannot tell.

    `reasons` are the coverage reasons that come from the buffer itself: limits, eviction, refusals, late spans,
    re-opening, membership, conflicting identities, undecodable spans. `process_start_ns` is 0 where a restart cannot
    matter (a journal bridges it, or a replay). `replicas_since_ns` is when the set of replicas last changed before the
    first span came; 0 if it never did.
    """

    closed_by_root: bool = True
    reasons: frozenset[CoverageReason] = frozenset()
    process_start_ns: int = 0
    replicas_since_ns: int = 0


class EvidenceSettings(Struct, frozen=True):
    """
    How evidence is read. `restart_window_ns` is the `trace_timeout`.
    """

    root_condition: RootCondition = PARENT_EMPTY
    completeness_attribute: str | None = None
    resolution_ns: int = MILLISECOND_NS
    """`timestamp_resolution`: starts divisible by it were cut to it, so the true end may be this much later. 0: off."""
    order_from_embedded_calls: bool = False
    restart_window_ns: int = 0


DEFAULT_SETTINGS = EvidenceSettings()


def build_evidence(
    trace: CanonicalTrace, facts: ClosingFacts, settings: EvidenceSettings = DEFAULT_SETTINGS
) -> ToolEvidence:
    """
    The evidence of one trace or attribute-root subtree, with its coverage.
    """
    calls = tuple(_with_resolution(call, settings) for call in trace.calls)
    embedded = tuple(_embedded_calls(trace, settings))
    seen = calls if trace.shape is Shape.TOOL_SPANS else embedded
    return ToolEvidence(
        shapes=(trace.shape,) if trace.shape and not trace.server_only else (),
        calls=calls,
        called_names=trace.called_names,
        embedded_calls=embedded if trace.shape is Shape.LLM_EMBEDDED else (),
        nameless_calls=trace.nameless_calls,
        requested_names=tuple(_requested_names(trace)),
        has_tool_evidence=_has_tool_evidence(trace),
        observed_call_count=sum(1 for call in seen if not call.control_tool),
        coverage=coverage_of(trace, facts, settings),
        resolution_ns=max((call.end_slack_ns for call in calls), default=0),
    )


def _with_resolution(call: ToolCall, settings: EvidenceSettings) -> ToolCall:
    """
    A start cut to whole milliseconds means that the true end is up to 1 ms later (design §6.2).
    """
    if not settings.resolution_ns or call.start_ns % settings.resolution_ns:
        return call
    return replace(call, end_slack_ns=settings.resolution_ns)


def _has_tool_evidence(trace: CanonicalTrace) -> bool:
    """
    Tools would have been seen: at least one TOOL span, or LLM spans that can all be read (design §5).
    """
    if trace.shape is Shape.TOOL_SPANS:
        return True
    return trace.shape is Shape.LLM_EMBEDDED and not any(_hidden_completions(trace))


def _hidden_completions(trace: CanonicalTrace) -> Iterator[CanonicalSpan]:
    for span in trace.spans:
        if span.kind is SpanKind.LLM and span.duplicate_of is None and not span.completion.is_readable:
            yield span


def _embedded_calls(trace: CanonicalTrace, settings: EvidenceSettings) -> Iterator[ToolCall]:
    """
    Calls asked for in completions. Each spans from its request to the span that carries its result (design §6.2).
    """
    results = _result_starts(trace.spans) if settings.order_from_embedded_calls else {}
    for span, call in trace.embedded:
        yield ToolCall(
            name=call.name,
            trace_id=span.trace_id,
            span_id=span.span_id,
            start_ns=span.start_ns,
            end_ns=_first_after(results.get(call.call_id or "", ()), span.start_ns),
            call_id=call.call_id,
            control_tool=call.control_tool,
            arguments=call.arguments,
            result_ids=span.result_call_ids if settings.order_from_embedded_calls else (),
            shape=Shape.LLM_EMBEDDED,
        )


def _requested_names(trace: CanonicalTrace) -> Iterator[str]:
    """
    The name of each request that its id tells from others; of requests without ids, each name once.
    """
    named: set[str] = set()
    for _, call in trace.embedded:
        if call.call_id or call.name not in named:
            named.add(call.name)
            yield call.name


def _result_starts(spans: Iterable[CanonicalSpan]) -> dict[str, list[int]]:
    """
    Call id -> starts of the LLM spans whose input holds the result of that call, ascending.
    """
    starts: dict[str, list[int]] = {}
    for span in spans:
        for call_id in span.result_call_ids:
            starts.setdefault(call_id, []).append(span.start_ns)
    return starts


def _first_after(starts: Iterable[int], request_ns: int) -> int | None:
    return min((start for start in starts if start > request_ns), default=None)


def coverage_of(trace: CanonicalTrace, facts: ClosingFacts, settings: EvidenceSettings = DEFAULT_SETTINGS) -> Coverage:
    """
    The coverage of one trace: every reason that applies, sorted.
    """
    reasons = set(facts.reasons)
    reasons.update(_structure_reasons(trace.spans, facts, settings.root_condition))
    reasons.update(_span_reasons(trace))
    reasons.update(_restart_reasons(trace.spans, facts, settings))
    return Coverage(reasons=tuple(sorted(reasons)), basis=_basis(trace.spans, settings))


def _structure_reasons(
    spans: Sequence[CanonicalSpan], facts: ClosingFacts, condition: RootCondition
) -> Iterator[CoverageReason]:
    roots = find_roots(spans, condition)
    if not facts.closed_by_root:
        yield CoverageReason.NOT_CLOSED_BY_ROOT
    if not roots:
        yield CoverageReason.NO_ROOT
    if len(roots) > 1:
        yield CoverageReason.MANY_ROOTS
    if len(reachable_from(roots, spans)) < len(spans):
        yield CoverageReason.MISSING_PARENT


def _span_reasons(trace: CanonicalTrace) -> Iterator[CoverageReason]:
    if trace.nameless_calls:
        yield CoverageReason.TOOL_NAME_MISSING
    if trace.shape is Shape.LLM_EMBEDDED and any(_hidden_completions(trace)):
        yield CoverageReason.COMPLETION_HIDDEN
    for span in trace.spans:
        yield from _reasons_of(span)


def _reasons_of(span: CanonicalSpan) -> Iterator[CoverageReason]:
    if not span.has_valid_time:
        yield CoverageReason.SPAN_TIME_INVALID
    elif not span.has_ended:
        yield CoverageReason.SPAN_UNFINISHED
    if span.dropped_attributes_count and span.kind in MAY_HIDE_A_TOOL:
        yield CoverageReason.ATTRIBUTES_DROPPED
    if span.dropped_events_count and _may_hide_calls_in_events(span):
        yield CoverageReason.ATTRIBUTES_DROPPED
    if span.problems and span.duplicate_of is None:
        yield from _problem_reasons(span.problems)


def _may_hide_calls_in_events(span: CanonicalSpan) -> bool:
    return span.kind is SpanKind.LLM and not span.embedded_calls


def _problem_reasons(problems: Iterable[Problem]) -> Iterator[CoverageReason]:
    for problem in problems:
        if problem is Problem.TOOL_NAME_CONFLICT:
            yield CoverageReason.TOOL_NAME_CONFLICT
        elif problem is Problem.SPAN_UNDECODABLE:
            yield CoverageReason.SPAN_UNDECODABLE


def _restart_reasons(
    spans: Sequence[CanonicalSpan], facts: ClosingFacts, settings: EvidenceSettings
) -> Iterator[CoverageReason]:
    """
    The trace may have been open when this process started, and spans of it may have been lost with the last one; or
    when the set of replicas changed, and spans of it may have gone to another one.
    """
    if not spans:
        return
    earliest = min(span.start_ns for span in spans)
    latest = max(span.end_ns or span.start_ns for span in spans)
    for moment_ns, reason in (
        (facts.process_start_ns, CoverageReason.RESTARTED),
        (facts.replicas_since_ns, CoverageReason.MEMBERSHIP_CHANGED),
    ):
        if moment_ns and earliest < moment_ns and latest > moment_ns - settings.restart_window_ns:
            yield reason


def _basis(spans: Sequence[CanonicalSpan], settings: EvidenceSettings) -> CoverageBasis:
    key = settings.completeness_attribute
    if key is None:
        return CoverageBasis.INFERRED
    declared = any(root.selected.get(key) is True for root in find_roots(spans, settings.root_condition))
    return CoverageBasis.DECLARED if declared else CoverageBasis.INFERRED
