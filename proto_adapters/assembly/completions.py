"""
Completions of LLM spans: what log records add to them, and which of them repeat another.

Pure. Dialects reference §5.4 (states, merging) and §5.5, last paragraph (duplicates).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from proto_adapters.assembly.intervals import Interval, end_or_open, only_containers
from proto_adapters.assembly.tree import NO_SPAN, SpanTree
from proto_adapters.canonical import (
    CanonicalSpan,
    CompletionState,
    EmbeddedCall,
    LogCompletion,
    Problem,
    SpanKind,
)

_FROM_WORST = (
    CompletionState.NONE,
    CompletionState.HIDDEN,
    CompletionState.REFERENCED,
    CompletionState.TRUNCATED,
    CompletionState.READ,
    CompletionState.STALE,
)
_RANK = {state: rank for rank, state in enumerate(_FROM_WORST)}
"""What is known of one completion from several sources is the best of them; mixed responses stay mixed."""

SAME_RESPONSE = "response_id"
NESTED_LLM = "llm_ancestor"
BESIDE = "llm_beside"

_CONTENTLESS = "anthropic_sdk"
"""The dialect of a client that writes model spans of its own, without content, below or beside its instrumentation."""


def merge_logs(tree: SpanTree, logs: Sequence[LogCompletion]) -> None:
    """
    Give each LLM span what log records tell of its completion. Records of other spans, and repeats, count for nothing.
    """
    by_span: dict[int, dict[bytes, LogCompletion]] = defaultdict(dict)
    for log in logs:
        position = tree.index.get(log.span_id, NO_SPAN)
        if position != NO_SPAN and tree.spans[position].kind is SpanKind.LLM:
            by_span[position][log.digest] = log
    for position, records in by_span.items():
        tree.spans[position] = _with_logs(tree.spans[position], [records[digest] for digest in sorted(records)])


def _with_logs(span: CanonicalSpan, logs: list[LogCompletion]) -> CanonicalSpan:
    state = max([span.completion, *(log.completion for log in logs)], key=_RANK.__getitem__)
    calls = span.embedded_calls or _merged(call for log in logs for call in log.embedded_calls)
    span = replace(span, completion=state, embedded_calls=calls)
    return _without_hidden_problem(span) if state is CompletionState.READ else span


def _merged(calls: Iterable[EmbeddedCall]) -> tuple[EmbeddedCall, ...]:
    """
    Calls read twice are one: the same id, or the same name at the same position where one has no id.
    """
    kept: list[EmbeddedCall] = []
    by_id: set[str] = set()
    by_place: dict[tuple[str, int, int], int] = {}
    for call in sorted(calls, key=_by_place):
        twin = by_place.get((call.name, call.candidate, call.index))
        if call.call_id in by_id or (twin is not None and None in {call.call_id, kept[twin].call_id}):
            continue
        by_place.setdefault((call.name, call.candidate, call.index), len(kept))
        kept.append(call)
        if call.call_id:
            by_id.add(call.call_id)
    return tuple(kept)


def _by_place(call: EmbeddedCall) -> tuple[int, int, bool, str, str, str]:
    return call.candidate, call.index, call.call_id is None, call.name, call.call_id or "", call.source


def _without_hidden_problem(span: CanonicalSpan) -> CanonicalSpan:
    kept = [pair for pair in _problems(span) if pair[0] is not Problem.COMPLETION_HIDDEN]
    return replace(
        span, problems=tuple(problem for problem, _ in kept), problem_details=tuple(detail for _, detail in kept)
    )


def _problems(span: CanonicalSpan) -> Iterator[tuple[Problem, str]]:
    for position, problem in enumerate(span.problems):
        yield problem, span.problem_details[position] if position < len(span.problem_details) else ""


def mark_duplicates(tree: SpanTree) -> None:
    """
    Mark every LLM span that repeats another's completion, so that a completion counts once, from its best member.
    """
    _mark_same_response(tree)
    _mark_beside(tree)
    _mark_nested(tree)


def _mark_same_response(tree: SpanTree) -> None:
    groups: dict[str, list[int]] = defaultdict(list)
    for position, span in enumerate(tree.spans):
        if span.response_id and _may_repeat(span):
            groups[span.response_id].append(position)
    for members in groups.values():
        best = max(members, key=lambda position: (*_worth(tree.spans[position]), -position))
        for member in members:
            if member != best and not _tell_different_calls(tree.spans[best], tree.spans[member]):
                _mark(tree, member, best, SAME_RESPONSE)


def _mark_beside(tree: SpanTree) -> None:
    """
    A client's own span lies in time in exactly one sibling that an instrumentation wrote of the same request.
    """
    outer: dict[int, list[Interval]] = defaultdict(list)
    inner: dict[int, list[Interval]] = defaultdict(list)
    for position, span in enumerate(tree.spans):
        if _may_repeat(span):
            is_own = _CONTENTLESS in span.dialects and span.completion is CompletionState.HIDDEN
            siblings = inner if is_own else outer
            if is_own or span.response_id is None:
                siblings[tree.parents[position]].append(Interval(span.start_ns, end_or_open(span), position))
    for parent, spans in inner.items():
        for member, kept in only_containers(outer.get(parent, ()), spans).items():
            _mark(tree, member, kept, BESIDE)


class _Tellers:
    """
    LLM spans that tell the completions below one place of the tree, none of them repeated by another of them.
    """

    def __init__(self) -> None:
        self.positions: list[int] = []
        self.calls = 0
        self.rank = 0

    def add(self, position: int, span: CanonicalSpan) -> None:
        self.positions.append(position)
        self.calls += len(span.embedded_calls)
        self.rank = max(self.rank, _RANK[span.completion])

    def joined(self, other: "_Tellers") -> "_Tellers":
        """Smaller into larger, so that joining along any tree stays near linear."""
        small, large = sorted((self, other), key=lambda tellers: len(tellers.positions))
        large.positions += small.positions
        large.calls += small.calls
        large.rank = max(large.rank, small.rank)
        return large

    def know_less_than(self, outer: CanonicalSpan) -> bool:
        """
        Whether the span around them is the better witness. Of an equal pair the outer is; of several inner, those.
        """
        known, told = (self.calls, self.rank), _worth(outer)
        return told > known or (told == known and len(self.positions) == 1)


def _mark_nested(tree: SpanTree) -> None:
    """
    Inner LLM spans repeat the outer one, or the outer one sums up the inner ones, whichever tells more.
    """
    below: dict[int, _Tellers] = {}
    above = _nearest_llm(tree)
    for position in reversed(tree.preorder):
        if not _may_repeat(tree.spans[position]):
            continue
        tellers = _settle(tree, position, below.pop(position, _Tellers()))
        if (outer := above[position]) != NO_SPAN:
            below[outer] = tellers.joined(below[outer]) if outer in below else tellers
    _follow_chains(tree)


def _settle(tree: SpanTree, position: int, inner: _Tellers) -> _Tellers:
    span = tree.spans[position]
    if inner.positions and not inner.know_less_than(span):
        _mark(tree, position, min(inner.positions), NESTED_LLM)
        return inner
    for repeated in inner.positions:
        _mark(tree, repeated, position, NESTED_LLM)
    outer = _Tellers()
    outer.add(position, span)
    return outer


def _follow_chains(tree: SpanTree) -> None:
    """Point every duplicate at the span that counts, not at another duplicate."""
    kept = list(range(len(tree.spans)))
    for position in range(len(tree.spans)):
        path = [position]
        while kept[path[-1]] == path[-1] and (repeated := _repeated_llm(tree, path[-1])) != NO_SPAN:
            path.append(repeated)
        for passed in path:
            kept[passed] = kept[path[-1]]
        if kept[position] != position:
            tree.spans[position] = replace(tree.spans[position], duplicate_of=tree.spans[kept[position]].span_id)


def _repeated_llm(tree: SpanTree, position: int) -> int:
    span = tree.spans[position]
    return tree.index[span.duplicate_of] if span.kind is SpanKind.LLM and span.duplicate_of else NO_SPAN


def _may_repeat(span: CanonicalSpan) -> bool:
    is_one_response = span.completion is not CompletionState.STALE
    return span.kind is SpanKind.LLM and is_one_response and span.duplicate_of is None


def _nearest_llm(tree: SpanTree) -> list[int]:
    nearest = [NO_SPAN] * len(tree.spans)
    for position in tree.preorder:
        parent = tree.parents[position]
        if parent != NO_SPAN and not _is_border(tree.spans[parent]):
            nearest[position] = parent if _may_repeat(tree.spans[parent]) else nearest[parent]
    return nearest


def _is_border(span: CanonicalSpan) -> bool:
    return span.kind in {SpanKind.AGENT, SpanKind.TOOL} or span.completion is CompletionState.STALE


def _worth(span: CanonicalSpan) -> tuple[int, int]:
    return len(span.embedded_calls), _RANK[span.completion]


def _tell_different_calls(one: CanonicalSpan, other: CanonicalSpan) -> bool:
    names = [sorted(call.name for call in span.embedded_calls) for span in (one, other)]
    return all(names) and names[0] != names[1]


def _mark(tree: SpanTree, member: int, kept: int, rule: str) -> None:
    tree.spans[member] = replace(tree.spans[member], duplicate_of=tree.spans[kept].span_id, duplicate_rule=rule)
