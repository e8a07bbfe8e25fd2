"""
Conditions as users write them: registered, strict, round-tripping, ordered.
"""

from typing import Literal

import pytest
from pydantic import ValidationError
from scoring_builders import a_condition

from service.conditions import (
    CONDITION_TYPES,
    MAX_TREE_DEPTH,
    NameMatching,
    ToolsCalled,
    ToolsCalledInOrder,
    ToolsCalledInPartialOrder,
    TreeCondition,
    condition_registry,
    parse_condition,
    walk,
)
from service.conditions.leaves import LeafCondition, NamedCondition

A_TREE: dict[str, object] = {
    "condition_type": "all_of",
    "name": "whole_refund",
    "conditions": [
        {"condition_type": "tools_called", "tools": ["lookup", {"name": "refund"}]},
        {
            "condition_type": "tools_called_in_order",
            "tools": ["z", "a", {"name": "m", "arguments": {"order.id": 7}, "argument_match": "superset"}],
            "clock_skew_tolerance": "1.5ms",
            "name_matching": "normalized",
        },
        {"condition_type": "not", "condition": {"condition_type": "tools_not_called", "tools": ["lookup"]}},
        {
            "condition_type": "any_of",
            "conditions": [{"condition_type": "tool_call_count", "tools": [{"name": "a", "max": 0}]}],
        },
        {
            "condition_type": "majority",
            "conditions": [
                {
                    "condition_type": "tools_called_in_partial_order",
                    "tools": ["a", "b", "c", "d"],
                    "before": [["a", "d"]],
                    "groups": [["a"], ["b", "c"]],
                }
            ],
        },
    ],
}


def test_every_condition_type_of_the_design_is_registered() -> None:
    assert {
        "tools_called",
        "tools_called_in_order",
        "tools_not_called",
        "tool_call_count",
        "tools_called_in_partial_order",
        "all_of",
        "any_of",
        "majority",
        "not",
    } == set(CONDITION_TYPES)


def test_a_tree_of_every_type_survives_json_with_its_order() -> None:
    tree = parse_condition(A_TREE)

    again = parse_condition(tree.model_dump(mode="json"))

    assert tree == again
    assert set(CONDITION_TYPES) == {node.condition_type for node in walk(again)}
    assert tree.canonical_json == again.canonical_json


def test_tools_may_be_strings_or_objects() -> None:
    assert a_condition("tools_called", "a", "b") == a_condition("tools_called", {"name": "a"}, {"name": "b"})


def test_the_order_of_tools_is_part_of_a_condition() -> None:
    assert a_condition("tools_called_in_order", "a", "b") != a_condition("tools_called_in_order", "b", "a")


def test_a_condition_is_named_by_its_type_unless_it_has_a_name() -> None:
    assert "tools_called" == a_condition("tools_called", "a").evaluation_name
    assert "refund_tools" == a_condition("tools_called", "a", name="refund_tools").evaluation_name


@pytest.mark.parametrize("field", ["name", "tools", "condition_type"])
def test_conditions_are_immutable(field: str) -> None:
    condition = a_condition("tools_called", "a")

    with pytest.raises(ValidationError, match="frozen"):
        setattr(condition, field, ())


@pytest.mark.parametrize(
    ("tolerance", "nanoseconds"), [("0s", 0), (0, 0), ("250us", 250_000), ("1.5ms", 1_500_000)], ids=str
)
def test_a_tolerance_is_a_duration(tolerance: object, nanoseconds: int) -> None:
    condition = a_condition("tools_called_in_order", "a", "b", clock_skew_tolerance=tolerance)

    assert isinstance(condition, ToolsCalledInOrder)
    assert nanoseconds == condition.clock_skew_tolerance_ns


IN_ORDER: dict[str, object] = {"condition_type": "tools_called_in_order", "tools": ["a", "b"]}
PARTIAL: dict[str, object] = {"condition_type": "tools_called_in_partial_order", "tools": ["a", "b", "c"]}

MISTAKES = {
    "unknown type": ({"condition_type": "tool_called", "tools": ["a"]}, "union_tag_invalid|does not match"),
    "no type": ({"tools": ["a"]}, "condition_type"),
    "unknown field": ({**IN_ORDER, "tool": "a"}, "Extra inputs"),
    "unknown field of a tool": ({"condition_type": "tools_called", "tools": [{"name": "a", "n": 1}]}, "Extra inputs"),
    "no tools": ({"condition_type": "tools_called", "tools": []}, "at least 1"),
    "one tool in order": ({**IN_ORDER, "tools": ["a"]}, "at least 2"),
    "a tool twice": ({**IN_ORDER, "tools": ["a", "b", "a"]}, "each tool is named once"),
    "one tool in two spellings": (
        {**IN_ORDER, "tools": ["getWeather", "get_weather"], "name_matching": "normalized"},
        "each tool is named once",
    ),
    "blank tool": ({**IN_ORDER, "tools": ["a", "  "]}, "pattern"),
    "empty tool": ({**IN_ORDER, "tools": ["a", ""]}, "at least 1"),
    "bad name": ({**IN_ORDER, "name": "Refund"}, "pattern"),
    "name with a line end": ({**IN_ORDER, "name": "refund\n"}, "pattern"),
    "R29 negative tolerance": ({**IN_ORDER, "clock_skew_tolerance": "-1ms"}, "negative"),
    "tolerance without unit": ({**IN_ORDER, "clock_skew_tolerance": 5}, "unit"),
    "infinite tolerance": ({**IN_ORDER, "clock_skew_tolerance": float("inf")}, "duration"),
    "tolerance that is no number": ({**IN_ORDER, "clock_skew_tolerance": float("nan")}, "duration"),
    "unknown name matching": ({**IN_ORDER, "name_matching": "fuzzy"}, "exact"),
    "count without bounds": ({"condition_type": "tool_call_count", "tools": [{"name": "a"}]}, "min .* or max"),
    "count of a bare name": ({"condition_type": "tool_call_count", "tools": ["a"]}, "valid dictionary"),
    "max below min": (
        {"condition_type": "tool_call_count", "tools": [{"name": "a", "min": 3, "max": 2}]},
        "less than min",
    ),
    "negative min": ({"condition_type": "tool_call_count", "tools": [{"name": "a", "min": -1}]}, "greater than"),
    "cycle": (
        {**PARTIAL, "before": [["a", "b"], ["b", "c"], ["c", "a"]]},
        "a before b before c before a|b before c before a before b|c before a before b before c",
    ),
    "tool before itself": ({**PARTIAL, "before": [["a", "a"]]}, "a before a"),
    "cycle through groups": ({**PARTIAL, "groups": [["a"], ["b", "a"]]}, "cycle"),
    "no pair": ({**PARTIAL, "groups": [["a", "b", "c"]]}, "at least one pair"),
    "pair of a tool that is not listed": ({**PARTIAL, "before": [["a", "x"]]}, "'x' is not among tools"),
    "pair of three": ({**PARTIAL, "before": [["a", "b", "c"]]}, "at most 2|2 items"),
    "empty tree": ({"condition_type": "all_of", "conditions": []}, "at least 1"),
    "not without a condition": ({"condition_type": "not"}, "condition"),
    "argument given twice": (
        {"condition_type": "tools_called", "tools": [{"name": "a", "arguments": {"x.y": 1, "x": {"y": 2}}}]},
        "arguments.x is given twice",
    ),
    "argument path through a value": (
        {"condition_type": "tools_called", "tools": [{"name": "a", "arguments": {"x": 1, "x.y": 2}}]},
        "descends into a value",
    ),
}


@pytest.mark.parametrize(("document", "message"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_refused_and_told(document: object, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        parse_condition(document)


def test_a_mistake_deep_in_a_tree_names_its_place() -> None:
    tree = {
        "condition_type": "all_of",
        "conditions": [
            IN_ORDER,
            {"condition_type": "not", "condition": {"condition_type": "tools_called", "tools": []}},
        ],
    }

    with pytest.raises(ValidationError) as caught:
        parse_condition(tree)

    place = [str(step) for step in caught.value.errors()[0]["loc"]]
    assert ["conditions", "1", "condition", "tools"] == [step for step in place if step not in CONDITION_TYPES]


def nested(levels: int) -> dict[str, object]:
    document: dict[str, object] = {"condition_type": "tools_called", "tools": ["a"]}
    for _ in range(levels - 1):
        document = {"condition_type": "not", "condition": document}
    return document


def test_trees_may_be_nested_to_the_stated_depth() -> None:
    tree = parse_condition(nested(MAX_TREE_DEPTH))

    assert isinstance(tree, TreeCondition)
    assert MAX_TREE_DEPTH == tree.depth


@pytest.mark.parametrize("levels", [MAX_TREE_DEPTH + 1, 5_000], ids=["one too deep", "an attack"])
def test_deeper_trees_are_refused(levels: int) -> None:
    with pytest.raises(ValidationError):
        parse_condition(nested(levels))


def test_a_condition_type_can_be_registered_once() -> None:
    class Twin(LeafCondition):
        condition_type: Literal["tools_called"] = "tools_called"

    with pytest.raises(ValueError, match="already registered"):
        condition_registry([ToolsCalled, Twin])


def test_a_condition_type_needs_one_literal_that_is_its_default() -> None:
    class Vague(NamedCondition):
        condition_type: str = "vague"

    class Double(NamedCondition):
        condition_type: Literal["one", "two"] = "one"

    for wrong in (Vague, Double):
        with pytest.raises(TypeError, match="must be a literal"):
            condition_registry([wrong])


def a_partial_order(*tools: str, **fields: object) -> ToolsCalledInPartialOrder:
    condition = a_condition("tools_called_in_partial_order", *tools, **fields)
    assert isinstance(condition, ToolsCalledInPartialOrder)
    return condition


def test_normalized_names_of_pairs_are_found_among_the_tools() -> None:
    condition = a_partial_order("getA", "getB", before=[["get_a", "get-b"]], name_matching="normalized")

    assert ((0, 1),) == condition.pairs


def test_groups_put_every_tool_of_a_stage_before_every_tool_of_the_next() -> None:
    condition = a_partial_order("a", "b", "c", "d", groups=[["a"], ["b", "c"], ["d"]], before=[["a", "d"]])

    assert ((0, 1), (0, 2), (0, 3), (1, 3), (2, 3)) == condition.pairs


def test_exact_and_normalized_names_differ_in_case_and_separators() -> None:
    assert "Get-It" == NameMatching.EXACT.key("Get-It")
    assert NameMatching.NORMALIZED.key("getIt") == NameMatching.NORMALIZED.key("Get-It")
