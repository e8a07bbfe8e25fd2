"""
Argument rules: their direction, their paths, and what happens when arguments are not known.
"""

import pytest
from scoring_builders import a_condition, a_tool_call, answer, tool_spans

from proto_adapters.canonical import AttributeValue
from service.conditions import ArgumentMatch, ToolRequirement
from service.evaluation import Reason, Verdict
from service.scoring.arguments import arguments_match

LISTED: dict[str, AttributeValue] = {"city": "Oslo", "days": 2}

RULES: dict[str, tuple[dict[str, AttributeValue], AttributeValue, tuple[bool, bool, bool]]] = {
    "equal": (LISTED, {"days": 2, "city": "Oslo"}, (True, True, True)),
    "fewer than listed": (LISTED, {"city": "Oslo"}, (False, True, False)),
    "more than listed": (LISTED, {"city": "Oslo", "days": 2, "unit": "C"}, (False, False, True)),
    "another value": (LISTED, {"city": "Bergen", "days": 2}, (False, False, False)),
    "JSON text": (LISTED, '{"city": "Oslo", "days": 2.0}', (True, True, True)),
    "nested more": ({"a": {"x": 1}}, {"a": {"x": 1, "y": 2}}, (False, False, True)),
    "nested fewer": ({"a": {"x": 1, "y": 2}}, {"a": {"x": 1}}, (False, True, False)),
    "dotted path": ({"a.x": 1}, {"a": {"x": 1, "y": 2}, "b": 3}, (False, False, True)),
    "dotted path into a list": ({"items.1.sku": "k"}, {"items": [{}, {"sku": "k"}]}, (False, False, True)),
    "escaped dot": ({"a\\.x": 1}, {"a.x": 1}, (True, True, True)),
    "true is not 1": ({"flag": True}, {"flag": 1}, (False, False, False)),
    "lists in their order": ({"l": [1, 2]}, {"l": [2, 1]}, (False, False, False)),
    "equal lists": ({"l": [1, {"x": 2}]}, {"l": [1, {"x": 2}]}, (True, True, True)),
    "no arguments listed, none given": ({}, {}, (True, True, True)),
    "no arguments listed, some given": ({}, {"a": 1}, (False, False, True)),
}


@pytest.mark.parametrize(("listed", "actual", "expected"), RULES.values(), ids=RULES.keys())
def test_exact_subset_and_superset_keep_their_direction(
    listed: dict[str, AttributeValue], actual: AttributeValue, expected: tuple[bool, bool, bool]
) -> None:
    rules = (ArgumentMatch.EXACT, ArgumentMatch.SUBSET, ArgumentMatch.SUPERSET)
    requirements = [
        ToolRequirement.model_validate({"name": "t", "arguments": listed, "argument_match": rule}) for rule in rules
    ]

    assert expected == tuple(arguments_match(requirement, actual) for requirement in requirements)


@pytest.mark.parametrize("actual", [None, "not JSON", '{"cut": ', "[1, 2]", 5, "[" * 100_000], ids=repr)
def test_arguments_that_cannot_be_read_are_unknown(actual: AttributeValue) -> None:
    picky = ToolRequirement(name="t", arguments={"a": 1})

    assert arguments_match(picky, actual) is None
    assert arguments_match(ToolRequirement(name="t"), actual) is True
    assert arguments_match(picky.model_copy(update={"argument_match": ArgumentMatch.IGNORE}), actual) is True


TO_OSLO = {"name": "fly", "arguments": {"to": "Oslo"}}
KNOWN = a_tool_call("fly", 1, 2, arguments={"to": "Oslo"})
OTHER = a_tool_call("fly", 1, 2, arguments={"to": "Bergen"})
UNKNOWN = a_tool_call("fly", 1, 2)
PACK = a_tool_call("pack", 5, 6)

UNDER_UNKNOWN = {
    "called": ("tools_called", [TO_OSLO], (Verdict.TRUE, Verdict.FALSE, Verdict.UNDETERMINED)),
    "forbidden": ("tools_not_called", [TO_OSLO], (Verdict.FALSE, Verdict.TRUE, Verdict.UNDETERMINED)),
    "counted": (
        "tool_call_count",
        [{**TO_OSLO, "min": 1, "max": 3}],
        (Verdict.TRUE, Verdict.FALSE, Verdict.UNDETERMINED),
    ),
    "in order": (
        "tools_called_in_order",
        [TO_OSLO, "pack"],
        (Verdict.TRUE, Verdict.FALSE, Verdict.UNDETERMINED),
    ),
}


@pytest.mark.parametrize(("condition_type", "tools", "expected"), UNDER_UNKNOWN.values(), ids=UNDER_UNKNOWN.keys())
def test_a_verdict_that_hangs_on_unknown_arguments_is_undetermined(
    condition_type: str, tools: list[object], expected: tuple[Verdict, Verdict, Verdict]
) -> None:
    condition = a_condition(condition_type, *tools)

    found = [answer(condition, tool_spans(call, PACK)) for call in (KNOWN, OTHER, UNKNOWN)]

    assert expected == tuple(evaluation.label for evaluation in found)
    assert (None, None, Reason.NO_TOOL_EVIDENCE) == tuple(evaluation.reason for evaluation in found)


def test_arguments_are_never_told() -> None:
    evaluation = answer(a_condition("tools_called", TO_OSLO), tool_spans(OTHER))

    assert "Oslo" not in repr(evaluation)
    assert "Bergen" not in repr(evaluation)


def test_a_requirement_reads_arguments_only_if_it_lists_some() -> None:
    ignoring = ToolRequirement(name="a", arguments={"x": 1}, argument_match=ArgumentMatch.IGNORE)

    assert [False, False, True] == [
        requirement.reads_arguments
        for requirement in (ToolRequirement(name="a"), ignoring, ToolRequirement(name="a", arguments={}))
    ]
