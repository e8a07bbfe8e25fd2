"""
The parent tree of one trace's spans, by index.

Pure. Built in linear time and without recursion, whatever the depth of the chain; a cycle of parents is cut at its
earliest span.
"""

from collections.abc import Callable, Iterable
from operator import attrgetter

from proto_adapters.canonical import CanonicalSpan

NO_SPAN = -1


by_start: Callable[[CanonicalSpan], tuple[int, bytes]] = attrgetter("start_ns", "span_id")
"""The order of spans everywhere: start, then span id (design §9)."""


class SpanTree:
    """
    Spans in (start, span id) order and how they nest. `spans` may be replaced in place; ids and times may not change.
    """

    def __init__(self, spans: Iterable[CanonicalSpan]) -> None:
        self.spans = sorted(spans, key=by_start)
        self.index = {span.span_id: position for position, span in enumerate(self.spans)}
        self.parents = [self.index.get(span.parent_span_id or b"", NO_SPAN) for span in self.spans]
        self._cut_cycles()
        self.children = self._list_children()
        self.depths = [0] * len(self.spans)
        self._enter = [0] * len(self.spans)
        self._leave = [0] * len(self.spans)
        self.preorder = self._walk()

    def is_ancestor(self, upper: int, lower: int) -> bool:
        """
        Whether *upper* lies on the way from *lower* to its top; a span is no ancestor of itself.
        """
        return self._enter[upper] < self._enter[lower] <= self._leave[upper]

    def tops(self) -> list[int]:
        """
        Spans without a held parent, in span order.
        """
        return [position for position, parent in enumerate(self.parents) if parent == NO_SPAN]

    def _cut_cycles(self) -> None:
        seen = [0] * len(self.spans)
        for start in range(len(self.spans)):
            walk, position = start + 1, start
            while position != NO_SPAN and not seen[position]:
                seen[position] = walk
                position = self.parents[position]
            if position != NO_SPAN and seen[position] == walk:
                self.parents[min(self._cycle_through(position))] = NO_SPAN

    def _cycle_through(self, position: int) -> list[int]:
        members = [position]
        while (position := self.parents[position]) != members[0]:
            members.append(position)
        return members

    def _list_children(self) -> list[list[int]]:
        children: list[list[int]] = [[] for _ in self.spans]
        for position, parent in enumerate(self.parents):
            if parent != NO_SPAN:
                children[parent].append(position)
        return children

    def _walk(self) -> list[int]:
        order: list[int] = []
        stack = self.tops()[::-1]
        while stack:
            position = stack.pop()
            self._enter[position] = len(order)
            order.append(position)
            for child in reversed(self.children[position]):
                self.depths[child] = self.depths[position] + 1
                stack.append(child)
        self._close_intervals(order)
        return order

    def _close_intervals(self, order: list[int]) -> None:
        self._leave = list(self._enter)
        for position in reversed(order):
            parent = self.parents[position]
            if parent != NO_SPAN:
                self._leave[parent] = max(self._leave[parent], self._leave[position])
