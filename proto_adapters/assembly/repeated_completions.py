"""
Which LLM spans repeat another's completion: the last paragraph of the dialects reference, §5.5.

Pure. A completion counts once, from the span that tells most of it, and a hidden repetition never makes a trace
partial. Two spans that tell different calls are two completions, whatever else they share.
"""

from collections import defaultdict
from collections.abc import Sequence

from msgspec.structs import replace

from proto_adapters.assembly.completions import RANK
from proto_adapters.assembly.intervals import Interval, end_or_open, only_containers
from proto_adapters.assembly.tree import NO_SPAN, SpanTree
from proto_adapters.canonical import CanonicalSpan, CompletionState, SpanKind

SAME_RESPONSE = "response_id"
NESTED = "llm_ancestor"
BESIDE = "llm_beside"

_CONTENTLESS = "anthropic_sdk"
"""The dialect of a client that writes model spans of its own, without content, below or beside its instrumentation."""


def mark_repeated(tree: SpanTree) -> None:
    """
    Set `duplicate_of` and `duplicate_rule` on every LLM span that repeats another.
    """
    models = [position for position, span in enumerate(tree.spans) if _may_repeat(span)]
    if len(models) > 1:
        _mark_same_response(tree, models)
        _mark_beside(tree, models)
        _mark_nested(tree, models)
        if any(tree.spans[position].duplicate_of for position in models):
            _follow_chains(tree, models)


def _may_repeat(span: CanonicalSpan) -> bool:
    is_one_response = span.completion is not CompletionState.STALE
    return span.kind is SpanKind.LLM and is_one_response and span.duplicate_of is None


def _mark_same_response(tree: SpanTree, models: Sequence[int]) -> None:
    groups: dict[str, list[int]] = defaultdict(list)
    for position in models:
        if response_id := tree.spans[position].response_id:
            groups[response_id].append(position)
    for members in groups.values():
        if len(members) > 1:
            best = max(members, key=lambda position: (*_worth(tree.spans[position]), -position))
            for member in members:
                if member != best and _names(tree.spans[member]) <= _names(tree.spans[best]):
                    _mark(tree, member, best, SAME_RESPONSE)


def _mark_beside(tree: SpanTree, models: Sequence[int]) -> None:
    """
    A client's own span lies in time in exactly one sibling that an instrumentation wrote of the same request.
    """
    inner: dict[int, list[Interval]] = defaultdict(list)
    outer: dict[int, list[Interval]] = defaultdict(list)
    for position in models:
        span = tree.spans[position]
        if _may_repeat(span) and _is_clients_own(span):
            inner[tree.parents[position]].append(_interval(span, position))
        elif span.response_id is None:
            outer[tree.parents[position]].append(_interval(span, position))
    for parent, spans in inner.items():
        for member, kept in only_containers(outer.get(parent, ()), spans).items():
            _mark(tree, member, kept, BESIDE)


def _is_clients_own(span: CanonicalSpan) -> bool:
    return _CONTENTLESS in span.dialects and span.completion is CompletionState.HIDDEN


def _interval(span: CanonicalSpan, position: int) -> Interval:
    return Interval(span.start_ns, end_or_open(span), position)


class _Tellers:
    """
    LLM spans that tell the completions below one place of the tree, none of them repeated by another of them.
    """

    def __init__(self) -> None:
        self.positions: list[int] = []
        self.names: set[str] = set()
        self.calls = 0
        self.rank = 0

    def add(self, position: int, span: CanonicalSpan) -> None:
        self.positions.append(position)
        self.names |= _names(span)
        self.calls += len(span.embedded_calls)
        self.rank = max(self.rank, RANK[span.completion])

    def joined(self, other: "_Tellers") -> "_Tellers":
        """Smaller into larger, so that joining along any tree stays near linear."""
        small, large = sorted((self, other), key=lambda tellers: len(tellers.positions))
        large.positions += small.positions
        large.names |= small.names
        large.calls += small.calls
        large.rank = max(large.rank, small.rank)
        return large

    def know_less_than(self, outer: CanonicalSpan) -> bool:
        """
        Whether the span around them tells all that they tell, and better. Of an equal pair the outer one is kept.
        """
        known, told = (self.calls, self.rank), _worth(outer)
        is_better = told > known or (told == known and len(self.positions) == 1)
        return is_better and self.names <= _names(outer)


def _mark_nested(tree: SpanTree, models: Sequence[int]) -> None:
    """
    Inner LLM spans repeat the outer one, or the outer one sums up the inner ones, whichever tells more.
    """
    below: dict[int, _Tellers] = {}
    above = _nearest_llm(tree)
    if all(above[position] == NO_SPAN for position in models):
        return
    for position in reversed(tree.preorder):
        if _may_repeat(tree.spans[position]):
            tellers = _settle(tree, position, below.pop(position, _Tellers()))
            if (outer := above[position]) != NO_SPAN:
                below[outer] = tellers.joined(below[outer]) if outer in below else tellers


def _nearest_llm(tree: SpanTree) -> list[int]:
    """
    For each span the LLM span around it, with no border between.
    """
    nearest = [NO_SPAN] * len(tree.spans)
    spans, parents = tree.spans, tree.parents
    for position in tree.preorder:
        parent = parents[position]
        if parent != NO_SPAN and not _is_border(spans[parent]):
            nearest[position] = parent if _may_repeat(spans[parent]) else nearest[parent]
    return nearest


def _is_border(span: CanonicalSpan) -> bool:
    return span.kind is SpanKind.AGENT or span.kind is SpanKind.TOOL or span.completion is CompletionState.STALE


def _settle(tree: SpanTree, position: int, inner: _Tellers) -> _Tellers:
    span = tree.spans[position]
    if inner.positions and inner.know_less_than(span):
        for repeated in inner.positions:
            _mark(tree, repeated, position, NESTED)
        inner = _Tellers()
    elif inner.positions and _names(span) <= inner.names:
        _mark(tree, position, min(inner.positions), NESTED)
        return inner
    inner.add(position, span)
    return inner


def _follow_chains(tree: SpanTree, models: Sequence[int]) -> None:
    """Point every repetition at the span that counts, not at another repetition."""
    kept = {position: position for position in models}
    for position in models:
        path = [position]
        while kept[path[-1]] == path[-1] and (repeated := tree.spans[path[-1]].duplicate_of):
            path.append(tree.index[repeated])
        for passed in path:
            kept[passed] = kept[path[-1]]
        if kept[position] != position:
            tree.spans[position] = replace(tree.spans[position], duplicate_of=tree.spans[kept[position]].span_id)


def _mark(tree: SpanTree, member: int, kept: int, rule: str) -> None:
    tree.spans[member] = replace(tree.spans[member], duplicate_of=tree.spans[kept].span_id, duplicate_rule=rule)


def _worth(span: CanonicalSpan) -> tuple[int, int]:
    return len(span.embedded_calls), RANK[span.completion]


def _names(span: CanonicalSpan) -> set[str]:
    return {call.name for call in span.embedded_calls}
