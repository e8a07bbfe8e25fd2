"""
Entries of the `expectations` block: strict, named, not empty.
"""

import json

import jsonschema
import pytest
from pydantic import TypeAdapter, ValidationError

from service.config.expectations import ExpectationConfig, Expectations

REFUND: dict[str, object] = {
    "name": "refund",
    "match": {"service_name": "shop-agent", "agent_name": ["refund*", "returns"]},
    "expected_tools": ["lookup_order", {"name": "issue_refund"}],
    "conditions": [
        {
            "condition_type": "tools_called_in_order",
            "name": "lookup_before_refund",
            "tools": ["lookup_order", "issue_refund"],
        }
    ],
}
CALLED: dict[str, object] = {"condition_type": "tools_called", "tools": ["a"]}
ENTRIES: TypeAdapter[tuple[ExpectationConfig, ...]] = TypeAdapter(Expectations)


def test_the_example_of_the_documentation_is_accepted_and_survives_json() -> None:
    entry = ExpectationConfig.model_validate(REFUND)

    assert entry == ExpectationConfig.model_validate(json.loads(entry.model_dump_json()))
    assert ("lookup_before_refund",) == entry.evaluation_names


def test_the_example_of_the_documentation_fits_the_json_schema() -> None:
    jsonschema.validate(REFUND, ExpectationConfig.model_json_schema())


def test_nodes_of_trees_are_evaluations_with_names() -> None:
    tree = {
        "condition_type": "all_of",
        "conditions": [CALLED, {"condition_type": "not", "name": "n", "condition": {**CALLED, "name": "c"}}],
    }

    entry = ExpectationConfig.model_validate({"name": "p", "conditions": [tree]})

    assert ("all_of", "tools_called", "n", "c") == entry.evaluation_names


MISTAKES: dict[str, tuple[dict[str, object], str]] = {
    "nothing required": ({"name": "p"}, "expected_tools or conditions must be given"),
    "empty list of tools": ({"name": "p", "expected_tools": []}, "at least 1"),
    "no name": ({"expected_tools": ["a"]}, "name"),
    "name of another source": ({"name": "annotation", "expected_tools": ["a"]}, "no entry gave"),
    "two conditions of one name": ({"name": "p", "conditions": [CALLED, CALLED]}, "tools_called names more than one"),
    "one name at two depths": (
        {"name": "p", "conditions": [CALLED, {"condition_type": "not", "condition": CALLED}]},
        "tools_called names more than one",
    ),
    "unknown key of match": ({"name": "p", "expected_tools": ["a"], "match": {"service": "x"}}, "Extra inputs"),
    "pattern that is no text": ({"name": "p", "expected_tools": ["a"], "match": {"service_name": 5}}, "service_name"),
    "no pattern": ({"name": "p", "expected_tools": ["a"], "match": {"service_name": []}}, "at least 1"),
    "unknown partition": ({"name": "p", "expected_tools": ["a"], "partition": "span"}, "trace"),
    "unknown condition": ({"name": "p", "conditions": [{"condition_type": "x"}]}, "condition_type"),
}


@pytest.mark.parametrize(("document", "message"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_refused_and_told(document: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        ExpectationConfig.model_validate(document)


def test_two_entries_of_one_name_are_refused() -> None:
    with pytest.raises(ValidationError, match="refund names more than one entry"):
        ENTRIES.validate_python([REFUND, REFUND])


WITH_ARGUMENTS: dict[str, object] = {"name": "a", "arguments": {"x": 1}}


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (REFUND, False),
        ({"name": "p", "expected_tools": [WITH_ARGUMENTS]}, True),
        ({"name": "p", "expected_tools": [{**WITH_ARGUMENTS, "argument_match": "ignore"}]}, False),
        (
            {
                "name": "p",
                "conditions": [
                    {
                        "condition_type": "not",
                        "condition": {"condition_type": "tools_called", "tools": [WITH_ARGUMENTS]},
                    }
                ],
            },
            True,
        ),
    ],
    ids=["names only", "expected tools", "ignored", "deep in a tree"],
)
def test_arguments_are_kept_only_where_an_entry_reads_them(entry: dict[str, object], *, expected: bool) -> None:
    assert expected is ExpectationConfig.model_validate(entry).reads_arguments


@pytest.mark.parametrize(
    ("first", "later", "is_conflict"),
    [
        pytest.param({"match": {"agent_name": "a"}}, {"match": {"agent_name": "a"}}, True, id="the same match"),
        pytest.param({}, {"match": {"agent_name": "a"}}, True, id="behind one that fits everything"),
        pytest.param(
            {"match": {"resource": {"k": ["a", "b"]}}},
            {"match": {"resource": {"k": ["b", "a"]}, "service_name": "s"}},
            True,
            id="behind one that asks for less",
        ),
        pytest.param({"partition": "both"}, {"partition": "session"}, True, id="covered partition"),
        pytest.param({"partition": "session"}, {"partition": "both"}, False, id="wider partition"),
        pytest.param({"partition": "trace"}, {"partition": "session"}, False, id="other partition"),
        pytest.param({"match": {"agent_name": "a"}}, {}, False, id="fallback"),
        pytest.param({"match": {"agent_name": "a"}}, {"match": {"agent_name": "b"}}, False, id="other value"),
        pytest.param(
            {"match": {"resource": {"k": "a"}}}, {"match": {"attributes": {"k": "a"}}}, False, id="other place"
        ),
    ],
)
def test_an_entry_that_can_never_decide_is_refused(
    first: dict[str, object], later: dict[str, object], *, is_conflict: bool
) -> None:
    entries = [{"name": name, "expected_tools": ["a"], **entry} for name, entry in (("x", first), ("y", later))]

    if not is_conflict:
        assert ["x", "y"] == [entry.name for entry in ENTRIES.validate_python(entries)]
        return
    with pytest.raises(ValidationError, match="y can never decide: whatever it fits, x fits too"):
        ENTRIES.validate_python(entries)
