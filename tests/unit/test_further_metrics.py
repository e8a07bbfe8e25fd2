"""
The metrics beside tool selection accuracy: the edge table of the documentation, then what evidence leaves open.
"""

import re
from pathlib import Path

import pytest
from msgspec.structs import replace
from scoring_builders import (
    a_failed_call,
    a_requested_call,
    a_tool_call,
    llm_embedded,
    partial,
    tool_spans,
    unlinked,
)

from proto_adapters.canonical import ToolCall
from service.conditions import ToolRequirement
from service.config.metrics import Metric
from service.evaluation import Bounds, Evaluation, ExpectedSource, Reason, Status
from service.evidence import ToolEvidence
from service.scoring.expectations import ExpectedTools, Resolution
from service.scoring.scorer import evaluate
from service.scoring.settings import DEFAULT_SCORING, ScoringSettings

DOCUMENTATION = Path(__file__).parents[2] / "service/docs/metrics-edge-cases.md"
COLUMNS = [
    "tool_selection_accuracy",
    "multiset_precision",
    "multiset_recall",
    "multiset_f1",
    "exact_match",
    "in_order_match",
    "any_order_match",
]

EDGE_TABLE: dict[tuple[str, str], list[float | None]] = {
    ("a b", ""): [None, None, None, None, None, None, None],
    ("a b", "a b c"): [1, 2 / 3, 1, 0.8, 0, 1, 1],
    ("a b", "b a"): [1, 1, 1, 1, 0, 0, 1],
    ("a a", "a"): [1, 1, 0.5, 2 / 3, 0, 0, 0],
    ("a", "a a a a a"): [1, 0.2, 1, 1 / 3, 0, 1, 1],
    ("a a", "a a"): [1, 1, 1, 1, 1, 1, 1],
    ("a b c", "b c"): [2 / 3, 1, 2 / 3, 0.8, 0, 0, 0],
    ("a b", "a a b"): [1, 2 / 3, 1, 0.8, 0, 1, 1],
    ("a b", "a x b"): [1, 2 / 3, 1, 0.8, 0, 1, 1],
}


def one_after_the_other(*names: str) -> ToolEvidence:
    return tool_spans(*(a_tool_call(name, 10 * place, 10 * place + 5) for place, name in enumerate(names)))


def evaluations(
    evidence: ToolEvidence,
    required: list[ToolRequirement],
    *metrics: Metric,
    zero: bool = False,
    settings: ScoringSettings = DEFAULT_SCORING,
) -> dict[str, Evaluation]:
    tools = ExpectedTools(tuple(required), ExpectedSource.POLICY, "p", zero)
    chosen = replace(settings, metrics=metrics or tuple(Metric))
    return {found.name: found for found in evaluate(evidence, Resolution(expected=tools), chosen)}


def named(*names: str) -> list[ToolRequirement]:
    return [ToolRequirement(name=name) for name in names]


def score(
    metric: Metric, evidence: ToolEvidence, *names: str, settings: ScoringSettings = DEFAULT_SCORING
) -> Evaluation:
    return evaluations(evidence, named(*names), metric, settings=settings)[metric.value]


@pytest.mark.parametrize(
    ("required", "called", "scores"), [(*key, scores) for key, scores in EDGE_TABLE.items()], ids=map(str, EDGE_TABLE)
)
def test_score_at_the_edges(required: str, called: str, scores: list[float | None]) -> None:
    found = evaluations(one_after_the_other(*called.split()), named(*required.split()))

    assert pytest.approx(scores) == [found[column].score for column in COLUMNS]


def test_the_documentation_states_the_edge_table() -> None:
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in DOCUMENTATION.read_text(encoding="utf-8").splitlines()
        if re.match(r"\| [abc]", line)
    ]
    documented = {
        (required, re.sub(r"^none$", "", called)): [None if cell == "-" else float(cell) for cell in cells]
        for required, called, *cells in rows
    }

    assert EDGE_TABLE.keys() == documented.keys()
    for key, scores in EDGE_TABLE.items():
        assert [None if value is None else round(value, 2) for value in scores] == documented[key]


def test_without_calls_only_precision_stays_undefined_when_no_calls_are_zero() -> None:
    found = evaluations(one_after_the_other(), named("a", "b"), zero=True)

    assert [0, None, 0, 0, 0, 0, 0] == [found[column].score for column in COLUMNS]
    assert Reason.NO_TOOL_CALLS_OBSERVED == found["multiset_precision"].reason


def test_every_metric_is_off_by_default() -> None:
    resolution = Resolution(expected=ExpectedTools(tuple(named("a")), ExpectedSource.RUN, "run"))

    assert ["tool_selection_accuracy"] == [
        evaluation.name for evaluation in evaluate(one_after_the_other("a"), resolution, ScoringSettings())
    ]


def test_without_a_requirement_only_metrics_of_the_calls_are_evaluated() -> None:
    resolution = Resolution()

    assert ["tool_selection_accuracy"] == [
        evaluation.name
        for evaluation in evaluate(one_after_the_other("a"), resolution, ScoringSettings(metrics=tuple(Metric)))
    ]


AB = one_after_the_other("a", "b")
ASKED = llm_embedded(a_requested_call("a", 1))
OVERLAPPING = tool_spans(a_tool_call("a", 1, 5), a_tool_call("b", 2, 6))

OPEN = {
    "precision on partial evidence": (
        Metric.MULTISET_PRECISION,
        partial(AB),
        ["a", "b"],
        (0, 1),
        Reason.PARTIAL_COVERAGE,
    ),
    "precision, unlinked": (Metric.MULTISET_PRECISION, unlinked(AB), ["a", "b"], (0, 1), Reason.REQUESTS_UNLINKED),
    "F1 on partial evidence": (Metric.MULTISET_F1, partial(AB), ["a", "c"], (0, 0.8), Reason.PARTIAL_COVERAGE),
    "exact on partial evidence": (Metric.EXACT_MATCH, partial(AB), ["a", "b"], (0, 1), Reason.PARTIAL_COVERAGE),
    "exact, already too many": (Metric.EXACT_MATCH, partial(AB), ["a"], (0, 0), None),
    "exact, overlapping": (Metric.EXACT_MATCH, OVERLAPPING, ["a", "b"], (0, 1), Reason.OVERLAPPING),
    "in order on partial evidence": (Metric.IN_ORDER_MATCH, partial(AB), ["a", "b"], (1, 1), None),
    "not in order yet": (Metric.IN_ORDER_MATCH, partial(AB), ["b", "a"], (0, 1), Reason.PARTIAL_COVERAGE),
    "in order, overlapping": (Metric.IN_ORDER_MATCH, OVERLAPPING, ["a", "b"], (0, 1), Reason.OVERLAPPING),
    "any order on partial evidence": (Metric.ANY_ORDER_MATCH, partial(AB), ["b", "a"], (1, 1), None),
    "not all yet": (Metric.ANY_ORDER_MATCH, partial(AB), ["b", "c"], (0, 1), Reason.PARTIAL_COVERAGE),
    "completions only": (Metric.ANY_ORDER_MATCH, ASKED, ["a"], (0, 1), Reason.NO_EXECUTION_SPANS),
    "redundancy on partial evidence": (Metric.REDUNDANCY, partial(AB), ["a"], (0, 1), Reason.PARTIAL_COVERAGE),
    "redundancy without calls": (Metric.REDUNDANCY, tool_spans(), ["a"], (0, 1), Reason.NO_TOOL_CALLS_OBSERVED),
}


@pytest.mark.parametrize(("metric", "evidence", "required", "bounds", "reason"), OPEN.values(), ids=OPEN.keys())
def test_a_number_is_given_only_if_the_evidence_settles_it(
    metric: Metric,
    evidence: ToolEvidence,
    required: list[str],
    bounds: tuple[float, float],
    reason: Reason | None,
) -> None:
    found = score(metric, evidence, *required)

    assert found.bounds is not None
    assert pytest.approx(bounds) == (found.bounds.lower, found.bounds.upper)
    assert (reason, bounds[0] if reason is None else None) == (found.reason, found.score)


def test_recall_on_partial_evidence_is_a_lower_bound() -> None:
    found = score(Metric.MULTISET_RECALL, partial(AB), "a", "c")

    assert (Status.SCORED, 0.5, Bounds(0.5, 1.0)) == (found.status, found.score, found.bounds)


def test_completions_count_if_that_is_switched_on() -> None:
    assert 1.0 == score(Metric.ANY_ORDER_MATCH, ASKED, "a", settings=ScoringSettings(count_embedded_calls=True)).score


def test_whether_completeness_was_inferred_matters_to_no_number() -> None:
    assert (
        1.0
        == score(Metric.MULTISET_PRECISION, AB, "a", "b", settings=ScoringSettings(allow_false_on_inferred=False)).score
    )


def test_control_tools_lower_no_precision_unless_they_are_required() -> None:
    evidence = tool_spans(a_tool_call("a", 1), a_tool_call("final_answer", 3, control_tool=True))

    assert 1.0 == score(Metric.MULTISET_PRECISION, evidence, "a").score
    assert 0.5 == score(Metric.MULTISET_PRECISION, evidence, "final_answer", "x").score


def with_arguments(name: str, start: int, **arguments: object) -> ToolCall:
    return a_tool_call(name, start, arguments=arguments)


def test_calls_are_paired_so_that_most_requirements_are_met() -> None:
    """
    First come first served would give the call that fits both to the requirement that could have had another.
    """
    wide = ToolRequirement.model_validate({"name": "a", "arguments": {"x": 1}, "argument_match": "superset"})
    narrow = ToolRequirement.model_validate({"name": "a", "arguments": {"x": 1, "y": 2}})
    evidence = tool_spans(with_arguments("a", 1, x=1, y=2), with_arguments("a", 3, x=1, z=3))

    for required in ([wide, narrow], [narrow, wide], [*named("a"), narrow], [narrow, *named("a")]):
        assert 1.0 == evaluations(evidence, required, Metric.MULTISET_RECALL)["multiset_recall"].score


def test_unknown_arguments_leave_a_metric_open() -> None:
    required = [ToolRequirement(name="a", arguments={"x": 1})]

    found = evaluations(AB, required, Metric.MULTISET_RECALL)["multiset_recall"]

    assert (Reason.NO_TOOL_EVIDENCE, Bounds(0.0, 1.0)) == (found.reason, found.bounds)


def test_redundancy_is_the_share_of_calls_that_repeat_another() -> None:
    calls = [
        with_arguments("a", 1, x=1),
        with_arguments("a", 3, x=1),
        with_arguments("a", 5, x=2),
        with_arguments("b", 7),
    ]

    assert 0.25 == score(Metric.REDUNDANCY, tool_spans(*calls), "a").score


def test_redundancy_is_open_where_arguments_are_unknown() -> None:
    found = score(Metric.REDUNDANCY, one_after_the_other("a", "a", "b", "b"), "a")

    assert (Reason.NO_TOOL_EVIDENCE, Bounds(0.0, 0.5)) == (found.reason, found.bounds)


def test_success_rate_counts_finished_calls() -> None:
    evidence = tool_spans(a_failed_call("a", 1, 2), a_tool_call("a", 3, 4), a_tool_call("b", 5, None))

    assert 0.5 == score(Metric.TOOL_SUCCESS_RATE, evidence, "a").score


RETRIES = {
    "recovered": ([a_failed_call("a", 1, 2), a_tool_call("a", 3, 4)], 1.0),
    "not recovered": ([a_failed_call("a", 1, 2), a_failed_call("a", 3, 4)], 0.0),
    "recovered at the third attempt": (
        [a_failed_call("a", 1, 2), a_failed_call("a", 3, 4), a_tool_call("a", 5, 6)],
        1.0,
    ),
    "by another tool": ([a_failed_call("a", 1, 2), a_tool_call("b", 3, 4)], 0.0),
    "by a call that began before the failure": ([a_failed_call("a", 1, 5), a_tool_call("a", 3, 9)], 0.0),
    "two failures side by side, one recovered": (
        [a_failed_call("a", 1, 4), a_failed_call("a", 2, 5), a_tool_call("a", 6, 7)],
        0.5,
    ),
    "one of two tools": (
        [a_failed_call("a", 1, 2), a_failed_call("b", 1, 2), a_tool_call("b", 3, 4)],
        0.5,
    ),
}


@pytest.mark.parametrize(("calls", "share"), RETRIES.values(), ids=RETRIES.keys())
def test_a_retry_recovers_the_call_that_failed_before_it(calls: list[ToolCall], share: float) -> None:
    assert share == score(Metric.RETRIES_RECOVERED, tool_spans(*calls), "a").score


def test_where_nothing_failed_retries_are_not_evaluated() -> None:
    assert "retries_recovered" not in evaluations(AB, named("a"))


def test_an_ineligible_occurrence_has_no_further_metrics() -> None:
    assert ["tool_selection_accuracy"] == list(evaluations(replace(AB, shapes=()), named("a")))
