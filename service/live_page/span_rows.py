"""
The spans of an occurrence as rows of a tree, those that are missing included.

Pure. A parent that was not received is a row of its own, so that a hole can be seen where it is.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from msgspec import Struct

from service.live_page.record import Detail, ShownSpan
from service.live_page.words import brief_duration

MAX_DEPTH = 8
"""Deeper rows are not indented any further."""


class SpanRow(Struct, frozen=True, kw_only=True):
    """
    One row. Without `span` it stands for a parent that was not received.
    """

    depth: int
    span_id: str
    span: ShownSpan | None = None
    is_root: bool = False
    is_late: bool = False
    start: str = ""
    duration: str = ""
    notes: list[str] = []
    problems: list[str] = []


def span_rows(detail: Detail) -> list[SpanRow]:
    """
    Every span below its parent, by start; spans that only reach each other stand at the top.
    """
    held = {span.span_id for span in detail.spans}
    below: defaultdict[str | None, list[ShownSpan]] = defaultdict(list)
    for span in detail.spans:
        below[span.parent_span_id].append(span)
    absent = [parent for parent in below if parent is not None and parent not in held]
    rows: list[SpanRow] = []
    shown: set[str] = set()
    begin_ns = min((span.start_ns for span in detail.spans), default=0)
    tops: list[tuple[int, str | ShownSpan]] = [(0, span) for span in below[None]]
    tops += [(0, parent) for parent in absent]
    for top in [*tops, *((0, span) for span in detail.spans)]:
        rows += _walk(top, below, shown, detail, begin_ns)
    return rows


def _walk(
    top: tuple[int, str | ShownSpan],
    below: defaultdict[str | None, list[ShownSpan]],
    shown: set[str],
    detail: Detail,
    begin_ns: int,
) -> Iterator[SpanRow]:
    waiting = [top]
    while waiting:
        depth, item = waiting.pop()
        span_id = item if isinstance(item, str) else item.span_id
        if span_id in shown:
            continue
        shown.add(span_id)
        if isinstance(item, str):
            yield SpanRow(depth=depth, span_id=span_id)
        else:
            yield _row(item, min(depth, MAX_DEPTH), detail, begin_ns)
        waiting.extend((depth + 1, child) for child in reversed(below[span_id]))


def _row(span: ShownSpan, depth: int, detail: Detail, begin_ns: int) -> SpanRow:
    return SpanRow(
        depth=depth,
        span_id=span.span_id,
        span=span,
        is_root=span.span_id == detail.root_span_id,
        is_late=span.closing > 0,
        start=f"+{brief_duration(span.start_ns - begin_ns)}",
        duration="no end" if span.end_ns is None else brief_duration(span.end_ns - span.start_ns),
        notes=list(_notes(span)),
        problems=[problem.replace("_", " ") for problem in span.problems],
    )


def _notes(span: ShownSpan) -> Iterator[str]:
    if span.duplicate_of is not None:
        yield f"shows the same call as {span.duplicate_of} (rule {span.duplicate_rule})"
    if span.executed is False:
        yield "was not executed"
    if span.completion not in {None, "none", "read"}:
        yield f"answer of the model: {span.completion}"
    yield from _requests(span)


def _requests(span: ShownSpan) -> Iterator[str]:
    """
    What the completion asks for, each source once.
    """
    names: dict[str, list[str]] = {}
    for call in span.embedded_calls:
        names.setdefault(call.source, []).append(call.name)
    for source, called in names.items():
        yield f"asks for {', '.join(called)}" + (f", read from {source}" if source else "")


def missing_parents(rows: Sequence[SpanRow]) -> list[str]:
    """
    Ids of parents that were not received.
    """
    return [row.span_id for row in rows if row.span is None]
