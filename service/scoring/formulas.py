"""
The formulas of the metrics beside tool selection accuracy, each as the range that the evidence leaves.

Pure. Reference metrics.md §1.1 and §1.2; `service/docs/metrics-edge-cases.md` says what each answers at the edges.
Lower and upper are equal unless calls may be unseen, their order is open, or arguments are unknown.
"""

import json
from collections.abc import Sequence

from msgspec import Struct

from proto_adapters.canonical import SpanStatus, ToolCall
from proto_adapters.tool_names import comparison_key
from service.conditions import ToolRequirement
from service.evaluation import Bounds
from service.scoring.arguments import read_arguments
from service.scoring.calls import FoundCalls, attempt_of
from service.scoring.matching import maximum_matching
from service.scoring.order import first_impossible, is_established

ANYTHING = Bounds(0.0, 1.0)


class Observed(Struct, frozen=True, kw_only=True):
    """
    Required calls and observed calls, put together.
    """

    required: tuple[ToolRequirement, ...] = ()
    """With repeats, in the required order."""
    calls: tuple[ToolCall, ...] = ()
    found: tuple[FoundCalls, ...] = ()
    """The observed calls that each required one may be."""
    may_be_more: bool = False
    tolerance_ns: int = 0

    @property
    def matched(self) -> Bounds:
        """How many required calls can each have an observed call of their own."""
        return Bounds(_pairs(self, certain=True), _pairs(self, certain=False))


def _pairs(observed: Observed, *, certain: bool) -> int:
    """
    Size of a maximum matching. Requirements without arguments take any call of their tool, so they come last.
    """
    positions = {id(call): position for position, call in enumerate(observed.calls)}
    by_tool: dict[str, list[int]] = {}
    for index, tool in enumerate(observed.required):
        by_tool.setdefault(comparison_key(tool.name), []).append(index)
    return sum(_pairs_of_tool(observed, indexes, positions, certain=certain) for indexes in by_tool.values())


def _pairs_of_tool(observed: Observed, indexes: Sequence[int], positions: dict[int, int], *, certain: bool) -> int:
    picky, usable = [], set[int]()
    for index in indexes:
        found = observed.found[index]
        choices = {positions[id(call)] for call in (found.certain if certain else found.all)}
        usable |= choices
        if observed.required[index].reads_arguments:
            picky.append(sorted(choices))
    return min(len(usable), maximum_matching(picky) + len(indexes) - len(picky))


def multiset_recall(observed: Observed) -> Bounds:
    """
    Matched calls / required calls.
    """
    matched, required = observed.matched, len(observed.required)
    return Bounds(matched.lower / required, 1.0 if observed.may_be_more else matched.upper / required)


def multiset_precision(observed: Observed) -> Bounds:
    """
    Matched calls / observed calls.
    """
    matched = observed.matched
    if observed.may_be_more:
        return ANYTHING
    return Bounds(matched.lower / len(observed.calls), matched.upper / len(observed.calls))


def multiset_f1(observed: Observed) -> Bounds:
    """
    Twice the matched calls / required and observed calls.
    """
    matched, required, seen = observed.matched, len(observed.required), len(observed.calls)
    if observed.may_be_more:
        return Bounds(0.0, 2 * required / (2 * required + seen - matched.upper))
    return Bounds(2 * matched.lower / (required + seen), 2 * matched.upper / (required + seen))


def any_order_match(observed: Observed) -> Bounds:
    """
    1 if every required call has an observed call of its own.
    """
    matched, required = observed.matched, len(observed.required)
    return _binary(is_so=matched.lower == required, may_be=observed.may_be_more or matched.upper == required)


def in_order_match(observed: Observed) -> Bounds:
    """
    1 if the required calls were made one after the other, others in between or not.
    """
    return _binary(is_so=_is_in_order(observed), may_be=observed.may_be_more or _may_be_in_order(observed))


def exact_match(observed: Observed) -> Bounds:
    """
    1 if the required calls were made one after the other, and no others.
    """
    required, seen = len(observed.required), len(observed.calls)
    if observed.may_be_more:
        return _binary(is_so=False, may_be=seen <= required)
    if seen != required:
        return Bounds(0.0, 0.0)
    return _binary(is_so=_is_in_order(observed), may_be=_may_be_in_order(observed))


def _binary(*, is_so: bool, may_be: bool) -> Bounds:
    return Bounds(float(is_so), float(is_so or may_be))


def _is_in_order(observed: Observed) -> bool:
    steps = [[attempt_of(call) for call in found.certain] for found in observed.found]
    return is_established(steps, observed.tolerance_ns)


def _may_be_in_order(observed: Observed) -> bool:
    """
    Whether nothing contradicts the order. With repeats this may hold where an exhaustive search finds no choice: then
    the answer stays open.
    """
    steps = [[attempt_of(call) for call in found.all] for found in observed.found]
    enough = observed.matched.upper == len(observed.required)
    return enough and first_impossible(steps, observed.tolerance_ns) is None


def redundancy(observed: Observed) -> Bounds:
    """
    1 - distinct calls (name and arguments) / observed calls. Unknown arguments may equal any of the same tool, or none.
    """
    if observed.may_be_more:
        return ANYTHING
    texts = [(comparison_key(call.name), read_arguments(call.arguments)) for call in observed.calls]
    known = {
        (name, json.dumps(arguments, sort_keys=True, default=repr))
        for name, arguments in texts
        if arguments is not None
    }
    unknown = [name for name, arguments in texts if arguments is None]
    fewest = len(known) + len(set(unknown) - {name for name, _ in known})
    return Bounds(1 - (len(known) + len(unknown)) / len(texts), 1 - fewest / len(texts))


def tool_success_rate(observed: Observed) -> Bounds | None:
    """
    Finished calls without error / finished calls.
    """
    finished = [call for call in observed.calls if call.end_ns is not None]
    if observed.may_be_more:
        return ANYTHING
    if not finished:
        return None
    rate = sum(call.status is not SpanStatus.ERROR for call in finished) / len(finished)
    return Bounds(rate, rate)


def retries_recovered(observed: Observed) -> Bounds | None:
    """
    Calls that failed first and then succeeded / calls that failed first; `None` if none failed.
    """
    failed, recovered = 0, 0
    open_failures: dict[str, list[int]] = {}
    for call in sorted(observed.calls, key=lambda call: (call.start_ns, call.span_id)):
        if call.end_ns is None:
            continue
        ends = open_failures.setdefault(comparison_key(call.name), [])
        retried = min((end for end in ends if end <= call.start_ns), default=None)
        if retried is not None:
            ends.remove(retried)
        if call.status is SpanStatus.ERROR:
            ends.append(call.end_ns)
            failed += retried is None
        else:
            recovered += retried is not None
    if not failed:
        return None
    return ANYTHING if observed.may_be_more else Bounds(recovered / failed, recovered / failed)
