"""
The page of guarantees: every cell is held by a test that exists, or says whose cell it repeats.
"""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "service" / "docs" / "guarantees.md"
TEST = re.compile(r"`(test_\w+)`")
BACKED = re.compile(r"`test_\w+`|\(?as (hold|pass_through)|no journal|not meant to be combined")


def _cells() -> list[tuple[str, str]]:
    rows = [line.strip("|").split("|") for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    return [(row[0].strip(), cell.strip()) for row in rows[2:] for cell in row[1:]]


def _functions() -> set[str]:
    trees = (ast.parse(file.read_text(encoding="utf-8")) for file in (ROOT / "tests").rglob("test_*.py"))
    return {
        node.name
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_every_test_that_the_page_names_exists() -> None:
    named = set(TEST.findall(PAGE.read_text(encoding="utf-8")))

    assert len(named) > 20
    assert set() == named - _functions()


@pytest.mark.parametrize(("failure", "cell"), _cells())
def test_every_cell_is_backed(failure: str, cell: str) -> None:
    assert BACKED.search(cell), failure


def test_every_mode_has_a_cell_for_every_failure() -> None:
    failures = [failure for failure, _ in _cells()]

    assert {4} == {failures.count(failure) for failure in failures}
