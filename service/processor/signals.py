"""
Results as OpenTelemetry signals: span attributes, `gen_ai.evaluation.result` events, evaluation spans.

Pure. Names and forms are those of design §9; nothing here ever holds arguments, results or message text.
"""

from collections.abc import Iterable, Mapping

from proto_adapters.canonical import AttributeValue
from service.evaluation import Evaluation, ExpectedSource, Status
from service.evidence import Coverage, Partition, Trigger
from service.processor.delivery import Delivery

PREFIX = "toolscore."
EVENT_NAME = "gen_ai.evaluation.result"


def occurrence_attributes(
    *,
    trigger: Trigger,
    coverage: Coverage,
    shapes: Iterable[str],
    partition: Partition,
    revision: int,
    expectation: str | None,
    expected_source: ExpectedSource | None,
) -> dict[str, AttributeValue]:
    """
    What is said once of an occurrence. Absent facts are left out.
    """
    attributes: dict[str, AttributeValue] = {
        "toolscore.trigger": str(trigger),
        "toolscore.coverage": coverage.label,
        "toolscore.partition": str(partition),
        "toolscore.revision": revision,
    }
    if coverage.reasons:
        attributes["toolscore.coverage_reasons"] = [str(reason) for reason in coverage.reasons]
    if shape := "+".join(shapes):
        attributes["toolscore.shape"] = shape
    if expectation is not None:
        attributes["toolscore.expectation"] = expectation
    if expected_source is not None:
        attributes["toolscore.expected_source"] = str(expected_source)
    return attributes


def unexpected_attributes(trigger: Trigger, coverage: Coverage) -> dict[str, AttributeValue]:
    """
    What is said of an occurrence for which nothing resolves to an expectation (design §7).
    """
    attributes: dict[str, AttributeValue] = {"toolscore.trigger": str(trigger), "toolscore.coverage": coverage.label}
    if coverage.reasons:
        attributes["toolscore.coverage_reasons"] = [str(reason) for reason in coverage.reasons]
    return attributes


def evaluation_attributes(evaluation: Evaluation) -> dict[str, AttributeValue]:
    """
    One evaluation as span attributes `toolscore.evaluation.<name>.*`.
    """
    base = f"toolscore.evaluation.{evaluation.name}."
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
    attributes.update(facts)
    attributes.update(evaluation_attributes(evaluation))
    attributes["toolscore.revision"] = delivery.revision
    attributes["toolscore.final"] = delivery.is_final
    attributes["toolscore.evaluation.version"] = evaluation.version
    attributes["toolscore.evaluation.identifier"] = evaluation.identifier
    attributes["toolscore.idempotency_id"] = delivery.idempotency_id
    return attributes
