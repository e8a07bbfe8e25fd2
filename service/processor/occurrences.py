"""
The occurrences of a trace that close: each with its assessment, and with the spans that leave with it.

Nothing here has an effect outside: what is planned is carried out by `closing`. With the usual root conditions a trace
is one occurrence; with attribute roots every outermost matching span is one, with its subtree (design §5).
"""

from collections.abc import Container, Sequence

from msgspec import Struct

from proto_adapters.canonical import CanonicalSpan
from proto_adapters.split import SpanHead, read_head
from service.buffer.trace_buffer import BufferedTrace, ReadSpan
from service.evaluation import DeliveryHistory
from service.evidence import CoverageReason, Trigger
from service.root_condition import RootCondition, find_roots, owners
from service.scoring.assessment import Assessment, Assessor
from service.scoring.evidence import ClosingFacts

WHOLE_TRACE = b""
"""The occurrence that is not named by an attribute root."""

LIMIT_REASONS = {
    Trigger.SPAN_LIMIT: CoverageReason.SPAN_LIMIT,
    Trigger.SIZE_LIMIT: CoverageReason.SIZE_LIMIT,
    Trigger.EVICTION: CoverageReason.EVICTED,
}


class ClosingOccurrence(Struct, frozen=True, eq=False):
    """
    One occurrence about to be delivered.
    """

    assessment: Assessment
    trigger: Trigger
    leaving: list[ReadSpan]
    history: DeliveryHistory


class ClosingPlan(Struct, frozen=True, eq=False):
    """
    All that a closing does: what is delivered, what waits on, and what leaves outside of any occurrence.
    """

    occurrences: list[ClosingOccurrence]
    waiting: Sequence[ReadSpan] = ()
    outside: Sequence[ReadSpan] = ()


class Planner:
    """
    Plans closings under one root condition.
    """

    def __init__(self, assessor: Assessor, condition: RootCondition, *, process_start_ns: int) -> None:
        self._assessor = assessor
        self._condition = condition
        self._process_start_ns = process_start_ns

    def plan(self, trace: BufferedTrace, trigger: Trigger, leaving: list[ReadSpan]) -> ClosingPlan:
        """
        What closes of *trace*, whose spans *leaving* have been read and have not left.
        """
        if not self._condition.attributes:
            return ClosingPlan([self._whole(trace, trigger, leaving)])
        roots = find_roots(list(trace.evidence.spans.values()), self._condition)
        if roots or trace.histories:
            return self._subtrees(trace, trigger, leaving, roots)
        if trigger is Trigger.ROOT_SPAN:
            return ClosingPlan([], waiting=leaving)
        return ClosingPlan([self._whole(trace, trigger, leaving)])

    def _whole(self, trace: BufferedTrace, trigger: Trigger, leaving: list[ReadSpan]) -> ClosingOccurrence:
        evidence = trace.evidence
        closed_by_root = Trigger.ROOT_SPAN in {trigger, trace.closed_by}
        facts = self._facts(trace, set(), closed_by_root=closed_by_root)
        spans = list(evidence.spans.values())
        assessment = self._assessor.assess(trace.trace_id, spans, evidence.logs, facts)
        return ClosingOccurrence(assessment, trigger, leaving, trace.history_of(WHOLE_TRACE))

    def _subtrees(
        self, trace: BufferedTrace, trigger: Trigger, leaving: list[ReadSpan], roots: Sequence[CanonicalSpan]
    ) -> ClosingPlan:
        by_owner = _by_owner(trace, leaving, roots)
        rest = by_owner.pop(None, [])
        occurrences = [
            self._subtree(trace, root, trigger, by_owner.get(root.span_id, []))
            for root in roots
            if root.span_id in by_owner or root.span_id not in trace.histories or trace.has_news
        ]
        if trigger is Trigger.ROOT_SPAN:
            return ClosingPlan(occurrences, waiting=rest)
        return ClosingPlan(occurrences, outside=rest)

    def _subtree(
        self, trace: BufferedTrace, root: CanonicalSpan, trigger: Trigger, leaving: list[ReadSpan]
    ) -> ClosingOccurrence:
        """
        An occurrence that was delivered before is revised: a span that came for it is late.
        """
        is_late = root.span_id in trace.histories
        has_late_span = root.span_id in trace.late_roots or (is_late and bool(leaving))
        late = {CoverageReason.LATE_SPAN} if has_late_span else set()
        facts = self._facts(trace, late, closed_by_root=is_late or trigger is Trigger.ROOT_SPAN)
        evidence = trace.evidence
        assessment = self._assessor.assess_subtree(root, list(evidence.spans.values()), evidence.logs, facts)
        trigger = Trigger.LATE_SPAN if is_late else trigger
        return ClosingOccurrence(assessment, trigger, leaving, trace.history_of(root.span_id))

    def _facts(self, trace: BufferedTrace, extra: set[CoverageReason], *, closed_by_root: bool) -> ClosingFacts:
        reasons = trace.facts | extra
        if trace.evidence.has_undecodable_spans:
            reasons.add(CoverageReason.SPAN_UNDECODABLE)
        if trace.evidence.has_conflicts:
            reasons.add(CoverageReason.CONFLICTING_SPAN_IDENTITY)
        return ClosingFacts(
            closed_by_root=closed_by_root,
            reasons=frozenset(reasons),
            process_start_ns=self._process_start_ns,
            replicas_since_ns=trace.replicas_since_ns,
        )


def _by_owner(
    trace: BufferedTrace, leaving: Sequence[ReadSpan], roots: Sequence[CanonicalSpan]
) -> dict[bytes | None, list[ReadSpan]]:
    owner_of = owners(roots, trace.evidence.spans.values())
    by_owner: dict[bytes | None, list[ReadSpan]] = {}
    for span in leaving:
        owner = owner_of.get(span.canonical.span_id) if span.canonical else None
        by_owner.setdefault(owner, []).append(span)
    return by_owner


def still_has_root(trace: BufferedTrace, condition: RootCondition) -> bool:
    """
    The condition is checked again when the delay ends: a span whose parent is held is no root (design §5).
    """
    if not condition.accept_remote_parent:
        return True
    heads: list[SpanHead] = [
        head for spans in trace.held.values() for head in map(read_head, spans) if head is not None
    ]
    known = trace.evidence.spans
    held = {head.span_id for head in heads} | known.keys()
    return any(_is_ended_root(span, held, condition) for spans in (heads, known.values()) for span in spans)


def _is_ended_root(span: SpanHead | CanonicalSpan, held: Container[bytes], condition: RootCondition) -> bool:
    return (
        span.has_ended
        and span.parent_span_id not in held
        and condition.allows(span.parent_span_id, otel_kind=span.otel_kind, has_remote_parent=span.has_remote_parent)
    )
