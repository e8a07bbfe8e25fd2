"""
Halving of a serialised request, for downstream that refuses it as a whole.

Pure. Works on the bytes of the items, so that both halves together say what the whole said, unknown fields included.
The envelope is the same for spans, log records and metrics, so one function serves all signals.
"""

from typing import NamedTuple

from proto_adapters.otlp_encode import join_traces
from proto_adapters.split import Group, OriginTable, UndecodableRequest, split_traces


class Part(NamedTuple):
    """
    A request, or what is left of one after splitting.
    """

    payload: bytes
    item_count: int


def halve(part: Part) -> list[Part]:
    """
    Two requests with half of the items each, in their order; nothing if there are fewer than two items to share out.
    """
    try:
        groups = split_traces(part.payload, OriginTable()).groups
    except UndecodableRequest:
        return []
    total = sum(len(items) for _, items in groups)
    if total < 2:
        return []
    first, second = _cut(groups, total // 2)
    # Metrics are counted in data points, which are not cut apart: then the count is shared out in proportion.
    first_count = part.item_count * (total // 2) // total
    return [Part(join_traces(first), first_count), Part(join_traces(second), part.item_count - first_count)]


def _cut(groups: list[Group], position: int) -> tuple[list[Group], list[Group]]:
    """*groups* before and after the item at *position*."""
    before: list[Group] = []
    after: list[Group] = []
    for origin, items in groups:
        head, tail = items[: max(position, 0)], items[max(position, 0) :]
        before += [(origin, head)] if head else []
        after += [(origin, tail)] if tail else []
        position -= len(items)
    return before, after
