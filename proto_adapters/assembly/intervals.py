"""
When one span lies in another in time, given what producers do to times.

Pure. JavaScript SDKs cut starts to whole milliseconds and add a fine duration, so both ends of such a span may be up
to one millisecond early (design §6.2). An unknown start says nothing, a missing end is still to come.
"""

from collections.abc import Iterable
from math import inf
from typing import NamedTuple

from proto_adapters.canonical import CanonicalSpan

_MILLISECOND_NS = 1_000_000


class Interval(NamedTuple):
    """
    The widest times that a span may have had, and where it stands in its tree.
    """

    start: float
    end: float
    position: int


def slack_ns(span: CanonicalSpan) -> int:
    """
    How late a span's ends may be beyond what it states.
    """
    return _MILLISECOND_NS if span.start_ns % _MILLISECOND_NS == 0 else 0


def end_or_open(span: CanonicalSpan) -> float:
    """
    The end, or infinity for a span that has not ended or whose times are impossible (decision D16).
    """
    return inf if span.end_ns is None or not span.has_valid_time else span.end_ns


def is_inside(inner: CanonicalSpan, outer: CanonicalSpan, tolerance_ns: int) -> bool:
    """
    Whether *inner* may have run wholly within *outer*.
    """
    starts_inside = inner.start_ns == 0 or inner.start_ns + slack_ns(inner) + tolerance_ns >= outer.start_ns
    last = inner.start_ns if end_or_open(inner) == inf else end_or_open(inner)
    return starts_inside and last <= end_or_open(outer) + slack_ns(outer) + tolerance_ns


def only_containers(outer: Iterable[Interval], inner: Iterable[Interval]) -> dict[int, int]:
    """
    For each inner interval that lies in exactly one outer interval, the position of that one.
    """
    found: dict[int, int] = {}
    waiting = sorted(outer, reverse=True)
    longest, second = Interval(0, -inf, -1), Interval(0, -inf, -1)
    for candidate in sorted(inner):
        while waiting and waiting[-1].start <= candidate.start:
            begun = waiting.pop()
            if begun.end > longest.end:
                longest, second = begun, longest
            elif begun.end > second.end:
                second = begun
        if second.end < candidate.end <= longest.end:
            found[candidate.position] = longest.position
    return found
