"""
A choice of one element per node under pairwise rules, by backtracking.

Pure. For relations that are no interval order, where no greedy choice is exact. The number of steps is limited: beyond
it the answer is "not known", which callers must read as such.
"""

from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

MAX_STEPS = 20_000

Element = TypeVar("Element")


class _OutOfSteps(Exception):
    pass


class _Search:
    def __init__(self, max_steps: int) -> None:
        self._steps_left = max_steps

    def complete(
        self,
        chosen: list[Element],
        nodes: Sequence[Sequence[Element]],
        fits: Callable[[int, Element, Sequence[Element]], bool],
    ) -> bool:
        """
        Whether *chosen*, one element for each of the first nodes, can be completed.
        """
        if len(chosen) == len(nodes):
            return True
        for element in nodes[len(chosen)]:
            self._steps_left -= 1
            if self._steps_left < 0:
                raise _OutOfSteps
            if fits(len(chosen), element, chosen) and self.complete([*chosen, element], nodes, fits):
                return True
        return False


def has_choice(
    nodes: Sequence[Sequence[Element]],
    pairs: Collection[tuple[int, int]],
    allows: Callable[[Element, Element], bool],
    *,
    max_steps: int = MAX_STEPS,
) -> bool | None:
    """
    Whether one element of each node can be chosen such that each pair of nodes *allows* (earlier, later); `None` if
    the search gave up.
    """

    def fits(node: int, element: Element, chosen: Sequence[Element]) -> bool:
        for earlier, later in pairs:
            if later == node and earlier < node and not allows(chosen[earlier], element):
                return False
            if earlier == node and later < node and not allows(element, chosen[later]):
                return False
        return True

    try:
        return _Search(max_steps).complete([], nodes, fits)
    except _OutOfSteps:
        return None
