"""
Maximum one-to-one matching between requirements and calls.

Pure. Augmenting paths, not first come first served: with rules that are no equality a greedy pairing can miss one that
exists (reference metrics.md §1.2).
"""

from collections.abc import Collection, Sequence


def maximum_matching(choices: Sequence[Collection[int]]) -> int:
    """
    How many rows can each have one of their *choices* to themselves.
    """
    owner: dict[int, int] = {}
    return sum(_assign(row, choices, owner, set()) for row in range(len(choices)))


def _assign(row: int, choices: Sequence[Collection[int]], owner: dict[int, int], tried: set[int]) -> bool:
    """
    Find a choice for *row*, moving the owners of others if need be.
    """
    for choice in choices[row]:
        if choice in tried:
            continue
        tried.add(choice)
        if choice not in owner or _assign(owner[choice], choices, owner, tried):
            owner[choice] = row
            return True
    return False
