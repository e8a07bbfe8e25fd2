"""
All evaluations of an occurrence together.
"""

from msgspec.structs import replace
from scoring_builders import a_condition, a_tool_call, partial, tool_spans

from service.conditions import ToolRequirement
from service.config.metrics import Metric
from service.evaluation import ExpectedSource, Reason, Status
from service.evidence import ToolEvidence
from service.scoring.expectations import ExpectedTools, Resolution, ResolvedConditions
from service.scoring.scorer import evaluate
from service.scoring.settings import DEFAULT_SCORING, ScoringSettings

CALLED = tool_spans(a_tool_call("a", 1, 2), a_tool_call("b", 4, 5))
TOOLS = ExpectedTools((ToolRequirement(name="a"), ToolRequirement(name="z")), ExpectedSource.POLICY, "refund")
CONDITIONS = ResolvedConditions(
    (a_condition("tools_called", "a"), a_condition("tools_called_in_order", "a", "b")), "refund"
)


def names(evidence: ToolEvidence, resolution: Resolution, settings: ScoringSettings = DEFAULT_SCORING) -> list[str]:
    return [evaluation.name for evaluation in evaluate(evidence, resolution, settings)]


def test_selection_comes_first_then_metrics_then_conditions() -> None:
    settings = ScoringSettings(metric_name="chosen", metrics=(Metric.MULTISET_F1,))

    assert ["chosen", "multiset_f1", "tools_called", "tools_called_in_order"] == names(
        CALLED, Resolution(expected=TOOLS, conditions=CONDITIONS), settings
    )


def test_an_occurrence_without_tool_and_llm_spans_is_ineligible_before_any_expectation() -> None:
    for resolution in (
        Resolution(),
        Resolution(expected=TOOLS, conditions=CONDITIONS),
        Resolution(failure=Reason.ANNOTATION_INVALID, failed_source=ExpectedSource.ANNOTATION),
        Resolution(is_pending=True),
    ):
        (evaluation,) = evaluate(ToolEvidence(), resolution)

        assert (Status.INELIGIBLE, None) == (evaluation.status, evaluation.reason)


def test_if_nothing_resolves_selection_is_failed() -> None:
    (evaluation,) = evaluate(CALLED, Resolution())

    assert (Status.FAILED, Reason.EXPECTED_TOOLS_UNRESOLVED) == (evaluation.status, evaluation.reason)
    assert (None, None) == (evaluation.expectation, evaluation.expected_source)


def test_if_only_conditions_resolve_selection_is_not_evaluated() -> None:
    assert ["tools_called", "tools_called_in_order"] == names(CALLED, Resolution(conditions=CONDITIONS))


def test_a_malformed_annotation_fails_selection_and_no_condition() -> None:
    resolution = Resolution(
        conditions=CONDITIONS, failure=Reason.ANNOTATION_INVALID, failed_source=ExpectedSource.ANNOTATION
    )

    selection, *conditions = evaluate(CALLED, resolution)

    assert (Status.FAILED, Reason.ANNOTATION_INVALID) == (selection.status, selection.reason)
    assert (ExpectedSource.ANNOTATION, "annotation") == (selection.expected_source, selection.expectation)
    assert [1.0, 1.0] == [evaluation.score for evaluation in conditions]


def test_while_a_policy_waits_for_the_root_nothing_is_evaluated() -> None:
    assert [] == names(CALLED, Resolution(is_pending=True))


def test_an_annotated_occurrence_is_scored_while_a_policy_waits() -> None:
    own = ExpectedTools(TOOLS.tools, ExpectedSource.ANNOTATION, "annotation")

    assert ["tool_selection_accuracy"] == names(CALLED, Resolution(expected=own, is_pending=True))


def test_the_same_evidence_gives_equal_evaluations() -> None:
    resolution = Resolution(expected=TOOLS, conditions=CONDITIONS)

    assert evaluate(CALLED, resolution) == evaluate(replace(CALLED), resolution)


def test_only_scored_evaluations_have_a_number() -> None:
    settings = ScoringSettings(metrics=tuple(Metric))
    resolution = Resolution(expected=TOOLS, conditions=CONDITIONS)

    for evidence in (CALLED, partial(CALLED), partial(tool_spans()), tool_spans()):
        for evaluation in evaluate(evidence, resolution, settings):
            assert (evaluation.status is Status.SCORED) == (evaluation.score is not None) == (evaluation.reason is None)
            assert evaluation.bounds is not None
            if evaluation.score is not None:
                assert evaluation.bounds.lower <= evaluation.score <= evaluation.bounds.upper
