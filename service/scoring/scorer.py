"""
All evaluations of one occurrence.

Pure: a function of evidence, resolution and settings. What is ineligible is told before any expectation is looked at.
"""

from service.evaluation import Evaluation
from service.evidence import ToolEvidence
from service.scoring.conditions import evaluate_condition
from service.scoring.expectations import Resolution
from service.scoring.metrics import score_metrics
from service.scoring.selection import score_selection
from service.scoring.settings import DEFAULT_SCORING, ScoringSettings


def evaluate(
    evidence: ToolEvidence, resolution: Resolution, settings: ScoringSettings = DEFAULT_SCORING
) -> tuple[Evaluation, ...]:
    """
    Tool selection accuracy, then the metrics that are switched on, then conditions, parents before children.
    """
    selection = score_selection(evidence, resolution, settings)
    evaluations = [] if selection is None else [selection]
    if evidence.shapes:
        evaluations += score_metrics(evidence, resolution, settings)
        evaluations += _evaluate_conditions(evidence, resolution, settings)
    return tuple(evaluations)


def _evaluate_conditions(evidence: ToolEvidence, resolution: Resolution, settings: ScoringSettings) -> list[Evaluation]:
    if resolution.conditions is None:
        return []
    expectation = resolution.conditions.expectation
    return [
        evaluation
        for condition in resolution.conditions.conditions
        for evaluation in evaluate_condition(condition, evidence, expectation, settings)
    ]
