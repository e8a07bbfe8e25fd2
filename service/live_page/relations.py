"""
How the calls of an order stand to each other: which pairs came in order, overlapped, or came the wrong way round.

Pure, and for eyes only: the verdict is the scorers'. Where the verdict is true, the calls chosen here are those that
establish it (`service/docs/semantics.md`, the definite search).
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from service.live_page.record import OrderQuestion, ShownCall
from service.live_page.words import brief_duration
from service.scoring.partial_order import predecessors

MAX_TOOLS = 60
"""Longer orders show their required pairs only."""


class Relation(StrEnum):
    """
    Closed set, the best first.
    """

    BEFORE = "before"
    TOO_CLOSE = "too_close"
    """One ended before the other began, but by no more than clocks may differ."""
    OVERLAPPING = "overlapping"
    UNKNOWN = "unknown"
    """One of them has no end, or is no evidence of an order."""
    AFTER = "after"
    ABSENT = "absent"
    """One of them was never called."""
    UNSEEN = "unseen"
    """One of them was not seen, and spans are missing."""


RANKS = {relation: rank for rank, relation in enumerate(Relation)}


class Link(Struct, frozen=True, kw_only=True):
    """
    One required pair, between the two calls that stand for it.
    """

    earlier: int
    """Positions of the tools in the question."""
    later: int
    earlier_call: int | None
    later_call: int | None
    relation: Relation
    text: str
    is_implied: bool = False
    """The pair follows from others."""


def relation_of(earlier: ShownCall, later: ShownCall, tolerance_ns: int, positions: tuple[int, int]) -> Relation:
    """
    How *earlier* stands to *later*, if it is required to come first. *positions* are theirs among all calls.
    """
    if later.is_requested or earlier.is_requested:
        return _relation_of_requests(earlier, later, positions)
    earlier_end, later_end = earlier.latest_end_ns, later.latest_end_ns
    if earlier_end is None or later_end is None:
        return Relation.UNKNOWN
    if earlier_end + tolerance_ns < later.start_ns:
        return Relation.BEFORE
    if later_end + tolerance_ns < earlier.start_ns:
        return Relation.AFTER
    apart = max(later.start_ns - (earlier.end_ns or 0), earlier.start_ns - (later.end_ns or 0))
    return Relation.TOO_CLOSE if apart >= 0 else Relation.OVERLAPPING


def _relation_of_requests(earlier: ShownCall, later: ShownCall, positions: tuple[int, int]) -> Relation:
    if positions[0] in later.after:
        return Relation.BEFORE
    return Relation.AFTER if positions[1] in earlier.after else Relation.UNKNOWN


def choose_calls(question: OrderQuestion, calls: Sequence[ShownCall]) -> list[int | None]:
    """
    For each tool the position of the call that fits best after the calls chosen before it.
    """
    chosen: list[int | None] = [None] * len(question.tools)
    for node, before in predecessors(len(question.tools), question.pairs).items():
        earlier = [position for each in before if (position := chosen[each]) is not None]
        candidates = question.attempts[node] or question.uncertain[node]
        chosen[node] = min(candidates, key=lambda each: _fit(each, earlier, question, calls), default=None)
    return chosen


def _fit(
    candidate: int, earlier: Sequence[int], question: OrderQuestion, calls: Sequence[ShownCall]
) -> tuple[int, bool, int, int]:
    call = calls[candidate]
    ranks = [RANKS[relation_of(calls[each], call, question.tolerance_ns, (each, candidate))] for each in earlier]
    end_ns = call.latest_end_ns
    return max(ranks, default=0), end_ns is None, end_ns or 0, call.start_ns


def links_of(question: OrderQuestion, calls: Sequence[ShownCall], *, is_complete: bool) -> list[Link]:
    """
    Every required pair; where none of them is the wrong way round, also the pairs that follow from them and are.
    """
    chosen = choose_calls(question, calls)
    links = [_link(question, calls, chosen, pair, is_complete=is_complete) for pair in question.pairs]
    if len(question.tools) > MAX_TOOLS or any(link.relation is Relation.AFTER for link in links):
        return links
    implied = (_link(question, calls, chosen, pair, is_complete=is_complete) for pair in _implied_pairs(question))
    return links + [replace(link, is_implied=True) for link in implied if link.relation is Relation.AFTER]


def _implied_pairs(question: OrderQuestion) -> Iterator[tuple[int, int]]:
    below: dict[int, set[int]] = {}
    for node, before in predecessors(len(question.tools), question.pairs).items():
        below[node] = set(before).union(*(below[each] for each in before))
    required = set(question.pairs)
    for later, earlier_nodes in sorted(below.items()):
        yield from ((earlier, later) for earlier in sorted(earlier_nodes) if (earlier, later) not in required)


def _link(
    question: OrderQuestion,
    calls: Sequence[ShownCall],
    chosen: Sequence[int | None],
    pair: tuple[int, int],
    *,
    is_complete: bool,
) -> Link:
    first, second = chosen[pair[0]], chosen[pair[1]]
    names = question.tools[pair[0]], question.tools[pair[1]]
    if first is None or second is None:
        relation = Relation.ABSENT if is_complete else Relation.UNSEEN
        absent = [name for name, call in zip(names, (first, second), strict=True) if call is None]
        text = " and ".join(f"{name} was {'never called' if is_complete else 'not seen'}" for name in absent)
    else:
        relation = relation_of(calls[first], calls[second], question.tolerance_ns, (first, second))
        text = _describe(relation, names, calls[first], calls[second])
    return Link(earlier=pair[0], later=pair[1], earlier_call=first, later_call=second, relation=relation, text=text)


def _describe(relation: Relation, names: tuple[str, str], first: ShownCall, second: ShownCall) -> str:
    earlier, later = names
    if first.is_requested or second.is_requested:
        return _describe_requests(relation, names)
    match relation:
        case Relation.BEFORE:
            return f"{earlier} ended {_gap(first, second)} before {later} began"
        case Relation.AFTER:
            return f"{later} ended {_gap(second, first)} before {earlier} began"
        case Relation.OVERLAPPING:
            return f"{earlier} and {later} ran at the same time for {brief_duration(overlap_ns(first, second))}"
        case Relation.TOO_CLOSE:
            apart = max(_apart(first, second), _apart(second, first))
            return f"{earlier} and {later} are only {brief_duration(apart)} apart, less than their clocks may differ"
        case _:
            return _describe_unknown(names, first, second)


def _describe_requests(relation: Relation, names: tuple[str, str]) -> str:
    earlier, later = names
    match relation:
        case Relation.BEFORE:
            return f"the model had read the result of {earlier} when it asked for {later}"
        case Relation.AFTER:
            return f"the model had read the result of {later} when it asked for {earlier}"
        case _:
            return f"the model asked for {earlier} and {later}; no span shows when they ran"


def _describe_unknown(names: tuple[str, str], first: ShownCall, second: ShownCall) -> str:
    for name, call in zip(names, (first, second), strict=True):
        if call.end_ns is None:
            return f"{name} has no end, so it proves no order"
    made_up = next((name for name, call in zip(names, (first, second), strict=True) if call.is_synthetic), names[0])
    return f"the times of {made_up} were made up by its producer, so they prove no order"


def overlap_ns(first: ShownCall, second: ShownCall) -> int:
    """
    For how long both ran, by their stated times.
    """
    end_ns = min(first.end_ns or 0, second.end_ns or 0)
    return max(0, end_ns - max(first.start_ns, second.start_ns))


def _apart(first: ShownCall, second: ShownCall) -> int:
    return second.start_ns - (first.end_ns or 0)


def _gap(first: ShownCall, second: ShownCall) -> str:
    return brief_duration(_apart(first, second))
