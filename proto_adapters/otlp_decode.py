"""
One span or log record as a view: what the wire says, as Python values, before any dialect has looked at it.

Pure. Attributes, events and links are decoded when they are read. Malformed parts cost only themselves: an attribute
value that does not decode is in `attributes.undecodable`, an event or link that does not decode is left out and counted
in `undecodable`, text that is not UTF-8 has U+FFFD in it. A span without valid ids, or with bytes that are no span at
all (an attribute key that is not UTF-8 included), has no view.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar, overload

from xxhash import xxh3_128_digest

from proto_adapters.anyvalue import LazyAttributes, UndecodableValue, decode_value
from proto_adapters.canonical import (
    EventView,
    LinkView,
    LogView,
    Origin,
    SpanStatus,
    SpanView,
)
from proto_adapters.lean_schema import DecodeError, parse_event, parse_link, parse_log, parse_span, parse_status
from proto_adapters.split import are_ids_of, read_ids, read_log_ids

_T = TypeVar("_T")

MAX_ITEMS = 1_024
"""Events or links of a span that are read; what senders may repeat must not cost more than its bytes."""

_STATUS = {1: SpanStatus.OK, 2: SpanStatus.ERROR}


digest: Callable[[bytes], bytes] = xxh3_128_digest
"""16 bytes that tell two spans apart: equal digests are one span delivered twice."""


def view_span(span: bytes, origin: Origin) -> SpanView | None:
    """
    The view of a span, or `None` if it cannot be decoded.
    """
    ids = read_ids(span)
    if ids is None:
        return None
    try:
        message = parse_span(span)
        status, status_message = _status(message.status)
    except DecodeError:
        return None
    if not are_ids_of(ids, message):
        return None
    attributes = LazyAttributes(message.attributes)
    # Keywords only as far as CPython takes them from the stack (places and twice the keywords up to 30); beyond that it
    # collects a dict first, and a view costs six times as much.
    return SpanView(
        ids.trace_id,
        ids.span_id,
        ids.parent_span_id,
        message.name.decode("utf-8", "replace"),
        otel_kind=message.kind,
        start_ns=message.start_ns,
        end_ns=message.end_ns or None,
        attributes=attributes,
        events=_lazily(message.events, _event),
        links=_lazily(message.links, _link),
        status=status,
        status_message=status_message,
        flags=message.flags,
        dropped_attributes_count=message.dropped_attributes_count,
        dropped_events_count=message.dropped_events_count,
        origin=origin,
        keys=attributes.key_set(),
    )


def view_log(record: bytes, origin: Origin) -> LogView | None:
    """
    The view of a log record, or `None` if it belongs to no span or cannot be decoded (its body included).
    """
    ids = read_log_ids(record)
    if ids is None:
        return None
    try:
        message = parse_log(record)
        body = decode_value(b"".join(message.body))
    except (DecodeError, UndecodableValue):
        return None
    return LogView(
        trace_id=ids.trace_id,
        span_id=ids.span_id,
        event_name=message.event_name.decode("utf-8", "replace"),
        attributes=LazyAttributes(message.attributes),
        body=body,
        time_ns=message.time_ns or message.observed_ns,
        origin=origin,
    )


def _status(raw: bytes) -> tuple[SpanStatus, str]:
    if not raw:
        return SpanStatus.UNSET, ""
    message = parse_status(raw)
    return _STATUS.get(message.code, SpanStatus.UNSET), message.message.decode("utf-8", "replace")


class LazyItems(Sequence[_T], Generic[_T]):
    """
    Events or links of a span, decoded when any of them is first read.
    """

    __slots__ = ("_items", "_raw", "_read")

    def __init__(self, raw: Sequence[bytes], read: Callable[[bytes], _T]) -> None:
        self._raw = raw
        self._read = read
        self._items: tuple[_T, ...] | None = None

    @property
    def undecodable(self) -> int:
        """How many were left out because they do not decode, or are too many."""
        return len(self._raw) - len(self._decoded())

    @overload
    def __getitem__(self, index: int) -> _T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[_T]: ...
    def __getitem__(self, index: int | slice) -> _T | Sequence[_T]:
        return self._decoded()[index]

    def __iter__(self) -> Iterator[_T]:
        return iter(self._decoded())

    def __len__(self) -> int:
        return len(self._decoded())

    def _decoded(self) -> tuple[_T, ...]:
        if self._items is None:
            self._items = tuple(_decodable(self._raw[:MAX_ITEMS], self._read))
        return self._items


def _decodable(raw: Sequence[bytes], read: Callable[[bytes], _T]) -> Iterator[_T]:
    for item in raw:
        try:
            yield read(item)
        except DecodeError:
            continue


def _lazily(raw: Sequence[bytes], read: Callable[[bytes], _T]) -> Sequence[_T]:
    return LazyItems(raw, read) if raw else ()


def _event(raw: bytes) -> EventView:
    message = parse_event(raw)
    name = message.name.decode("utf-8", "replace")
    return EventView(name=name, attributes=LazyAttributes(message.attributes), time_ns=message.time_ns)


def _link(raw: bytes) -> LinkView:
    message = parse_link(raw)
    return LinkView(trace_id=message.trace_id, span_id=message.span_id)
