"""
Conditions answered: every leaf and every tree of an expectation as an evaluation of its own.

Pure. A leaf reads its own condition and nothing of its siblings; a tree reads the findings of its children only.
"""

from collections.abc import Callable
from typing import assert_never

from service.conditions import (
    CONDITION_VERSION,
    Condition,
    Leaf,
    ToolCallCount,
    ToolsCalled,
    ToolsCalledInOrder,
    ToolsCalledInPartialOrder,
    ToolsNotCalled,
    TreeCondition,
)
from service.evaluation import Bounds, Evaluation, ExpectedSource, Status, Verdict
from service.evidence import ToolEvidence
from service.scoring.findings import Finding
from service.scoring.identity import condition_identifier
from service.scoring.leaves import find_tool_call_count, find_tools_called, find_tools_not_called
from service.scoring.order_leaves import find_tools_called_in_order
from service.scoring.requests import requested_not_executed
from service.scoring.settings import ScoringSettings
from service.scoring.trees import find_tree

FindLeaf = Callable[[Leaf], Finding]

VERDICT_BOUNDS = {
    Verdict.TRUE: Bounds(1.0, 1.0),
    Verdict.FALSE: Bounds(0.0, 0.0),
    Verdict.UNDETERMINED: Bounds(0.0, 1.0),
}
VERDICT_SCORES = {Verdict.TRUE: 1.0, Verdict.FALSE: 0.0}


def evaluate_condition(
    condition: Condition,
    evidence: ToolEvidence,
    expectation: str,
    settings: ScoringSettings,
    *,
    find: FindLeaf | None = None,
) -> tuple[Evaluation, ...]:
    """
    The evaluation of *condition* and of all conditions below it, parents first. *find* may answer leaves otherwise.
    """
    requested = requested_not_executed(evidence)
    answers = _find_all(condition, find or (lambda leaf: find_leaf(leaf, evidence, settings)))
    return tuple(_evaluation(node, finding, expectation, requested, settings) for node, finding in answers)


def _find_all(condition: Condition, find: FindLeaf) -> list[tuple[Condition, Finding]]:
    if not isinstance(condition, TreeCondition):
        return [(condition, find(condition))]
    below = [_find_all(child, find) for child in condition.children]
    own = find_tree(condition, [child[0][1] for child in below])
    return [(condition, own), *(pair for child in below for pair in child)]


def find_leaf(condition: Leaf, evidence: ToolEvidence, settings: ScoringSettings) -> Finding:
    """
    The finding of one leaf.
    """
    match condition:
        case ToolsCalled():
            return find_tools_called(condition, evidence, settings)
        case ToolsNotCalled():
            return find_tools_not_called(condition, evidence, settings)
        case ToolCallCount():
            return find_tool_call_count(condition, evidence, settings)
        case ToolsCalledInOrder() | ToolsCalledInPartialOrder():
            return find_tools_called_in_order(condition, evidence, settings)
        case _:
            assert_never(condition)


def _evaluation(
    condition: Condition,
    finding: Finding,
    expectation: str,
    requested: tuple[str, ...],
    settings: ScoringSettings,
) -> Evaluation:
    undetermined = finding.verdict is Verdict.UNDETERMINED
    return Evaluation(
        name=condition.evaluation_name,
        type=condition.condition_type,
        version=CONDITION_VERSION,
        identifier=condition_identifier(condition, settings),
        status=Status.UNDETERMINED if undetermined else Status.SCORED,
        score=VERDICT_SCORES.get(finding.verdict),
        label=finding.verdict,
        reason=finding.reason,
        bounds=VERDICT_BOUNDS[finding.verdict],
        expected=() if isinstance(condition, TreeCondition) else tuple(tool.name for tool in condition.requirements),
        called=finding.called,
        missing=finding.missing,
        requested_not_executed=requested,
        expectation=expectation,
        expected_source=ExpectedSource.POLICY,
        explanation=finding.explanation,
        from_embedded_calls=finding.from_embedded_calls,
    )
