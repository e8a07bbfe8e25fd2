"""
The root condition: which span closes a trace, and what a trace looks like from its root.

Pure functions of canonical spans. The rule has three forms (design §5, `root_span_condition`): a span without a
parent; that, or a span whose parent lives in another service; or attribute matches, which make every outermost
matching span the root of an occurrence of its own.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from proto_adapters.canonical import Attributes, AttributeValue, CanonicalSpan

ENTRY_KINDS = frozenset({2, 5})
"""OTLP span kinds SERVER and CONSUMER: the first span of a service that was called."""


class AttributeMatch(Struct, frozen=True):
    """
    An attribute has one of some values.
    """

    key: str
    values: tuple[AttributeValue, ...]

    def holds_for(self, attributes: Attributes) -> bool:
        return attributes.get(self.key) in self.values


class RootCondition(Struct, frozen=True):
    """
    What makes a span a root. With `attributes`, a span is a root if any of the matches holds.
    """

    accept_remote_parent: bool = False
    attributes: tuple[AttributeMatch, ...] = ()

    @property
    def keys(self) -> frozenset[str]:
        """Attribute keys that must be kept of each span."""
        return frozenset(match.key for match in self.attributes)

    @property
    def needs_no_parent(self) -> bool:
        """Only a span without a parent can be a root."""
        return not self.attributes and not self.accept_remote_parent

    def matches(self, attributes: Attributes) -> bool:
        return any(match.holds_for(attributes) for match in self.attributes)

    def allows(self, parent_span_id: bytes | None, *, otel_kind: int, has_remote_parent: bool) -> bool:
        """
        Whether a span may be a root as far as its header tells. An attribute condition never looks at the header.
        """
        if parent_span_id is None:
            return True
        return self.accept_remote_parent and (has_remote_parent or otel_kind in ENTRY_KINDS)


PARENT_EMPTY = RootCondition()


def by_start(span: CanonicalSpan) -> tuple[int, bytes]:
    """
    The order of spans everywhere: start, then span id.
    """
    return span.start_ns, span.span_id


def find_roots(spans: Sequence[CanonicalSpan], condition: RootCondition) -> list[CanonicalSpan]:
    """
    The spans that meet *condition* among the spans held, earliest first.

    A span whose parent is held is no root, unless the condition reads attributes: then the outermost matches are.
    """
    by_id = {span.span_id: span for span in spans}
    if condition.attributes:
        found = [
            span for span in spans if condition.matches(span.selected) and not _has_match_above(span, by_id, condition)
        ]
    else:
        found = [span for span in spans if span.parent_span_id not in by_id and _may_be_root(span, condition)]
    return sorted(found, key=by_start)


def _may_be_root(span: CanonicalSpan, condition: RootCondition) -> bool:
    return condition.allows(span.parent_span_id, otel_kind=span.otel_kind, has_remote_parent=span.has_remote_parent)


def _has_match_above(span: CanonicalSpan, by_id: Mapping[bytes, CanonicalSpan], condition: RootCondition) -> bool:
    return any(condition.matches(ancestor.selected) for ancestor in ancestors(span, by_id))


def ancestors(span: CanonicalSpan, by_id: Mapping[bytes, CanonicalSpan]) -> Iterable[CanonicalSpan]:
    """
    The held ancestors of *span*, nearest first. A cycle ends where it closes.
    """
    seen = {span.span_id}
    parent_id = span.parent_span_id
    while parent_id is not None and parent_id not in seen:
        parent = by_id.get(parent_id)
        if parent is None:
            return
        yield parent
        seen.add(parent_id)
        parent_id = parent.parent_span_id


def reachable_from(roots: Iterable[CanonicalSpan], spans: Sequence[CanonicalSpan]) -> list[CanonicalSpan]:
    """
    The spans of the subtrees below *roots*, the roots included. O(n), safe for cycles.
    """
    owner_of = owners(roots, spans)
    return [span for span in spans if span.span_id in owner_of]


def owners(roots: Iterable[CanonicalSpan], spans: Iterable[CanonicalSpan]) -> dict[bytes, bytes]:
    """
    Span id -> span id of the root whose subtree holds the span. The subtrees of outermost roots do not overlap.
    """
    children: defaultdict[bytes | None, list[bytes]] = defaultdict(list)
    for span in spans:
        children[span.parent_span_id].append(span.span_id)
    owner_of = {root.span_id: root.span_id for root in roots}
    open_ids = list(owner_of)
    while open_ids:
        parent_id = open_ids.pop()
        for child_id in children.get(parent_id, ()):
            if child_id not in owner_of:
                owner_of[child_id] = owner_of[parent_id]
                open_ids.append(child_id)
    return owner_of


def by_depth(root: CanonicalSpan, spans: Sequence[CanonicalSpan]) -> Iterator[CanonicalSpan]:
    """
    *root* and the spans below it, level by level, each level by start; then the spans that are not below it.
    """
    children: defaultdict[bytes | None, list[CanonicalSpan]] = defaultdict(list)
    for span in sorted(spans, key=by_start):
        children[span.parent_span_id].append(span)
    seen = {root.span_id}
    level = [root]
    while level:
        yield from level
        below = [child for span in level for child in children.get(span.span_id, ()) if child.span_id not in seen]
        seen.update(child.span_id for child in below)
        level = sorted(below, key=by_start)
    yield from (span for span in sorted(spans, key=by_start) if span.span_id not in seen)


def span_to_annotate(spans: Sequence[CanonicalSpan], condition: RootCondition) -> CanonicalSpan | None:
    """
    The root for outputs (design §9): the earliest span that meets the condition, else the one without a parent, else
    the earliest whose parent is absent, else (a cycle) the earliest.
    """
    if not spans:
        return None
    roots = find_roots(spans, condition)
    if roots:
        return roots[0]
    held = {span.span_id for span in spans}
    parentless = [span for span in spans if span.parent_span_id is None]
    orphans = [span for span in spans if span.parent_span_id not in held]
    return min(parentless or orphans or spans, key=by_start)
