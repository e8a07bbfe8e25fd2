"""
What log records add to the completions of LLM spans.

Pure. Dialects reference §5.4: the first source that yields calls wins, and repeated calls are merged, not added.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

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
RANK = {state: rank for rank, state in enumerate(_FROM_WORST)}
"""What is known of one completion from several sources is the best of them; mixed responses stay mixed."""


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
    state = max([span.completion, *(log.completion for log in logs)], key=RANK.__getitem__)
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
