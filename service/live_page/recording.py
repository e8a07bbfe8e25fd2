"""
From a closing to what the live page holds of it.

Pure. Every text that a sender chose passes `shown` here, once, so that pages and JSON can show all that is held.
"""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import islice

from proto_adapters.canonical import CanonicalSpan, Shape, SpanKind, ToolCall
from service.conditions import ToolsCalledInOrder, ToolsCalledInPartialOrder, walk
from service.evaluation import Evaluation
from service.evidence import Partition
from service.live_page.record import (
    MAX_CLOSINGS,
    Closing,
    Detail,
    OrderQuestion,
    Outcome,
    ShownCall,
    ShownEmbeddedCall,
    ShownSpan,
    Summary,
    shown,
    shown_names,
)
from service.processor.delivery import Delivery
from service.processor.outputs import Scored
from service.replay.explanation import seen_calls
from service.scoring.assessment import Assessment
from service.scoring.calls import find_calls
from service.scoring.order_leaves import OrderCondition, pairs_of, tolerance_of
from service.scoring.settings import ScoringSettings

MAX_SPANS = 500
MAX_CALLS = 300
MAX_QUESTIONS = 8
MAX_EMBEDDED_CALLS = 20


def token_of(assessment: Assessment) -> str:
    """
    The name of the occurrence in addresses: its ids, or a digest of a session's key.
    """
    if assessment.partition is Partition.SESSION:
        return "session-" + sha256(assessment.occurrence.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return assessment.occurrence.replace("/", "-")


def summary_of(scored: Scored, now_ns: int) -> Summary:
    """
    The occurrence as the list shows it.
    """
    assessment = scored.assessment
    coverage = assessment.evidence.coverage
    origin = assessment.root.origin if assessment.root else None
    outcomes = [_outcome(evaluation, scored) for evaluation in assessment.evaluations]
    return Summary(
        token=token_of(assessment),
        partition=str(assessment.partition),
        occurrence=shown(assessment.occurrence),
        closed_ns=now_ns,
        service=shown(origin.service_name) if origin else "",
        agent=shown(assessment.agent_name or ""),
        expectation=next((outcome.expectation for outcome in outcomes if outcome.expectation), ""),
        trigger=str(scored.trigger),
        coverage=coverage.label,
        reasons=[str(reason) for reason in coverage.reasons],
        revision=scored.revision,
        is_provisional=_is_provisional(scored),
        shapes=[str(shape) for shape in assessment.evidence.shapes],
        called=shown_names(call.name for call in seen_calls(assessment.evidence)),
        missing=list(dict.fromkeys(name for outcome in outcomes for name in outcome.missing)),
        outcomes=outcomes,
    )


def _is_provisional(scored: Scored) -> bool:
    if scored.deliveries:
        return not scored.deliveries[0].is_final
    return scored.trigger.is_provisional


def _outcome(evaluation: Evaluation, scored: Scored) -> Outcome:
    revision = scored.revisions.get(evaluation.name)
    bounds = evaluation.bounds
    return Outcome(
        name=evaluation.name,
        type=evaluation.type,
        status=str(evaluation.status),
        score=evaluation.score,
        label=None if evaluation.label is None else str(evaluation.label),
        reason=None if evaluation.reason is None else str(evaluation.reason),
        lower=bounds.lower if bounds else None,
        upper=bounds.upper if bounds else None,
        expected=shown_names(evaluation.expected),
        called=shown_names(evaluation.called),
        missing=shown_names(evaluation.missing),
        requested_not_executed=shown_names(evaluation.requested_not_executed),
        explanation=shown(evaluation.explanation),
        expectation=None if evaluation.expectation is None else shown(evaluation.expectation),
        expected_source=None if evaluation.expected_source is None else str(evaluation.expected_source),
        from_embedded_calls=evaluation.from_embedded_calls,
        identifier=evaluation.identifier,
        revision=revision,
        idempotency_id=None if revision is None else _idempotency_id(evaluation, scored, revision),
    )


def _idempotency_id(evaluation: Evaluation, scored: Scored, revision: int) -> str:
    assessment = scored.assessment
    return Delivery(
        evaluation=evaluation,
        coverage=assessment.evidence.coverage,
        partition=assessment.partition,
        occurrence=assessment.occurrence,
        trigger=scored.trigger,
        revision=revision,
    ).idempotency_id


def detail_of(scored: Scored, summary: Summary, settings: ScoringSettings, before: Detail | None) -> Detail:
    """
    The rest of what is held; *before* is what an earlier closing of the same occurrence left.
    """
    assessment = scored.assessment
    evidence = assessment.evidence
    calls = seen_calls(evidence)[:MAX_CALLS]
    return Detail(
        calls=[_call(call, calls) for call in calls],
        questions=list(islice(_questions(assessment, calls, settings), MAX_QUESTIONS)),
        spans=_spans(assessment.trace.spans[:MAX_SPANS], before),
        span_count=len(assessment.trace.spans),
        call_count=len(seen_calls(evidence)),
        root_span_id=assessment.root.span_id.hex() if assessment.root and assessment.facts.has_root else None,
        basis=str(evidence.coverage.basis),
        session_id=None if assessment.trace.session_id is None else shown(assessment.trace.session_id),
        resolution_ns=evidence.resolution_ns,
        nameless_calls=evidence.nameless_calls,
        closing_count=1 + (before.closing_count if before else 0),
        closings=[*(before.closings if before else ()), _closing(summary)][-MAX_CLOSINGS:],
    )


def _closing(summary: Summary) -> Closing:
    return Closing(
        closed_ns=summary.closed_ns,
        trigger=summary.trigger,
        coverage=summary.coverage,
        reasons=summary.reasons,
        is_provisional=summary.is_provisional,
        verdicts=[(outcome.name, _brief(outcome), outcome.revision) for outcome in summary.outcomes],
    )


def _brief(outcome: Outcome) -> str:
    if outcome.label is not None or outcome.score is None:
        return outcome.verdict
    return f"{outcome.score:.2f}"


def _call(call: ToolCall, calls: Sequence[ToolCall]) -> ShownCall:
    is_requested = call.shape is Shape.LLM_EMBEDDED
    results = set(call.result_ids)
    return ShownCall(
        name=shown(call.name),
        trace_id=call.trace_id.hex(),
        span_id=call.span_id.hex(),
        start_ns=call.start_ns,
        end_ns=call.end_ns,
        slack_ns=call.end_slack_ns,
        status=str(call.status),
        is_control=call.control_tool,
        is_synthetic=not call.order_evidence,
        is_requested=is_requested,
        after=[position for position, other in enumerate(calls) if other.call_id in results] if results else [],
    )


def _questions(assessment: Assessment, calls: Sequence[ToolCall], settings: ScoringSettings) -> Iterator[OrderQuestion]:
    resolved = assessment.resolution.conditions
    for condition in resolved.conditions if resolved else ():
        for node in walk(condition):
            if isinstance(node, ToolsCalledInOrder | ToolsCalledInPartialOrder):
                yield _question(node, calls, settings)


def _question(condition: OrderCondition, calls: Sequence[ToolCall], settings: ScoringSettings) -> OrderQuestion:
    found = find_calls(condition.tools, calls, condition.name_matching, with_aliases=settings.tool_name_aliases)
    positions = {id(call): position for position, call in enumerate(calls)}
    return OrderQuestion(
        name=condition.evaluation_name,
        tools=[shown(tool.name) for tool in condition.tools],
        pairs=list(pairs_of(condition)),
        tolerance_ns=tolerance_of(condition, settings),
        attempts=[[positions[id(call)] for call in each.certain] for each in found],
        uncertain=[[positions[id(call)] for call in each.uncertain] for each in found],
    )


def _spans(spans: Sequence[CanonicalSpan], before: Detail | None) -> list[ShownSpan]:
    seen = {span.span_id: span.closing for span in before.spans} if before else {}
    closing = before.closing_count if before else 0
    return [_span(span, seen.get(span.span_id.hex(), closing)) for span in spans]


def _span(span: CanonicalSpan, closing: int) -> ShownSpan:
    return ShownSpan(
        span_id=span.span_id.hex(),
        parent_span_id=span.parent_span_id.hex() if span.parent_span_id else None,
        name=shown(span.name),
        kind=str(span.kind),
        kind_rule=shown(span.kind_rule),
        dialects=list(span.dialects),
        start_ns=span.start_ns,
        end_ns=span.end_ns,
        status=str(span.status),
        tool_name=None if span.tool_name is None else shown(span.tool_name),
        tool_name_key=None if span.tool_name_key is None else shown(span.tool_name_key),
        duplicate_of=span.duplicate_of.hex() if span.duplicate_of else None,
        duplicate_rule=span.duplicate_rule,
        executed=span.executed,
        completion=str(span.completion) if span.kind is SpanKind.LLM else None,
        embedded_calls=[
            ShownEmbeddedCall(shown(call.name), None if call.call_id is None else shown(call.call_id), call.source)
            for call in span.embedded_calls[:MAX_EMBEDDED_CALLS]
        ],
        problems=[str(problem) for problem in span.problems],
        closing=closing,
    )
