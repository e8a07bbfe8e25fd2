"""
Mutation check of the order verdict: every known way to get it wrong is applied to the source, and the case table must
notice.
"""

import json
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from service.scoring import order

SOURCE = Path(order.__file__).read_text(encoding="utf-8")
CASES: list[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "data/cases/order_cases.json").read_text())


class Mutant(NamedTuple):
    """
    Edits of the source, each (text, replacement); a text must occur exactly once.
    """

    name: str
    edits: tuple[tuple[str, str], ...]
    least_failures: int
    """How many cases fail at least; the reference counts them."""


NO_TOLERANCE_TO_ESTABLISH = ("frontier + tolerance < attempt.start", "frontier < attempt.start")
NO_TOLERANCE_TO_CONTRADICT = ("attempt.end + tolerance >= latest", "attempt.end >= latest")
SKIP_UNFINISHED = "if attempt.is_certain and attempt.end is not None and frontier + tolerance < attempt.start"

MUTANTS = [
    Mutant(
        "equal timestamps count as an order",
        (("frontier + tolerance < attempt.start", "frontier + tolerance <= attempt.start"),),
        5,
    ),
    Mutant("tolerance ignored", (NO_TOLERANCE_TO_ESTABLISH, NO_TOLERANCE_TO_CONTRADICT), 4),
    Mutant(
        "negative on partial coverage",
        (("if acquisition is Acquisition.COMPLETE and not possible", "if not possible"),),
        3,
    ),
    Mutant(
        "overlap returns false",
        (("Acquisition.COMPLETE and not possible and", "Acquisition.COMPLETE and"),),
        22,
    ),
    Mutant(
        "first finished instead of earliest finishing",
        (("return min(ends, default=None)", "return next(iter(ends), None)"),),
        2,
    ),
    Mutant(
        "possible search uses the latest start",
        (("return min(starts, default=None)", "return max(starts, default=None)"),),
        4,
    ),
    Mutant(
        "unfinished may precede",
        (
            (
                "        attempt.end\n        for",
                "        attempt.start if attempt.end is None else attempt.end\n        for",
            ),
            (SKIP_UNFINISHED, "if attempt.is_certain and frontier + tolerance < attempt.start"),
        ),
        2,
    ),
    Mutant(
        "error and unavailable not guarded",
        (
            (
                "Acquisition.UNAVAILABLE}:\n        return Verdict.UNDETERMINED\n",
                "Acquisition.UNAVAILABLE}:\n        acquisition = Acquisition.COMPLETE\n",
            ),
        ),
        2,
    ),
    Mutant("unlinked downgrade removed", ((" and not possible and all_requests_linked", " and not possible"),), 2),
    Mutant("previous start only", (("latest = max(latest, start)", "latest = start"),), 5),
    Mutant("tolerance on the definite side only", (NO_TOLERANCE_TO_CONTRADICT,), 2),
    Mutant("tolerance on the contradiction side only", (NO_TOLERANCE_TO_ESTABLISH,), 2),
    Mutant(
        "equal timestamps contradict",
        (("attempt.end + tolerance >= latest", "attempt.end + tolerance > latest"),),
        6,
    ),
]


def load(source: str) -> ModuleType:
    """
    The order module made from *source*, beside the real one.
    """
    module = ModuleType("mutated_order")
    exec(compile(source, "mutated_order", "exec"), module.__dict__)
    return module


def failing_cases(module: ModuleType) -> list[str]:
    return [case["id"] for case in CASES if case["verdict"] != verdict_of(module, case)]


def verdict_of(module: ModuleType, case: dict[str, Any]) -> str:
    steps = [
        [module.Attempt(start, end) for name, start, end in case["spans"] if name == tool] for tool in case["tools"]
    ]
    verdict = module.order_verdict(
        steps,
        tolerance=case["tolerance"],
        acquisition=module.Acquisition(case["acquisition"]),
        all_requests_linked=case["all_requests_linked"],
    )
    return str(verdict)


def mutate(mutant: Mutant) -> str:
    source = SOURCE
    for text, replacement in mutant.edits:
        assert 1 == source.count(text), f"the source no longer holds {text!r} once: renew the mutant"
        source = source.replace(text, replacement)
    return source


def test_the_source_as_it_is_passes_every_case() -> None:
    assert [] == failing_cases(load(SOURCE))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_case_table_kills_the_mutant(mutant: Mutant) -> None:
    failing = failing_cases(load(mutate(mutant)))

    assert mutant.least_failures <= len(failing), failing


def test_all_thirteen_mutants_are_applied() -> None:
    assert 13 == len({mutant.name for mutant in MUTANTS})
