"""
Tool selection accuracy: the shared case table, then when there is a number and how far it may be off.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from scoring_builders import (
    PARTIAL,
    TraceCase,
    a_requested_call,
    a_tool_call,
    llm_embedded,
    partial,
    pooled,
    tool_spans,
    unlinked,
)

from proto_adapters.canonical import Shape
from service.config.tool_selection_accuracy import ToolSelectionAccuracyConfig
from service.evaluation import Bounds, Evaluation, ExpectedSource, Reason, Status
from service.evidence import Coverage, CoverageReason, ToolEvidence
from service.scoring.expectations import OccurrenceFacts, Resolution, Resolver
from service.scoring.selection import compare_names, score_selection
from service.scoring.settings import ScoringSettings

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "data/cases/selection_cases.json").read_text())
OCCURRENCE = "0af7651916cd43dd8448eb211c80319c"


def resolve(annotation: str | None, run_level: list[str] | None, *, treat_no_calls_as_zero: bool) -> Resolution:
    block = ToolSelectionAccuracyConfig(
        expected_tools=None if run_level is None else tuple(run_level),
        annotations=None if annotation is None else {OCCURRENCE: {"expected_tools": annotation}},
        treat_no_calls_as_zero=treat_no_calls_as_zero,
    )
    return Resolver(block).resolve(OccurrenceFacts(occurrence=OCCURRENCE))


def score(
    evidence: ToolEvidence, *expected: str, settings: ScoringSettings | None = None, zero: bool = False
) -> Evaluation:
    """
    The evaluation against the occurrence's own annotation.
    """
    resolution = resolve(json.dumps(expected), None, treat_no_calls_as_zero=zero)
    evaluation = score_selection(evidence, resolution, settings or ScoringSettings())
    assert evaluation is not None
    return evaluation


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_score_of_the_case_table(case: dict[str, Any]) -> None:
    traces = [TraceCase(trace["tool_spans"], trace["llm_calls"]) for trace in case["traces"]]
    resolution = resolve(
        case["annotation"],
        case["config_expected_tools"],
        treat_no_calls_as_zero=case["treat_no_calls_as_zero"],
    )

    evaluation = score_selection(pooled(traces), resolution, ScoringSettings())

    assert evaluation is not None
    assert case["expect"] == {"status": evaluation.status, "value": evaluation.score}, case["basis"]


def test_the_case_table_is_whole() -> None:
    assert 25 == len({case["id"] for case in CASES})


def test_result_names_what_was_expected_called_and_missing() -> None:
    evaluation = score(tool_spans(a_tool_call("Get-Weather"), a_tool_call("x")), "get_weather", "send", "book")

    assert ("get_weather", "send", "book") == evaluation.expected
    assert ("Get-Weather", "x") == evaluation.called
    assert ("book", "send") == evaluation.missing
    assert "missing: book, send" == evaluation.explanation
    assert (ExpectedSource.ANNOTATION, "annotation") == (evaluation.expected_source, evaluation.expectation)


def test_names_that_are_one_tool_are_told_as_first_written() -> None:
    names = compare_names(["getWeather", "get_weather", "b"], ["B"])

    assert (("getWeather", "b"), ("getWeather",)) == (names.expected, names.missing)


A_AND_HIDDEN = replace(llm_embedded(a_requested_call("a")), has_tool_evidence=False, coverage=PARTIAL)
NOTHING_SEEN = llm_embedded()
NAMELESS = Coverage((CoverageReason.TOOL_NAME_MISSING,))

NUMBER_CASES = {
    "0.0 with TOOL spans": (tool_spans(a_tool_call("x")), False, 0.0, None),
    "0.0 on partial coverage with TOOL spans": (partial(tool_spans(a_tool_call("x"))), False, 0.0, None),
    "0.0 with readable completions": (llm_embedded(a_requested_call("x")), False, 0.0, None),
    "no 0.0 when a completion is hidden": (
        replace(llm_embedded(a_requested_call("x")), has_tool_evidence=False),
        True,
        None,
        Reason.NO_TOOL_EVIDENCE,
    ),
    "nothing seen in hidden completions": (
        replace(NOTHING_SEEN, has_tool_evidence=False, coverage=PARTIAL),
        True,
        None,
        Reason.NO_TOOL_EVIDENCE,
    ),
    "no calls": (NOTHING_SEEN, False, None, Reason.NO_TOOL_CALLS_OBSERVED),
    "no calls are zero": (NOTHING_SEEN, True, 0.0, None),
    "no calls are zero only on complete coverage": (partial(NOTHING_SEEN), True, None, Reason.PARTIAL_COVERAGE),
    "a control tool alone is no call": (
        tool_spans(a_tool_call("final_answer", control_tool=True)),
        False,
        None,
        Reason.NO_TOOL_CALLS_OBSERVED,
    ),
    "a control tool alone is zero": (tool_spans(a_tool_call("final_answer", control_tool=True)), True, 0.0, None),
    "nameless calls only": (
        tool_spans(nameless_calls=2, coverage=NAMELESS),
        True,
        None,
        Reason.PARTIAL_COVERAGE,
    ),
}


@pytest.mark.parametrize(("evidence", "zero", "value", "reason"), NUMBER_CASES.values(), ids=NUMBER_CASES.keys())
def test_a_zero_needs_evidence(
    evidence: ToolEvidence, *, zero: bool, value: float | None, reason: Reason | None
) -> None:
    evaluation = score(evidence, "a", "b", zero=zero)

    assert (value, reason) == (evaluation.score, evaluation.reason)
    assert (Status.NOT_SCORED if value is None else Status.SCORED) == evaluation.status


def test_a_control_tool_that_is_expected_counts() -> None:
    assert 0.5 == score(tool_spans(a_tool_call("final_answer", control_tool=True)), "final_answer", "b").score


def test_a_score_stands_when_other_completions_are_hidden() -> None:
    assert 0.5 == score(A_AND_HIDDEN, "a", "b").score


ONE_OF_FOUR = tool_spans(a_tool_call("a"), nameless_calls=1, coverage=NAMELESS)

BOUNDS_CASES = {
    "complete": (tool_spans(a_tool_call("a")), (0.25, 0.25)),
    "spans may be missing": (partial(tool_spans(a_tool_call("a"))), (0.25, 1.0)),
    "one nameless call": (ONE_OF_FOUR, (0.25, 0.5)),
    "nine nameless calls": (replace(ONE_OF_FOUR, nameless_calls=9), (0.25, 1.0)),
    "an impossible time hides no call": (
        replace(tool_spans(a_tool_call("a")), coverage=Coverage((CoverageReason.SPAN_TIME_INVALID,))),
        (0.25, 0.25),
    ),
    "nameless call and missing spans": (replace(ONE_OF_FOUR, coverage=PARTIAL), (0.25, 1.0)),
    "embedded, complete": (llm_embedded(a_requested_call("a")), (0.25, 0.25)),
    "embedded, partial": (partial(llm_embedded(a_requested_call("a"))), (0.0, 1.0)),
    "mixed session, partial": (
        replace(partial(tool_spans(a_tool_call("a"))), shapes=(Shape.TOOL_SPANS, Shape.LLM_EMBEDDED)),
        (0.0, 1.0),
    ),
    "session with unlinked requests": (unlinked(tool_spans(a_tool_call("a"))), (0.25, 1.0)),
    "not scored, complete": (NOTHING_SEEN, (0.0, 0.0)),
    "not scored, partial": (partial(NOTHING_SEEN), (0.0, 1.0)),
    "not scored, nothing readable": (replace(NOTHING_SEEN, has_tool_evidence=False), (0.0, 1.0)),
}


@pytest.mark.parametrize(("evidence", "bounds"), BOUNDS_CASES.values(), ids=BOUNDS_CASES.keys())
def test_bounds_tell_what_complete_evidence_could_show(evidence: ToolEvidence, bounds: tuple[float, float]) -> None:
    assert Bounds(*bounds) == score(evidence, "a", "b", "c", "d").bounds


@pytest.mark.parametrize("reason", CoverageReason)
def test_a_value_never_leaves_its_bounds(reason: CoverageReason) -> None:
    evidence = replace(ONE_OF_FOUR, coverage=Coverage((reason,)))

    evaluation = score(evidence, "a", "b", "c", "d")

    assert evaluation.bounds is not None
    assert evaluation.bounds.lower == evaluation.score
    assert evaluation.bounds.upper > evaluation.bounds.lower


def test_failed_and_ineligible_have_no_bounds_and_no_number() -> None:
    failed = score_selection(tool_spans(), Resolution(), ScoringSettings())
    ineligible = score_selection(ToolEvidence(), Resolution(), ScoringSettings())

    assert failed is not None
    assert ineligible is not None
    assert (Status.FAILED, None, None) == (failed.status, failed.score, failed.bounds)
    assert Reason.EXPECTED_TOOLS_UNRESOLVED == failed.reason
    assert (Status.INELIGIBLE, None, None) == (ineligible.status, ineligible.score, ineligible.bounds)


def test_what_was_asked_for_and_not_executed_is_told_and_not_called() -> None:
    evidence = replace(tool_spans(a_tool_call("getWeather")), requested_names=("send", "get_weather"))

    evaluation = score(evidence, "get_weather", "send")

    assert (0.5, ("send",)) == (evaluation.score, evaluation.requested_not_executed)


def test_a_request_more_than_executions_is_told() -> None:
    evidence = replace(tool_spans(a_tool_call("send")), requested_names=("send", "send"))

    assert ("send",) == score(evidence, "send").requested_not_executed


def test_embedded_calls_that_count_are_not_told_as_unexecuted() -> None:
    assert () == score(llm_embedded(a_requested_call("a")), "a").requested_not_executed


ALIASES = ScoringSettings(tool_name_aliases=True)


def test_the_tail_of_a_name_counts_only_if_aliases_are_switched_on() -> None:
    evidence = tool_spans(a_tool_call("mcp__trips__find_train"))

    assert 0.0 == score(evidence, "find_train").score
    assert 1.0 == score(evidence, "find_train", settings=ALIASES).score


def test_an_alias_that_fits_two_expected_tools_counts_for_neither() -> None:
    assert 0.0 == score(tool_spans(a_tool_call("a__b_c")), "b_c", "c", settings=ALIASES).score
