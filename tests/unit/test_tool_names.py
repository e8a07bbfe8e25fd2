"""
Name layers 2 and 3 (dialects reference §6).
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proto_adapters.tool_names import alias_match, comparison_key, is_tail


@pytest.mark.parametrize(
    "spelling",
    [
        "find_train",
        "findTrain",
        "Find Train",
        "find-train",
        "find.train",
        "FIND/TRAIN",
        "find::train",
        "\uff46ind_train",
    ],
)
def test_spellings_that_differ_by_case_and_separators_are_one_tool(spelling: str) -> None:
    assert comparison_key(spelling) == "findtrain"


@pytest.mark.parametrize(("one", "other"), [("find_train", "find_trains"), ("_", "-"), ("", "_"), ("tool1", "tool2")])
def test_different_names_have_different_keys(one: str, other: str) -> None:
    assert comparison_key(one) != comparison_key(other)


@given(st.text(max_size=40))
def test_the_key_of_a_key_is_the_key(name: str) -> None:
    assert comparison_key(comparison_key(name)) == comparison_key(name)


@pytest.mark.parametrize(
    "observed",
    [
        "mcp__trips__find_train",
        "mcp_trips_find_train",
        "trips__find_train",
        "trips-find_train",
        "trips_find_train",
        "trips-FindTrain",
        "functions.find_train",
        "trips/find_train",
        "trips:find_train",
    ],
)
def test_a_namespace_before_a_tool_is_an_alias_of_it(observed: str) -> None:
    assert alias_match(observed, ["find_train", "book_hotel"]) == "find_train"


@pytest.mark.parametrize(
    ("observed", "expected", "match"),
    [
        pytest.param("trips.search", ["search", "trips_search"], "trips_search", id="the full name is tried first"),
        pytest.param("trips__book_train", ["train", "book_train"], None, id="two expected tools fit"),
        pytest.param("refind_train", ["find_train"], None, id="no border before the tail"),
        pytest.param("find_train", ["mcp__trips__find_train"], None, id="the expected name is the longer one"),
        pytest.param("find_train", [], None, id="nothing is expected"),
        pytest.param("find_train_", ["find_train"], "find_train", id="the same key is the same name"),
    ],
)
def test_an_alias_counts_only_if_exactly_one_expected_tool_fits(
    observed: str, expected: list[str], match: str | None
) -> None:
    assert alias_match(observed, expected) == match


@pytest.mark.parametrize(
    ("one", "other", "related"),
    [
        ("mcp__trips__x", "x", True),
        ("x", "mcp__trips__x", True),
        ("plugin-x", "x", True),
        ("ns_x", "x", True),
        ("nsx", "x", False),
        ("x", "x", False),
        ("_x", "x", False),
        ("x_", "x", False),
    ],
)
def test_a_tail_begins_after_a_namespace_and_a_separator(one: str, other: str, *, related: bool) -> None:
    assert is_tail(one, other) is related


def test_a_lone_underscore_can_be_no_namespace_separator() -> None:
    assert not is_tail("search_flights", "flights", single_underscore=False)
    assert is_tail("trips__flights", "flights", single_underscore=False)


@pytest.mark.parametrize("name", ["a." * 33 + "b", "a" * 600 + ".b"])
def test_a_name_far_too_long_for_namespaces_has_none(name: str) -> None:
    assert not is_tail(name, "b")
