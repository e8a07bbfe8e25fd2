"""
Relative order of calls that stand in completions only (`order_from_embedded_calls`, design §6.2).

Pure. One thing establishes an order there: the result of the earlier call stands in the input of the completion that
asked for the later one. Starts and ends of model spans establish nothing.
"""

from collections.abc import Collection, Sequence

from proto_adapters.canonical import ToolCall
from service.evaluation import Verdict
from service.scoring.order import Acquisition, decide
from service.scoring.partial_order import predecessors
from service.scoring.search import has_choice

Pairs = Collection[tuple[int, int]]


def follows(later: ToolCall, earlier: ToolCall) -> bool:
    """
    Whether the completion that asked for *later* had read the result of *earlier*.
    """
    return earlier.call_id is not None and earlier.call_id in later.result_ids


def transitive_closure(count: int, pairs: Pairs) -> set[tuple[int, int]]:
    """
    All pairs that *pairs* imply.
    """
    before: dict[int, set[int]] = {}
    for node, direct in predecessors(count, pairs).items():
        before[node] = set(direct).union(*(before[earlier] for earlier in direct))
    return {(earlier, node) for node, all_before in before.items() for earlier in all_before}


def embedded_order_verdict(
    certain: Sequence[Sequence[ToolCall]],
    all_calls: Sequence[Sequence[ToolCall]],
    pairs: Pairs,
    *,
    acquisition: Acquisition,
    all_requests_linked: bool,
) -> Verdict:
    """
    Whether one call of each node fits every required pair. A search that gave up establishes and rules out nothing.

    *certain* holds the calls of each node, *all_calls* also those that may be calls of it.
    """
    closure = transitive_closure(len(all_calls), pairs)
    established = has_choice(certain, pairs, lambda earlier, later: follows(later, earlier))
    possible = has_choice(all_calls, closure, lambda earlier, later: not follows(earlier, later))
    return decide(
        established=established is True,
        possible=possible is not False,
        acquisition=acquisition,
        all_requests_linked=all_requests_linked,
    )
