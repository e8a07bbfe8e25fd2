"""
Spans that were found to show one call, and which of them speaks for it.

Pure. The outermost span survives: it keeps its interval, status and name and takes what only the others know. If it is
unfinished it stays so, although an inner span ended (dialects reference §5.5).
"""

from collections import defaultdict

from msgspec.structs import replace

from proto_adapters.assembly.intervals import end_or_open
from proto_adapters.assembly.tree import SpanTree
from proto_adapters.canonical import CanonicalSpan


class JoinedSpans:
    """
    A union of span positions, each with the rule that joined it.
    """

    def __init__(self, tree: SpanTree) -> None:
        self._tree = tree
        self._above = list(range(len(tree.spans)))
        self._members: dict[int, str] = {}
        self._rules: dict[int, str] = {}
        self._call_ids: dict[int, str] = {}
        self._arguments: dict[int, bytes] = {}

    def join(self, outer: int, inner: int, rule: str) -> None:
        """
        Say that *inner* shows the same call as *outer*.
        """
        kept, merged = self._find(outer), self._find(inner)
        self._rules.setdefault(inner, rule)
        for member in (outer, inner):
            self._members.setdefault(member, rule)
        if kept != merged:
            self._above[merged] = kept
            self._learn(kept, self._tree.spans[inner])

    def is_inner(self, position: int) -> bool:
        return position in self._rules

    def contradicts(self, outer: int, inner: CanonicalSpan) -> bool:
        """
        Whether the call of *outer* is known to have another id or other arguments than *inner*.
        """
        kept = self._find(outer)
        self._learn(kept, self._tree.spans[outer])
        call_id, arguments = self._call_ids.get(kept), self._arguments.get(kept)
        other_id = bool(call_id and inner.tool_call_id and call_id != inner.tool_call_id)
        return other_id or bool(arguments and inner.arguments_digest and arguments != inner.arguments_digest)

    def settle(self) -> None:
        """
        Write the outcome into the tree's spans.
        """
        if not self._members:
            return
        groups: dict[int, list[int]] = defaultdict(list)
        for position in self._tree.preorder:
            if position in self._members:
                groups[self._find(position)].append(position)
        for members in groups.values():
            self._settle_group(members)

    def _find(self, position: int) -> int:
        root = position
        while self._above[root] != root:
            root = self._above[root]
        while self._above[position] != root:
            self._above[position], position = root, self._above[position]
        return root

    def _learn(self, kept: int, span: CanonicalSpan) -> None:
        if span.tool_call_id:
            self._call_ids.setdefault(kept, span.tool_call_id)
        if span.arguments_digest:
            self._arguments.setdefault(kept, span.arguments_digest)

    def _settle_group(self, members: list[int]) -> None:
        spans = self._tree.spans
        survivor = self._outermost(members)
        others = [position for position in members if position != survivor]
        spans[survivor] = _completed(spans[survivor], [spans[position] for position in others])
        for position in others:
            rule = self._rules.get(position, self._members[position])
            spans[position] = replace(spans[position], duplicate_of=spans[survivor].span_id, duplicate_rule=rule)

    def _outermost(self, members: list[int]) -> int:
        """Of spans in preorder: one that has no other above it, the earliest, and of equals the longest."""
        tops: list[int] = []
        for position in members:
            if not tops or not self._tree.is_ancestor(tops[-1], position):
                tops.append(position)
        return min(tops, key=lambda top: _earliest_and_longest(self._tree.spans[top]))


def _earliest_and_longest(span: CanonicalSpan) -> tuple[int, float, bytes]:
    return span.start_ns, -end_or_open(span), span.span_id


def _completed(survivor: CanonicalSpan, others: list[CanonicalSpan]) -> CanonicalSpan:
    everyone = [survivor, *others]
    named = next((span for span in everyone if span.tool_name), survivor)
    argued = next((span for span in everyone if span.arguments_digest or span.tool_arguments is not None), survivor)
    return replace(
        survivor,
        tool_name=named.tool_name,
        tool_name_raw=named.tool_name_raw,
        tool_name_key=named.tool_name_key,
        tool_call_id=next((span.tool_call_id for span in everyone if span.tool_call_id), None),
        mcp_server=next((span.mcp_server for span in everyone if span.mcp_server), None),
        error_type=next((span.error_type for span in everyone if span.error_type), None),
        arguments_digest=argued.arguments_digest,
        tool_arguments=argued.tool_arguments,
        executed=False if any(span.executed is False for span in everyone) else survivor.executed,
    )
