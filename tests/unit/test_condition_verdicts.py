"""
What conditions answer, and why they do not: leaves on executions and on completions, reasons, results.
"""

import pytest
from msgspec.structs import replace
from scoring_builders import (
    a_condition,
    a_failed_call,
    a_requested_call,
    a_tool_call,
    answer,
    llm_embedded,
    partial,
    tool_spans,
    unlinked,
)

from service.conditions import Condition
from service.durations import MILLISECOND
from service.evaluation import Bounds, ExpectedSource, Reason, Status, Verdict
from service.evidence import Coverage, CoverageBasis, ToolEvidence
from service.scoring.settings import DEFAULT_SCORING, ScoringSettings

TRUE, FALSE, UNDETERMINED = Verdict.TRUE, Verdict.FALSE, Verdict.UNDETERMINED
Answer = tuple[Verdict, Reason | None]

A_THEN_B = tool_spans(a_tool_call("a", 10, 12), a_tool_call("b", 15, 16))
ONLY_A = tool_spans(a_tool_call("a", 10, 12))
OVERLAP = tool_spans(a_tool_call("a", 10, 15), a_tool_call("b", 12, 18))
NO_CALLS = llm_embedded()
ASKED_FOR_A = llm_embedded(a_requested_call("a"))
HIDDEN = partial(replace(NO_CALLS, has_tool_evidence=False))
STRICT = ScoringSettings(allow_false_on_inferred=False)
COUNTING = ScoringSettings(count_embedded_calls=True)

CALLED = a_condition("tools_called", "a", "b")
NOT_CALLED = a_condition("tools_not_called", "b", "c")
IN_ORDER = a_condition("tools_called_in_order", "a", "b")
REVERSED = a_condition("tools_called_in_order", "b", "a")
AT_MOST_ONE_B = a_condition("tool_call_count", {"name": "b", "max": 1})
ONE_OR_TWO_A = a_condition("tool_call_count", {"name": "a", "min": 1, "max": 2})
DIAMOND = a_condition("tools_called_in_partial_order", "a", "b", "c", "d", groups=[["a"], ["b", "c"], ["d"]])


def reply(condition: Condition, evidence: ToolEvidence, settings: ScoringSettings = DEFAULT_SCORING) -> Answer:
    evaluation = answer(condition, evidence, settings)
    assert evaluation.label is not None
    return evaluation.label, evaluation.reason


def a_diamond(b_start: int = 4, c_start: int = 4, d_start: int = 8) -> ToolEvidence:
    return tool_spans(
        a_tool_call("a", 1, 2),
        a_tool_call("b", b_start, b_start + 2),
        a_tool_call("c", c_start, c_start + 1),
        a_tool_call("d", d_start, d_start + 1),
    )


ANSWERS: dict[str, tuple[Condition, ToolEvidence, ScoringSettings, Answer]] = {
    "called": (CALLED, A_THEN_B, DEFAULT_SCORING, (TRUE, None)),
    "called on partial evidence": (CALLED, partial(A_THEN_B), DEFAULT_SCORING, (TRUE, None)),
    "one never ran": (CALLED, ONLY_A, DEFAULT_SCORING, (FALSE, None)),
    "one not seen": (CALLED, partial(ONLY_A), DEFAULT_SCORING, (UNDETERMINED, Reason.PARTIAL_COVERAGE)),
    "unlinked": (CALLED, unlinked(ONLY_A), DEFAULT_SCORING, (UNDETERMINED, Reason.REQUESTS_UNLINKED)),
    "unlinked, seen": (CALLED, unlinked(A_THEN_B), DEFAULT_SCORING, (TRUE, None)),
    "inferred": (CALLED, ONLY_A, STRICT, (UNDETERMINED, Reason.INFERRED_COVERAGE)),
    "declared": (
        CALLED,
        replace(ONLY_A, coverage=Coverage(basis=CoverageBasis.DECLARED)),
        STRICT,
        (FALSE, None),
    ),
    "failed calls count": (
        CALLED,
        tool_spans(a_failed_call("a"), a_failed_call("b")),
        DEFAULT_SCORING,
        (TRUE, None),
    ),
    "names are exact": (
        CALLED,
        tool_spans(a_tool_call("A"), a_tool_call("b")),
        DEFAULT_SCORING,
        (FALSE, None),
    ),
    "names of joined spans are present": (
        CALLED,
        tool_spans(a_tool_call("mcp__s__a", aliases=("a",)), a_tool_call("b")),
        DEFAULT_SCORING,
        (TRUE, None),
    ),
    "no tool evidence": (CALLED, HIDDEN, DEFAULT_SCORING, (UNDETERMINED, Reason.NO_TOOL_EVIDENCE)),
    "no call of either sort": (CALLED, NO_CALLS, DEFAULT_SCORING, (FALSE, None)),
    "asked for only": (CALLED, ASKED_FOR_A, DEFAULT_SCORING, (UNDETERMINED, Reason.NO_EXECUTION_SPANS)),
    "asked for, counted": (CALLED, ASKED_FOR_A, COUNTING, (FALSE, None)),
    "both asked for, counted": (
        CALLED,
        llm_embedded(a_requested_call("a"), a_requested_call("b")),
        COUNTING,
        (TRUE, None),
    ),
    "forbidden and called": (NOT_CALLED, partial(A_THEN_B), STRICT, (FALSE, None)),
    "forbidden, never ran": (NOT_CALLED, ONLY_A, DEFAULT_SCORING, (TRUE, None)),
    "forbidden, not seen": (
        NOT_CALLED,
        partial(ONLY_A),
        DEFAULT_SCORING,
        (UNDETERMINED, Reason.PARTIAL_COVERAGE),
    ),
    "forbidden, unlinked": (
        NOT_CALLED,
        unlinked(ONLY_A),
        DEFAULT_SCORING,
        (UNDETERMINED, Reason.REQUESTS_UNLINKED),
    ),
    "forbidden, asked for only": (
        NOT_CALLED,
        llm_embedded(a_requested_call("b")),
        DEFAULT_SCORING,
        (UNDETERMINED, Reason.NO_EXECUTION_SPANS),
    ),
    "forbidden, no call of either sort": (NOT_CALLED, NO_CALLS, DEFAULT_SCORING, (TRUE, None)),
    "count within": (AT_MOST_ONE_B, A_THEN_B, DEFAULT_SCORING, (TRUE, None)),
    "count may rise": (AT_MOST_ONE_B, partial(A_THEN_B), DEFAULT_SCORING, (UNDETERMINED, Reason.PARTIAL_COVERAGE)),
    "count exceeded on partial evidence": (
        AT_MOST_ONE_B,
        partial(tool_spans(a_tool_call("b", 1), a_tool_call("b", 3))),
        DEFAULT_SCORING,
        (FALSE, None),
    ),
    "count not reached": (ONE_OR_TWO_A, tool_spans(a_tool_call("b")), DEFAULT_SCORING, (FALSE, None)),
    "count not reached yet": (
        ONE_OR_TWO_A,
        partial(tool_spans(a_tool_call("b"))),
        DEFAULT_SCORING,
        (UNDETERMINED, Reason.PARTIAL_COVERAGE),
    ),
    "least count reached on partial evidence": (
        a_condition("tool_call_count", {"name": "a", "min": 1}),
        partial(ONLY_A),
        DEFAULT_SCORING,
        (TRUE, None),
    ),
    "one count broken, one open": (
        a_condition("tool_call_count", {"name": "a", "max": 0}, {"name": "b", "min": 1}),
        partial(ONLY_A),
        DEFAULT_SCORING,
        (FALSE, None),
    ),
    "retries are counted": (
        ONE_OR_TWO_A,
        tool_spans(a_failed_call("a", 1), a_failed_call("a", 3), a_tool_call("a", 5)),
        DEFAULT_SCORING,
        (FALSE, None),
    ),
    "in order": (IN_ORDER, A_THEN_B, DEFAULT_SCORING, (TRUE, None)),
    "in order on partial evidence": (IN_ORDER, partial(A_THEN_B), STRICT, (TRUE, None)),
    "reversed": (REVERSED, A_THEN_B, DEFAULT_SCORING, (FALSE, None)),
    "reversed, partial": (REVERSED, partial(A_THEN_B), DEFAULT_SCORING, (UNDETERMINED, Reason.PARTIAL_COVERAGE)),
    "reversed, inferred": (REVERSED, A_THEN_B, STRICT, (UNDETERMINED, Reason.INFERRED_COVERAGE)),
    "reversed, unlinked": (REVERSED, unlinked(A_THEN_B), DEFAULT_SCORING, (UNDETERMINED, Reason.REQUESTS_UNLINKED)),
    "overlapping": (IN_ORDER, OVERLAP, DEFAULT_SCORING, (UNDETERMINED, Reason.OVERLAPPING)),
    "overlapping, inferred": (IN_ORDER, OVERLAP, STRICT, (UNDETERMINED, Reason.OVERLAPPING)),
    "overlapping, unlinked": (IN_ORDER, unlinked(OVERLAP), DEFAULT_SCORING, (UNDETERMINED, Reason.OVERLAPPING)),
    "overlapping, partial": (IN_ORDER, partial(OVERLAP), DEFAULT_SCORING, (UNDETERMINED, Reason.PARTIAL_COVERAGE)),
    "one of the order never ran": (IN_ORDER, ONLY_A, DEFAULT_SCORING, (FALSE, None)),
    "order in completions": (IN_ORDER, ASKED_FOR_A, DEFAULT_SCORING, (UNDETERMINED, Reason.NO_EXECUTION_SPANS)),
    "order in completions, counted": (IN_ORDER, ASKED_FOR_A, COUNTING, (UNDETERMINED, Reason.NO_EXECUTION_SPANS)),
    "order without any call": (IN_ORDER, NO_CALLS, DEFAULT_SCORING, (FALSE, None)),
    "order without tool evidence": (IN_ORDER, HIDDEN, DEFAULT_SCORING, (UNDETERMINED, Reason.NO_TOOL_EVIDENCE)),
    "order uses the outermost name only": (
        IN_ORDER,
        tool_spans(a_tool_call("mcp__s__a", 1, 2, aliases=("a",)), a_tool_call("b", 5, 6)),
        DEFAULT_SCORING,
        (FALSE, None),
    ),
    "diamond": (DIAMOND, a_diamond(), DEFAULT_SCORING, (TRUE, None)),
    "diamond with an overlapping end": (
        DIAMOND,
        a_diamond(d_start=5),
        DEFAULT_SCORING,
        (UNDETERMINED, Reason.OVERLAPPING),
    ),
    "diamond upside down": (DIAMOND, a_diamond(d_start=0), DEFAULT_SCORING, (FALSE, None)),
}


@pytest.mark.parametrize(("condition", "evidence", "settings", "expected"), ANSWERS.values(), ids=ANSWERS.keys())
def test_answer_with_its_reason(
    condition: Condition, evidence: ToolEvidence, settings: ScoringSettings, expected: Answer
) -> None:
    assert expected == reply(condition, evidence, settings)


@pytest.mark.parametrize(
    ("evidence", "status", "score", "bounds"),
    [
        (A_THEN_B, Status.SCORED, 1.0, Bounds(1.0, 1.0)),
        (ONLY_A, Status.SCORED, 0.0, Bounds(0.0, 0.0)),
        (partial(ONLY_A), Status.UNDETERMINED, None, Bounds(0.0, 1.0)),
    ],
    ids=["true", "false", "undetermined"],
)
def test_a_verdict_has_its_score_and_bounds(
    evidence: ToolEvidence, status: Status, score: float | None, bounds: Bounds
) -> None:
    evaluation = answer(CALLED, evidence)

    assert (status, score, bounds) == (evaluation.status, evaluation.score, evaluation.bounds)


def test_a_verdict_names_its_policy() -> None:
    evaluation = answer(CALLED, A_THEN_B)

    assert ("a policy", ExpectedSource.POLICY) == (evaluation.expectation, evaluation.expected_source)


EXPLANATIONS = {
    "missing": (CALLED, ONLY_A, "missing: b"),
    "forbidden": (NOT_CALLED, A_THEN_B, "called: b"),
    "count": (AT_MOST_ONE_B, tool_spans(a_tool_call("b", 1), a_tool_call("b", 3)), "calls outside the bounds: b (2)"),
    "out of order": (REVERSED, A_THEN_B, "out of order: a (required: b, a)"),
    "no order": (IN_ORDER, OVERLAP, "no order is established: a, b"),
    "missing in an order": (IN_ORDER, ONLY_A, "missing: b"),
    "true needs none": (IN_ORDER, A_THEN_B, ""),
}


@pytest.mark.parametrize(("condition", "evidence", "text"), EXPLANATIONS.values(), ids=EXPLANATIONS.keys())
def test_an_explanation_names_what_is_missing_or_out_of_order(
    condition: Condition, evidence: ToolEvidence, text: str
) -> None:
    assert text == answer(condition, evidence).explanation


def test_a_requested_tool_without_execution_is_told_and_not_called() -> None:
    evaluation = answer(CALLED, replace(ONLY_A, requested_names=("b", "a")))

    assert (FALSE, ("b",), ("a",)) == (evaluation.label, evaluation.requested_not_executed, evaluation.called)


def test_a_verdict_from_counted_completions_is_marked() -> None:
    evidence = llm_embedded(a_requested_call("a"), a_requested_call("b"))

    assert answer(CALLED, evidence, COUNTING).from_embedded_calls
    assert not answer(CALLED, A_THEN_B, COUNTING).from_embedded_calls


NORMALIZED = a_condition("tools_called_in_order", "find_train", "book", name_matching="normalized")
TRIP = tool_spans(a_tool_call("findTrain", 1, 2), a_tool_call("Book", 4, 5))
MCP_TRIP = tool_spans(a_tool_call("mcp__trips__find_train", 1, 2), a_tool_call("Book", 4, 5))
ALIASES = ScoringSettings(tool_name_aliases=True)


def test_normalized_names_are_a_choice_of_the_condition() -> None:
    assert (TRUE, None) == reply(NORMALIZED, TRIP)
    assert (FALSE, None) == reply(a_condition("tools_called_in_order", "find_train", "book"), TRIP)


def test_aliases_are_never_used_for_exact_names() -> None:
    exact = a_condition("tools_called", "find_train")

    assert (TRUE, None) == reply(NORMALIZED, MCP_TRIP, ALIASES)
    assert (FALSE, None) == reply(NORMALIZED, MCP_TRIP)
    assert (FALSE, None) == reply(exact, MCP_TRIP, ALIASES)


def test_the_tolerance_of_the_processor_holds_unless_the_condition_has_its_own() -> None:
    """
    R26: what is configured reaches the search. The gap between the calls is 3.
    """
    own = a_condition("tools_called_in_order", "a", "b", clock_skew_tolerance="2ns")

    assert (TRUE, None) == reply(IN_ORDER, A_THEN_B, ScoringSettings(clock_skew_tolerance_ns=2))
    assert (UNDETERMINED, Reason.OVERLAPPING) == reply(IN_ORDER, A_THEN_B, ScoringSettings(clock_skew_tolerance_ns=3))
    assert (TRUE, None) == reply(own, A_THEN_B, ScoringSettings(clock_skew_tolerance_ns=3))


def test_a_tolerance_of_zero_is_a_tolerance_of_its_own() -> None:
    own = a_condition("tools_called_in_order", "a", "b", clock_skew_tolerance=0)

    assert (TRUE, None) == reply(own, A_THEN_B, ScoringSettings(clock_skew_tolerance_ns=3))


def test_an_end_may_be_as_late_as_its_clock_allows() -> None:
    first = a_tool_call("a", MILLISECOND, 2 * MILLISECOND, end_slack_ns=MILLISECOND)
    near, far = (a_tool_call("b", 3 * MILLISECOND + extra, 9 * MILLISECOND) for extra in (0, 1))

    assert (UNDETERMINED, Reason.OVERLAPPING) == reply(IN_ORDER, tool_spans(first, near))
    assert (TRUE, None) == reply(IN_ORDER, tool_spans(first, far))


def test_a_synthetic_interval_supports_presence_and_no_order() -> None:
    evidence = tool_spans(a_tool_call("a", 1, 2, order_evidence=False), a_tool_call("b", 4, 5))

    assert (TRUE, None) == reply(CALLED, evidence)
    assert (UNDETERMINED, Reason.OVERLAPPING) == reply(IN_ORDER, evidence)
    assert (UNDETERMINED, Reason.OVERLAPPING) == reply(REVERSED, evidence)


def test_a_call_without_an_end_supports_presence_and_no_order() -> None:
    evidence = partial(tool_spans(a_tool_call("a", 1, None), a_tool_call("b", 4, 5)))

    assert (TRUE, None) == reply(CALLED, evidence)
    assert (UNDETERMINED, Reason.PARTIAL_COVERAGE) == reply(IN_ORDER, evidence)
