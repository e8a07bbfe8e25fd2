"""
Requests into the bytes of their items, and the ids of one item.

Pure: bytes in, bytes out. No span is decoded here; each leaves as the bytes it came in. What a request says around its
items (resource, scope, schema URLs, fields unknown to us) is kept as the header bytes of an `Origin`. Two things are
dropped, because no item could carry them: fields unknown to OTLP at the level of the request itself, and field 1000 of
a resource group (`has_legacy_field`).
"""

from collections import OrderedDict
from enum import StrEnum
from struct import Struct as Layout

from msgspec import Struct

from proto_adapters.anyvalue import LazyAttributes
from proto_adapters.canonical import NO_ATTRIBUTES, REMOTE_PARENT, Attributes, Origin
from proto_adapters.lean_schema import (
    DecodeError,
    ResourceGroup,
    SpanHeadMessage,
    SpanIdsMessage,
    parse_log_ids,
    parse_request,
    parse_resource_header,
    parse_scope_header,
    parse_span_head,
    parse_span_ids,
)
from proto_adapters.wire import has_too_many_groups

TRACE_ID_SIZE = 16
SPAN_ID_SIZE = 8
NO_TRACE_ID = bytes(TRACE_ID_SIZE)
NO_SPAN_ID = bytes(SPAN_ID_SIZE)

Group = tuple[Origin, list[bytes]]


class UndecodableRequest(ValueError):
    """
    The bytes are not an OTLP export request.
    """


class SpanIds(Struct, frozen=True, gc=False):
    """
    Valid ids of one span. No parent, an empty one and an all-zero one are all `None`.
    """

    trace_id: bytes
    span_id: bytes
    parent_span_id: bytes | None
    came_first: bool = True
    """False if the ids do not stand where common encoders write them, and took the slower way."""


class LogIds(Struct, frozen=True, gc=False):
    """
    Valid ids of the span that a log record belongs to.
    """

    trace_id: bytes
    span_id: bytes


class SpanHead(Struct, frozen=True, gc=False):
    """
    What every span is read for when its trace closes (design §2). `end_ns` is `None` for a span without an end.
    """

    trace_id: bytes
    span_id: bytes
    parent_span_id: bytes | None
    otel_kind: int
    start_ns: int
    end_ns: int | None
    dropped_attributes_count: int
    dropped_events_count: int
    flags: int

    @property
    def has_ended(self) -> bool:
        return self.end_ns is not None

    @property
    def has_remote_parent(self) -> bool:
        return (self.flags & REMOTE_PARENT) == REMOTE_PARENT


class IdProblem(StrEnum):
    """
    Why `read_ids` has no answer. Closed set.
    """

    UNDECODABLE = "undecodable"
    """The bytes are not a span."""
    INVALID_ID = "invalid_id"
    """An id is missing, of the wrong length, all zero or given twice."""


class SplitRequest(Struct, frozen=True):
    """
    A request as groups of items under one origin; groups without items are left out.

    `has_legacy_field` tells that the sender also used field 1000 of a resource group, which OTLP has given up: what
    stands there is not read and not passed on.
    """

    groups: list[Group]
    has_legacy_field: bool = False

    @property
    def item_count(self) -> int:
        return sum(len(items) for _, items in self.groups)


SplitTraces = SplitRequest


class OriginTable:
    """
    One `Origin` object for equal headers, least recently used first out.

    Bounded in entries and in bytes of headers, since both are the sender's choice. An origin that was put out lives on
    in the spans that hold it; joining compares headers, so it is still merged with its successor.
    """

    def __init__(self, capacity: int = 10_000, max_bytes: int = 32 * 1024 * 1024) -> None:
        self._capacity = capacity
        self._max_bytes = max_bytes
        self._origins: OrderedDict[tuple[bytes, bytes], Origin] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return len(self._origins)

    def intern(self, resource_header: bytes, scope_header: bytes) -> Origin:
        """
        The origin with these headers, decoded when first seen. Headers that do not decode have no names or attributes.
        """
        key = resource_header, scope_header
        origin = self._origins.get(key)
        if origin is None:
            origin = self._origins[key] = read_origin(resource_header, scope_header)
            self._size += len(resource_header) + len(scope_header)
            self._evict()
        else:
            self._origins.move_to_end(key)
        return origin

    def _evict(self) -> None:
        while len(self._origins) > self._capacity or self._size > self._max_bytes:
            headers, _ = self._origins.popitem(last=False)
            self._size -= sum(map(len, headers))


def read_origin(resource_header: bytes, scope_header: bytes) -> Origin:
    """
    An `Origin` of its own (not interned); never raises.
    """
    attributes = _resource_attributes(resource_header)
    service_name = attributes.get("service.name")
    scope_name, scope_version = _scope_names(scope_header)
    return Origin(
        resource_header=resource_header,
        scope_header=scope_header,
        service_name=service_name if isinstance(service_name, str) else "",
        resource_attributes=attributes,
        scope_name=scope_name,
        scope_version=scope_version,
    )


def _resource_attributes(resource_header: bytes) -> Attributes:
    try:
        return dict(LazyAttributes(parse_resource_header(resource_header).resource.attributes))
    except DecodeError:
        return NO_ATTRIBUTES


def _scope_names(scope_header: bytes) -> tuple[str, str]:
    try:
        scope = parse_scope_header(scope_header).scope
    except DecodeError:
        return "", ""
    return scope.name.decode("utf-8", "replace"), scope.version.decode("utf-8", "replace")


def split_traces(request: bytes, origins: OriginTable) -> SplitTraces:
    """
    The spans of a serialised ExportTraceServiceRequest, by origin.

    Raises `UndecodableRequest` if the envelope is malformed; spans may still be anything.
    """
    return _split(request, origins)


def split_logs(request: bytes, origins: OriginTable) -> SplitRequest:
    """
    The log records of a serialised ExportLogsServiceRequest, by origin.

    Raises `UndecodableRequest`.
    """
    return _split(request, origins)


def count_items(request: bytes) -> int:
    """
    How many spans, log records or metrics a serialised request holds.

    Raises `UndecodableRequest`.
    """
    return sum(len(scope.items) for resource in _resources(request) for scope in resource.scopes)


def _resources(request: bytes) -> list[ResourceGroup]:
    if has_too_many_groups(request):
        message = "too many resources and scopes in one request"
        raise UndecodableRequest(message)
    try:
        return list(parse_request(request).resources)
    except DecodeError as error:
        message = "not an OTLP export request"
        raise UndecodableRequest(message) from error


def _split(request: bytes, origins: OriginTable) -> SplitRequest:
    groups: list[Group] = []
    has_legacy_field = False
    for resource in _resources(request):
        if resource.legacy:
            has_legacy_field = True
            resource.ClearField("legacy")
        groups += _take_groups(resource, origins)
    return SplitRequest(groups, has_legacy_field)


def _take_groups(resource: ResourceGroup, origins: OriginTable) -> list[Group]:
    """
    The groups of one resource. Empties it: what is left after the children are cleared is its header.
    """
    taken = []
    for scope in resource.scopes:
        items = list(scope.items)
        if items:
            scope.ClearField("items")
            taken.append((scope.SerializeToString(), items))
    resource.ClearField("scopes")
    resource_header = resource.SerializeToString()
    return [(origins.intern(resource_header, scope_header), items) for scope_header, items in taken]


# Python's and the Collector's encoders write the ids first and always both: trace id, span id, parent. Read there they
# cost a tenth of the header message. Not to be extended past the parent: what follows differs between the encoders.
_IDS_FIRST = Layout(">H16sH8sH8s")
_unpack_ids, _IDS_FIRST_SIZE = _IDS_FIRST.unpack_from, _IDS_FIRST.size
_TRACE_ID_TAG, _SPAN_ID_TAG, _PARENT_TAG, _EMPTY_PARENT_TAG = 0x0A10, 0x1208, 0x2208, 0x2200


def read_ids(span: bytes) -> SpanIds | None:
    """
    The ids of a span, or `None` if they are invalid or the bytes are no span (`why_no_ids` tells which).

    Reads no further than the ids where these come first, so a malformed or contradicting tail is not seen here;
    `read_head` sees it.
    """
    if len(span) >= _IDS_FIRST_SIZE:
        tag_1, trace_id, tag_2, span_id, tag_4, parent = _unpack_ids(span)
        if tag_1 == _TRACE_ID_TAG and tag_2 == _SPAN_ID_TAG and trace_id != NO_TRACE_ID and span_id != NO_SPAN_ID:
            if tag_4 == _PARENT_TAG:
                return SpanIds(trace_id, span_id, None if parent == NO_SPAN_ID else parent)
            if tag_4 == _EMPTY_PARENT_TAG:
                return SpanIds(trace_id, span_id, None)
    try:
        return _single_ids(parse_span_ids(span))
    except DecodeError:
        return None


def _single_ids(message: SpanIdsMessage) -> SpanIds | None:
    if len(message.trace_ids) != 1 or len(message.span_ids) != 1 or len(message.parent_span_ids) > 1:
        return None
    trace_id, span_id = message.trace_ids[0], message.span_ids[0]
    parent = b"".join(message.parent_span_ids)
    if not _is_trace_id(trace_id) or not _is_span_id(span_id) or len(parent) not in {0, SPAN_ID_SIZE}:
        return None
    return SpanIds(trace_id, span_id, parent if _is_span_id(parent) else None, came_first=False)


def why_no_ids(span: bytes) -> IdProblem:
    """
    What is wrong with a span for which `read_ids` or `read_head` gave `None`.
    """
    try:
        parse_span_ids(span)
    except DecodeError:
        return IdProblem.UNDECODABLE
    return IdProblem.INVALID_ID


def read_head(span: bytes) -> SpanHead | None:
    """
    The header fields of a span, or `None` if its ids are invalid or the bytes are no span.

    An id that is given again behind the place where `read_ids` stopped is invalid if it says something else.
    """
    ids = read_ids(span)
    if ids is None:
        return None
    try:
        message = parse_span_head(span)
    except DecodeError:
        return None
    if not are_ids_of(ids, message):
        return None
    return SpanHead(
        ids.trace_id,
        ids.span_id,
        ids.parent_span_id,
        message.kind,
        message.start_ns,
        message.end_ns or None,
        message.dropped_attributes_count,
        message.dropped_events_count,
        message.flags,
    )


def are_ids_of(ids: SpanIds, message: SpanHeadMessage) -> bool:
    """
    Whether *message* says the same as what `read_ids` read of the same span.
    """
    parent = message.parent_span_id
    is_same_parent = parent == (ids.parent_span_id or b"") or (parent == NO_SPAN_ID and not ids.parent_span_id)
    return is_same_parent and message.span_id == ids.span_id and message.trace_id == ids.trace_id


def _is_trace_id(value: bytes) -> bool:
    return len(value) == TRACE_ID_SIZE and value != NO_TRACE_ID


def _is_span_id(value: bytes) -> bool:
    return len(value) == SPAN_ID_SIZE and value != NO_SPAN_ID


def read_log_ids(record: bytes) -> LogIds | None:
    """
    The ids of the span that a log record belongs to, or `None` if it belongs to none (or is no log record).
    """
    try:
        message = parse_log_ids(record)
    except DecodeError:
        return None
    trace_ids, span_ids = message.trace_ids, message.span_ids
    if len(trace_ids) != 1 or len(span_ids) != 1:
        return None
    trace_id, span_id = trace_ids[0], span_ids[0]
    return LogIds(trace_id, span_id) if _is_trace_id(trace_id) and _is_span_id(span_id) else None
