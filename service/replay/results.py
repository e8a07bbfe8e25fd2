"""
What replay says: one result for each evaluation of each closing, in the form of `replay --json` (design §14).

Values and pure functions only.
"""

from collections.abc import Iterator

import msgspec
from msgspec import Struct

from service.evaluation import Evaluation, Reason, Status, Verdict
from service.evidence import CoverageReason, Partition, Trigger
from service.evidence_store.contents import evidence_of, facts_of
from service.evidence_store.documents import EvidenceDocument
from service.processor.delivery import Delivery
from service.scoring.assessment import Assessment, Assessor

_encoder = msgspec.json.Encoder()


class ReplayLine(Struct, frozen=True, kw_only=True):
    """
    One line of `replay --json`.
    """

    partition: Partition
    occurrence: str
    evaluation: str
    expectation: str | None
    status: Status
    score: float | None
    label: Verdict | None
    lower: float | None
    upper: float | None
    missing: tuple[str, ...]
    coverage: str
    reasons: tuple[CoverageReason, ...]
    """Of the coverage."""
    trigger: Trigger
    revision: int
    idempotency_id: str

    def to_json(self) -> str:
        return _encoder.encode(self).decode()


class ReplayResult(Struct, frozen=True):
    """
    A line, and what people are told beside it.
    """

    line: ReplayLine
    reason: Reason | None = None
    """Why there is no number or no verdict."""
    explanation: str = ""
    is_superseded: bool = False
    """A later closing of the same occurrence is among the stored evidence."""


def results_of_trace(assessment: Assessment, trigger: Trigger) -> Iterator[ReplayResult]:
    """
    The results of a trace read from its spans: always a first delivery.
    """
    for evaluation in assessment.evaluations:
        delivery = Delivery(
            evaluation=evaluation,
            coverage=assessment.evidence.coverage,
            partition=assessment.partition,
            occurrence=assessment.occurrence,
            trigger=trigger,
        )
        yield _result(delivery, trigger)


def results_of_document(
    document: EvidenceDocument, assessor: Assessor, *, is_superseded: bool
) -> Iterator[ReplayResult]:
    """
    The results of stored evidence. To a question that was asked when it was stored, the revision of then belongs.
    """
    evidence = evidence_of(document)
    evaluations = assessor.rescore(evidence, facts_of(document), has_embedded_order=document.order_from_embedded_calls)
    revisions = {(each.evaluation, each.identifier, each.expectation): each.revision for each in document.results}
    for evaluation in evaluations:
        key = evaluation.name, evaluation.identifier, evaluation.expectation
        delivery = Delivery(
            evaluation=evaluation,
            coverage=evidence.coverage,
            partition=document.partition,
            occurrence=document.occurrence,
            trigger=document.trigger,
            revision=revisions.get(key, 0),
        )
        yield _result(delivery, document.trigger, is_superseded=is_superseded)


def _result(delivery: Delivery, trigger: Trigger, *, is_superseded: bool = False) -> ReplayResult:
    evaluation = delivery.evaluation
    line = ReplayLine(
        partition=delivery.partition,
        occurrence=delivery.occurrence,
        evaluation=evaluation.name,
        expectation=evaluation.expectation,
        status=evaluation.status,
        score=evaluation.score,
        label=evaluation.label,
        lower=_lower(evaluation),
        upper=_upper(evaluation),
        missing=evaluation.missing,
        coverage=delivery.coverage.label,
        reasons=delivery.coverage.reasons,
        trigger=trigger,
        revision=delivery.revision,
        idempotency_id=delivery.idempotency_id,
    )
    return ReplayResult(line, evaluation.reason, evaluation.explanation, is_superseded)


def _lower(evaluation: Evaluation) -> float | None:
    return evaluation.bounds.lower if evaluation.bounds else None


def _upper(evaluation: Evaluation) -> float | None:
    return evaluation.bounds.upper if evaluation.bounds else None
