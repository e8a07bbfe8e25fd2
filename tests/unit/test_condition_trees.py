"""
Trees in three values, and the evaluations of their nodes.
"""

from collections.abc import Callable, Sequence
from itertools import product

import pytest
from scoring_builders import a_condition, a_tool_call, answers, partial, tool_spans

from service.conditions import Condition, parse_condition
from service.evaluation import Reason, Verdict
from service.scoring.trees import all_of, any_of, majority, negate

T, F, U = Verdict.TRUE, Verdict.FALSE, Verdict.UNDETERMINED
Table = Callable[[Sequence[Verdict]], Verdict]

TABLES = {
    "all_of": (all_of, {(T, T): T, (T, F): F, (F, F): F, (T, U): U, (F, U): F, (U, U): U}),
    "any_of": (any_of, {(T, T): T, (T, F): T, (F, F): F, (T, U): T, (F, U): U, (U, U): U}),
    "majority": (majority, {(T, T): T, (T, F): F, (F, F): F, (T, U): U, (F, U): U, (U, U): U}),
}


@pytest.mark.parametrize(("join", "table"), TABLES.values(), ids=TABLES.keys())
def test_two_verdicts_are_joined_as_the_table_says(join: Table, table: dict[tuple[Verdict, Verdict], Verdict]) -> None:
    for (one, other), expected in table.items():
        assert expected == join([one, other]) == join([other, one])


@pytest.mark.parametrize("join", [all_of, any_of, majority], ids=["all_of", "any_of", "majority"])
def test_joins_are_sound(join: Table) -> None:
    """
    A definite result never changes when an undetermined member turns out either way.
    """
    for verdicts in product((T, F, U), repeat=3):
        settled = [
            join([way if verdict is U else verdict for verdict, way in zip(verdicts, ways, strict=True)])
            for ways in product((T, F), repeat=3)
        ]
        assert join(verdicts) is U or {join(verdicts)} == set(settled)


def test_a_majority_is_more_than_half() -> None:
    assert [T, F, T, F] == [majority(votes) for votes in ([T, T, F], [T, F], [T], [F])]


def test_not_swaps_true_and_false_only() -> None:
    assert [F, T, U] == [negate(verdict) for verdict in (T, F, U)]


def a_tree(condition_type: str, *children: Condition, name: str | None = None) -> Condition:
    return parse_condition({"condition_type": condition_type, "name": name, "conditions": children})


HAS_A = a_condition("tools_called", "a", name="has_a")
HAS_B = a_condition("tools_called", "b", name="has_b")
A_BEFORE_B = a_condition("tools_called_in_order", "a", "b")
ONLY_A = tool_spans(a_tool_call("a", 1, 2))


def test_presence_and_order_are_leaves_of_one_tree() -> None:
    """
    R34: each node is an evaluation of its own, parents first, in order.
    """
    tree = a_tree("all_of", HAS_A, A_BEFORE_B, name="refund")

    evaluations = answers(tree, tool_spans(a_tool_call("a", 1, 2), a_tool_call("b", 4, 5)))

    assert [("refund", T), ("has_a", T), ("tools_called_in_order", T)] == [
        (evaluation.name, evaluation.label) for evaluation in evaluations
    ]


def test_a_leaf_reads_its_own_condition_only() -> None:
    """
    R30: no condition of another sort is answered by, or changes, a leaf.
    """
    alone = answers(HAS_B, ONLY_A)[0]

    for tree in (a_tree("all_of", HAS_A, HAS_B), a_tree("any_of", HAS_A, HAS_B)):
        assert alone == answers(tree, ONLY_A)[2]


def test_an_open_tree_has_the_reason_of_its_first_open_child() -> None:
    overlap = tool_spans(a_tool_call("a", 1, 5), a_tool_call("b", 2, 6))

    whole = answers(a_tree("all_of", HAS_A, A_BEFORE_B), overlap)[0]
    part = answers(a_tree("all_of", HAS_B, A_BEFORE_B), partial(ONLY_A))[0]

    assert (U, Reason.OVERLAPPING) == (whole.label, whole.reason)
    assert (U, Reason.PARTIAL_COVERAGE) == (part.label, part.reason)


def test_a_settled_tree_has_no_reason_and_tells_its_children() -> None:
    evaluation = answers(a_tree("all_of", HAS_A, HAS_B), ONLY_A)[0]

    assert (F, None, "has_a is true; has_b is false") == (evaluation.label, evaluation.reason, evaluation.explanation)


def test_not_called_equals_not_any_called() -> None:
    forbidden = a_condition("tools_not_called", "b", "c")
    inverted = parse_condition(
        {
            "condition_type": "not",
            "condition": {
                "condition_type": "any_of",
                "conditions": [HAS_B, a_condition("tools_called", "c")],
            },
        }
    )

    for evidence in (ONLY_A, partial(ONLY_A), tool_spans(a_tool_call("c"))):
        assert answers(forbidden, evidence)[0].label == answers(inverted, evidence)[0].label
