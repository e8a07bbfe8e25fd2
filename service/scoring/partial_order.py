"""
Partial order of tool calls from their intervals: the two searches of `order`, over a directed acyclic graph.

Pure, exact, linear in attempts and pairs. Both searches are monotone in what the predecessors give, so that the best
value of each node can be chosen by itself, in topological order.
"""

from collections.abc import Collection, Sequence
from graphlib import TopologicalSorter

from service.evaluation import Verdict
from service.scoring.order import BEGINNING, Acquisition, Attempts, decide, earliest_end, earliest_start

Pairs = Collection[tuple[int, int]]
"""(earlier, later) as positions in the list of nodes."""


def predecessors(count: int, pairs: Pairs) -> dict[int, list[int]]:
    """
    Node -> its direct predecessors, in topological order. Raises `graphlib.CycleError`.
    """
    before: dict[int, list[int]] = {node: [] for node in range(count)}
    for earlier, later in pairs:
        before[later].append(earlier)
    return {node: before[node] for node in TopologicalSorter(before).static_order()}


def is_established(nodes: Sequence[Attempts], pairs: Pairs, tolerance: int) -> bool:
    """
    Some choice of one attempt per node has the earlier attempt of every pair end before the later one starts.
    """
    ends: dict[int, int] = {}
    for node, before in predecessors(len(nodes), pairs).items():
        frontier = max((ends[earlier] for earlier in before), default=BEGINNING)
        end = earliest_end(nodes[node], frontier, tolerance)
        if end is None:
            return False
        ends[node] = end
    return True


def first_impossible(nodes: Sequence[Attempts], pairs: Pairs, tolerance: int) -> int | None:
    """
    A node that no uncontradicted choice can reach; `None` if some choice contradicts no pair of the transitive closure.
    """
    latest: dict[int, int] = {}
    for node, before in predecessors(len(nodes), pairs).items():
        latest_before = max((latest[earlier] for earlier in before), default=BEGINNING)
        start = earliest_start(nodes[node], latest_before, tolerance)
        if start is None:
            return node
        latest[node] = max(latest_before, start)
    return None


def partial_order_verdict(
    nodes: Sequence[Attempts],
    pairs: Pairs,
    *,
    tolerance: int = 0,
    acquisition: Acquisition,
    all_requests_linked: bool = True,
) -> Verdict:
    """
    Whether one attempt of each node fits every required pair. `nodes` holds the attempts of each listed tool.
    """
    return decide(
        established=is_established(nodes, pairs, tolerance),
        possible=first_impossible(nodes, pairs, tolerance) is None,
        acquisition=acquisition,
        all_requests_linked=all_requests_linked,
    )
