"""
The order of tool calls on the shared case table, and what its rules are for.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from scoring_builders import steps_of

from service.evaluation import Verdict
from service.scoring.order import BEGINNING, Acquisition, Attempt, first_impossible, is_established, order_verdict

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "data/cases/order_cases.json").read_text())

BEHAVIOURS = {
    "R1 sequential": ["seq"],
    "R2 reversed": ["reversed"],
    "R3 concurrent": ["overlap", "overlap_rev", "identical"],
    "R4 one inside the other": ["nested", "nested_rev"],
    "R5 end equals start": ["touch", "touch_rev"],
    "R6 two equal instants": ["zero_same_instant"],
    "R7 unfinished earlier tool": ["unfinished_first"],
    "R8 unfinished later tool": ["unfinished_last", "unfinished_rev"],
    "R9 finished retry": ["unfinished_plus_finished", "retry_after_unfinished_B"],
    "R10 repeats around the order": ["repeat_late_first", "repeat_early_last"],
    "R11 other tools": ["other_between", "other_overlaps"],
    "R12 interleaved": ["interleaved"],
    "R13 missing, complete": ["missing_complete", "missing_first", "none_complete"],
    "R14 missing, partial": ["missing_partial", "none_partial"],
    "R15 reversed, partial": ["rev_partial"],
    "R16 seen, partial": ["seq_partial"],
    "R17 earliest finishing": ["earliest_finish"],
    "R18 earliest starting": ["earliest_start"],
    "R19 every pair reversed": ["all_contradicted", "one_pair_open"],
    "R20 three in order": ["three_seq", "middle_choice"],
    "R21 three, two swapped": ["three_rev", "three_last_two_swapped", "three_first_two_swapped"],
    "R22 gap within the tolerance": ["tol_hides_order"],
    "R23 gap beyond the tolerance": ["tol_exceeded"],
    "R24 reverse gap within": ["tol_hides_rev"],
    "R25 reverse gap beyond": ["tol_rev_exceeded"],
    "R27 error and unavailable": ["error_guard", "unavailable"],
    "R32 unlinked requests": ["unlinked_false", "unlinked_missing", "unlinked_true"],
    "R33 exact names": ["exact_names"],
    "the review's defect": [
        "review_remark",
        "review_remark_open",
        "review_remark_tol",
        "review_remark_tol_exceeded",
        "compatible_is_not_transitive",
        "four_far_pair",
        "four_far_pair_open",
        "four_middle_pair",
        "no_single_B_works",
    ],
}


def verdict_of(case: dict[str, Any]) -> Verdict:
    return order_verdict(
        steps_of(case["tools"], case["spans"]),
        tolerance=case["tolerance"],
        acquisition=Acquisition(case["acquisition"]),
        all_requests_linked=case["all_requests_linked"],
    )


def label(case: dict[str, Any]) -> str:
    """
    The case with the behaviour of the reference that it stands for.
    """
    behaviours = [behaviour for behaviour, ids in BEHAVIOURS.items() if case["id"] in ids]
    return ", ".join([*behaviours, case["id"]])


@pytest.mark.parametrize("case", CASES, ids=label)
def test_verdict_of_the_case_table(case: dict[str, Any]) -> None:
    assert case["verdict"] == verdict_of(case), case["why"]


def test_the_case_table_is_whole() -> None:
    ids = [case["id"] for case in CASES]

    assert 69 == len(set(ids))
    assert {case_id for behaviour in BEHAVIOURS.values() for case_id in behaviour} <= set(ids)


def test_both_directions_may_hold_when_a_tool_ran_twice() -> None:
    """
    The condition is existential: with A, B, A both orders were seen (decision D24).
    """
    spans = [["A", 0, 1], ["B", 2, 3], ["A", 4, 5]]

    assert is_established(steps_of("AB", spans), 0)
    assert is_established(steps_of("BA", spans), 0)


def test_first_impossible_names_the_step_that_no_choice_reaches() -> None:
    assert 2 == first_impossible(steps_of("ABC", [["A", 10, 11], ["B", 0, 20], ["C", 1, 2]]), 0)
    assert first_impossible(steps_of("ABC", [["A", 10, 11], ["B", 0, 20], ["C", 1, 10]]), 0) is None


def test_an_uncertain_attempt_establishes_nothing_and_keeps_an_order_possible() -> None:
    steps = [[Attempt(0, 1)], [Attempt(2, 3, is_certain=False)]]

    assert not is_established(steps, 0)
    assert first_impossible(steps, 0) is None


def test_no_time_of_a_span_is_before_the_beginning() -> None:
    """
    Times are unsigned 64-bit nanoseconds, tolerances at most 2**63.
    """
    assert BEGINNING + 2**64 < 0
