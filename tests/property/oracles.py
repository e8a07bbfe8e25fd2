"""
Brute force: what the fast searches must agree with, written from the definitions.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import combinations, pairwise, product

from service.evaluation import Verdict
from service.scoring.order import Acquisition, Attempt

Pairs = Collection[tuple[int, int]]


def precedes(a: Attempt, b: Attempt, tolerance: int) -> bool:
    """
    Both finished, and the gap between them is more than the tolerance.
    """
    return a.end is not None and b.end is not None and a.end + tolerance < b.start


def choices(steps: Sequence[Sequence[Attempt]]) -> Iterator[tuple[Attempt, ...]]:
    return product(*steps)


def chain(length: int) -> list[tuple[int, int]]:
    return list(pairwise(range(length)))


def closure(count: int, pairs: Pairs) -> set[tuple[int, int]]:
    """
    All pairs that follow from *pairs*.
    """
    reached = set(pairs)
    for middle, first, last in product(range(count), repeat=3):
        if (first, middle) in reached and (middle, last) in reached:
            reached.add((first, last))
    return reached


def is_established(steps: Sequence[Sequence[Attempt]], pairs: Pairs, tolerance: int) -> bool:
    return any(
        all(attempt.end is not None for attempt in choice)
        and all(precedes(choice[i], choice[j], tolerance) for i, j in pairs)
        for choice in choices(steps)
    )


def is_possible(steps: Sequence[Sequence[Attempt]], pairs: Pairs, tolerance: int) -> bool:
    """
    Some choice contradicts no pair, adjacent or not.
    """
    all_pairs = closure(len(steps), pairs)
    return any(not any(precedes(choice[j], choice[i], tolerance) for i, j in all_pairs) for choice in choices(steps))


def verdict(
    steps: Sequence[Sequence[Attempt]], pairs: Pairs, tolerance: int, acquisition: Acquisition, *, linked: bool = True
) -> Verdict:
    if acquisition in {Acquisition.ERROR, Acquisition.UNAVAILABLE}:
        return Verdict.UNDETERMINED
    if is_established(steps, pairs, tolerance):
        return Verdict.TRUE
    if acquisition is Acquisition.COMPLETE and linked and not is_possible(steps, pairs, tolerance):
        return Verdict.FALSE
    return Verdict.UNDETERMINED


def worlds(steps: Sequence[Sequence[Attempt]], tolerance: int) -> Iterator[list[list[int]]]:
    """
    Every way in which each attempt took effect at one instant, clocks off by half the tolerance, on a half-unit grid.
    """
    ranges = [
        range(2 * attempt.start - tolerance, 2 * attempt.end + tolerance + 1)
        for attempts in steps
        for attempt in attempts
        if attempt.end is not None
    ]
    for instants in product(*ranges):
        left = iter(instants)
        yield [[next(left) for _ in attempts] for attempts in steps]


def has_chain(instants: Sequence[Sequence[int]], *, strict: bool) -> bool:
    """
    Whether one instant of each step can be chosen so that they follow each other.
    """
    return any(all(a < b if strict else a <= b for a, b in combinations(choice, 2)) for choice in product(*instants))


def maximum_matching(choices_of_rows: Sequence[Collection[int]]) -> int:
    """
    The most rows that can have a choice each, by trying everything.
    """
    if not choices_of_rows:
        return 0
    first, *rest = choices_of_rows
    without = maximum_matching(rest)
    taken = (1 + maximum_matching([set(row) - {choice} for row in rest]) for choice in first)
    return max([without, *taken])
