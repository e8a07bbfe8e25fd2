"""
Results as OpenTelemetry signals: span attributes, `gen_ai.evaluation.result` events, evaluation spans.

Pure. Names and forms are those of design §9; nothing here ever holds arguments, results or message text.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from proto_adapters.canonical import Attributes, AttributeValue
from service.evaluation import Evaluation, Status
from service.evidence import Coverage, Partition, Trigger
from service.processor.delivery import Delivery, is_deliverable
from service.scoring.assessment import Assessment

PREFIX = "toolscore."
EVALUATION_PREFIX = "toolscore.evaluation."
EVENT_NAME = "gen_ai.evaluation.result"


def assessment_attributes(assessment: Assessment, trigger: Trigger, revision: int) -> dict[str, AttributeValue]:
    """
    What the root of an occurrence carries. Absent facts are left out.

    Where nothing resolves to an expectation these are the trigger and the coverage only (design §7).
    """
    attributes = _closing_attributes(trigger, assessment.evidence.coverage)
    evaluations = [evaluation for evaluation in assessment.evaluations if is_deliverable(evaluation)]
    if not evaluations:
        return attributes
    attributes["toolscore.partition"] = str(assessment.partition)
    attributes["toolscore.revision"] = revision
    attributes["toolscore.shape"] = "+".join(assessment.evidence.shapes)
    attributes.update(_expectation_attributes(evaluations))
    for evaluation in evaluations:
        attributes.update(evaluation_attributes(evaluation))
    return attributes


def early_attributes(assessment: Assessment) -> dict[str, AttributeValue]:
    """
    What events of early verdicts tell of their occurrence, which nothing has closed yet.
    """
    attributes = _coverage_attributes(assessment.evidence.coverage)
    attributes["toolscore.partition"] = str(assessment.partition)
    attributes["toolscore.shape"] = "+".join(assessment.evidence.shapes)
    return attributes | dict(_expectation_attributes(assessment.evaluations))


def session_attributes(assessment: Assessment) -> dict[str, AttributeValue]:
    """
    What events on a session tell beside that: which one it was, whatever the spans call their attribute.
    """
    session_id = assessment.trace.session_id
    if assessment.partition is not Partition.SESSION or session_id is None:
        return {}
    return {"gen_ai.conversation.id": session_id}


def _closing_attributes(trigger: Trigger, coverage: Coverage) -> dict[str, AttributeValue]:
    return {"toolscore.trigger": str(trigger), **_coverage_attributes(coverage)}


def _coverage_attributes(coverage: Coverage) -> dict[str, AttributeValue]:
    attributes: dict[str, AttributeValue] = {"toolscore.coverage": coverage.label}
    if coverage.reasons:
        attributes["toolscore.coverage_reasons"] = [str(reason) for reason in coverage.reasons]
    return attributes


def _expectation_attributes(evaluations: Iterable[Evaluation]) -> Iterator[tuple[str, AttributeValue]]:
    """
    Of the first evaluation that has an expectation; what is expected resolves once for an occurrence.
    """
    for evaluation in evaluations:
        if evaluation.expectation is not None and evaluation.expected_source is not None:
            yield "toolscore.expectation", evaluation.expectation
            yield "toolscore.expected_source", str(evaluation.expected_source)
            return


def late_attributes(attributes: Attributes) -> Attributes:
    """
    What a late span carries: why it left, and the revision it belongs to (design §9).
    """
    revision = attributes.get("toolscore.revision")
    return _late_attributes(revision if isinstance(revision, int) else None)


@lru_cache(maxsize=256)
def _late_attributes(revision: int | None) -> Attributes:
    """
    One mapping for all traces of a revision: the decision cache keeps one for each trace.
    """
    late: dict[str, AttributeValue] = {"toolscore.trigger": str(Trigger.LATE_SPAN)}
    return late if revision is None else late | {"toolscore.revision": revision}


_VERDICT_KEYS = (".score", ".label", ".status", ".reason")


def stamp_attributes(attributes: Attributes) -> Attributes:
    """
    What a late span is marked with under `late_spans.action: stamp`: as `late_attributes`, and the old verdict.
    """
    revision = attributes.get("toolscore.revision")
    verdict = (
        (key, value)
        for key, value in attributes.items()
        if key.startswith("toolscore.evaluation.") and key.endswith(_VERDICT_KEYS)
    )
    return _stamp(revision if isinstance(revision, int) else None, tuple(verdict))


@lru_cache(maxsize=4096)
def _stamp(revision: int | None, verdict: tuple[tuple[str, AttributeValue], ...]) -> Attributes:
    """
    One mapping for all traces of the same verdict: the decision cache keeps one for each trace.
    """
    return {**_late_attributes(revision), **dict(verdict)}


def evaluation_attributes(evaluation: Evaluation) -> dict[str, AttributeValue]:
    """
    One evaluation as span attributes `toolscore.evaluation.<name>.*`.
    """
    base = f"{EVALUATION_PREFIX}{evaluation.name}."
    facts: dict[str, AttributeValue] = {
        "score": evaluation.score,
        "label": None if evaluation.label is None else str(evaluation.label),
        "status": str(evaluation.status),
        "reason": None if evaluation.reason is None else str(evaluation.reason),
        "missing": list(evaluation.missing) or None,
        "lower": None if evaluation.bounds is None else evaluation.bounds.lower,
        "upper": None if evaluation.bounds is None else evaluation.bounds.upper,
    }
    return {base + key: value for key, value in facts.items() if value is not None}


def event_attributes(delivery: Delivery, facts: Mapping[str, AttributeValue]) -> dict[str, AttributeValue]:
    """
    The attributes of the `gen_ai.evaluation.result` event of one delivery; *facts* are the occurrence's.
    """
    evaluation = delivery.evaluation
    attributes: dict[str, AttributeValue] = {"gen_ai.evaluation.name": evaluation.name}
    if evaluation.score is not None:
        attributes["gen_ai.evaluation.score.value"] = evaluation.score
    if evaluation.label is not None:
        attributes["gen_ai.evaluation.score.label"] = str(evaluation.label)
    if evaluation.explanation:
        attributes["gen_ai.evaluation.explanation"] = evaluation.explanation
    if evaluation.status is Status.FAILED and evaluation.reason is not None:
        attributes["error.type"] = str(evaluation.reason)
    attributes.update((key, value) for key, value in facts.items() if not key.startswith(EVALUATION_PREFIX))
    attributes.update(evaluation_attributes(evaluation))
    attributes["toolscore.revision"] = delivery.revision
    attributes["toolscore.final"] = delivery.is_final
    attributes["toolscore.evaluation.version"] = evaluation.version
    attributes["toolscore.evaluation.identifier"] = evaluation.identifier
    attributes["toolscore.idempotency_id"] = delivery.idempotency_id
    return attributes
