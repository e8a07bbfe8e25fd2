"""
Searches for a choice, against trying everything.
"""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st
from property import oracles

from service.scoring.matching import maximum_matching
from service.scoring.search import has_choice

ROWS = st.lists(st.sets(st.integers(0, 4)), max_size=5)
NODES = st.lists(st.lists(st.integers(0, 3), max_size=3), min_size=1, max_size=4)


@given(ROWS)
def test_a_matching_is_maximal(rows: list[set[int]]) -> None:
    assert oracles.maximum_matching(rows) == maximum_matching(rows)


def test_a_pairing_is_found_where_first_come_first_served_misses_it() -> None:
    assert 2 == maximum_matching([[0, 1], [0]])


@given(
    NODES,
    st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3))),
    st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3))),
)
def test_a_choice_is_found_if_there_is_one(
    nodes: list[list[int]], pairs: set[tuple[int, int]], allowed: set[tuple[int, int]]
) -> None:
    pairs = {(i, j) for i, j in pairs if i != j and max(i, j) < len(nodes)}
    exists = any(all((choice[i], choice[j]) in allowed for i, j in pairs) for choice in product(*nodes))

    assert exists == has_choice(nodes, pairs, lambda earlier, later: (earlier, later) in allowed)


def test_a_search_that_is_too_long_gives_up() -> None:
    nodes = [list(range(10))] * 10

    assert has_choice(nodes, [(8, 9)], lambda _earlier, _later: False, max_steps=1_000) is None
