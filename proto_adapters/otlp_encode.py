"""
Spans and log records put together from bytes, and what we add to them.

Pure. Nothing received is encoded again: `join_…` frames the bytes of items under their headers, attributes are appended
as further records, and `cut_attributes` takes whole records out.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from struct import pack

from proto_adapters.anyvalue import encode_value
from proto_adapters.canonical import AttributeValue, Origin
from proto_adapters.wire import LEN, MalformedWire, Record, encode_varint, frame, records

ItemGroup = tuple[Origin, Sequence[bytes]]
"""Resource header, scope name, scope version, log records."""

_RESOURCE_GROUP = _KEY = 0x0A
_SCOPE_GROUP = _ITEM = 0x12
_SPAN_ATTRIBUTE, _LOG_ATTRIBUTE = 0x4A, 0x32
_SPAN_ATTRIBUTE_NUMBER = 9
_KIND_INTERNAL = b"\x30\x01"

_SHORT_TEXT = 64
_LONGEST_FRAME = 6
"""Tag and length of a record up to 32 GiB."""


def join_traces(groups: Iterable[ItemGroup]) -> bytes:
    """
    One serialised ExportTraceServiceRequest of all groups, each span exactly the bytes given.

    Groups with equal headers are merged, and scopes with equal resource headers share one resource group. Log records
    that were split can be joined by it as well: the envelopes have the same numbers.
    """
    return _join((origin.resource_header, origin.scope_header, items) for origin, items in groups)


def scope_header(name: str, version: str) -> bytes:
    """
    The header of a ScopeSpans or ScopeLogs message with nothing but the scope's name and version.
    """
    return frame(0x0A, frame(0x0A, _text(name)) + frame(0x12, _text(version)))


def _join(groups: Iterable[tuple[bytes, bytes, Sequence[bytes]]]) -> bytes:
    resources: dict[bytes, dict[bytes, list[bytes]]] = {}
    for resource, scope, items in groups:
        if items:
            resources.setdefault(resource, {}).setdefault(scope, []).extend(items)
    parts: list[bytes] = []
    for resource, scopes in resources.items():
        _append_resource(parts, resource, scopes)
    return b"".join(parts)


def _append_resource(parts: list[bytes], header: bytes, scopes: dict[bytes, list[bytes]]) -> None:
    at = len(parts)
    parts += (b"", header)
    size = len(header)
    for scope, items in scopes.items():
        size += _append_scope(parts, scope, items)
    parts[at] = _prefix(_RESOURCE_GROUP, size)


def _append_scope(parts: list[bytes], header: bytes, items: list[bytes]) -> int:
    """
    Appends one scope group, framed; gives its size.
    """
    sizes = list(map(len, items))
    prefixes = list(map(_item_prefix, sizes))
    framed = [b""] * (2 * len(items))
    framed[0::2] = prefixes
    framed[1::2] = items
    size = len(header) + sum(sizes) + sum(map(len, prefixes))
    prefix = _prefix(_SCOPE_GROUP, size)
    parts += (prefix, header)
    parts += framed
    return len(prefix) + size


def _prefix(tag: int, size: int) -> bytes:
    return b"%c%b" % (tag, encode_varint(size))


@lru_cache(maxsize=16_384)
def _item_prefix(size: int) -> bytes:
    """
    Tag and length of one item. Sizes recur: with the cache, joining costs half as many instructions.
    """
    return _prefix(_ITEM, size)


def framed_size(items: Sequence[bytes]) -> int:
    """
    What items add to a joined request, at most.
    """
    return sum(map(len, items)) + _LONGEST_FRAME * len(items)


def header_size(origin: Origin) -> int:
    """
    What one origin adds to a joined request, at most.
    """
    return len(origin.resource_header) + len(origin.scope_header) + 2 * _LONGEST_FRAME


def encode_attributes(attributes: Mapping[str, AttributeValue]) -> bytes:
    """
    The attributes as records of a span, to be appended to the bytes of one that does not have these keys.

    Raises `UnencodableValue`.
    """
    return b"".join(_attribute(_SPAN_ATTRIBUTE, key, value) for key, value in attributes.items())


def _attribute(tag: int, key: str, value: AttributeValue) -> bytes:
    if type(value) is str and len(value) <= _SHORT_TEXT:
        return frame(tag, _text_pair(key, value))
    return frame(tag, _key(key) + frame(0x12, encode_value(value)))


@lru_cache(maxsize=4096)
def _text_pair(key: str, value: str) -> bytes:
    """
    A KeyValue of text. Most of what we write recurs, and stands on the root and on every event of an occurrence.
    """
    return _key(key) + frame(0x12, encode_value(value))


@lru_cache(maxsize=1024)
def _key(key: str) -> bytes:
    """
    The key of a KeyValue. The keys that we write are few; the cache halves the time of an attribute.
    """
    return frame(_KEY, _text(key))


def _text(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def cut_attributes(span: bytes, prefix: str = "toolscore.", keep: Collection[str] = frozenset()) -> tuple[bytes, int]:
    """
    The span without the attributes whose key starts with *prefix* and is not in *keep*, and how many were cut.

    All other bytes stay as they are and where they are. Bytes that are no span come back unchanged.
    """
    wanted = prefix.encode()
    if wanted not in span:
        return span, 0
    kept = frozenset(key.encode() for key in keep)
    try:
        cut = [record for record in records(span) if _is_forged(span, record, wanted, kept)]
    except MalformedWire:
        return span, 0
    return _without(span, cut), len(cut)


def _is_forged(span: bytes, record: Record, prefix: bytes, keep: frozenset[bytes]) -> bool:
    if record.number != _SPAN_ATTRIBUTE_NUMBER or record.wire_type != LEN:
        return False
    key = b""
    for field in records(span, record.payload, record.end):
        if field.number == 1 and field.wire_type == LEN:
            key = span[field.payload : field.end]
    return key.startswith(prefix) and key not in keep


def _without(data: bytes, cut: Iterable[Record]) -> bytes:
    kept = []
    position = 0
    for record in cut:
        kept.append(data[position : record.start])
        position = record.end
    kept.append(data[position:])
    return b"".join(kept)


def encode_log_record(
    event_name: str,
    *,
    trace_id: bytes,
    span_id: bytes,
    time_ns: int,
    attributes: Mapping[str, AttributeValue],
    body: AttributeValue = None,
    severity: int = 9,
) -> bytes:
    """
    A serialised LogRecord that was observed when it happened. *severity* is OTLP's number; 9 is INFO.

    Raises `UnencodableValue`.
    """
    encoded_attributes = [_attribute(_LOG_ATTRIBUTE, key, value) for key, value in attributes.items()]
    return b"".join(
        (
            pack("<BQ", 0x09, time_ns),
            b"\x10" + encode_varint(severity),
            b"" if body is None else frame(0x2A, encode_value(body)),
            *encoded_attributes,
            frame(0x4A, trace_id),
            frame(0x52, span_id),
            pack("<BQ", 0x59, time_ns),
            frame(0x62, _text(event_name)),
        )
    )


def encode_span(
    *,
    trace_id: bytes,
    span_id: bytes,
    parent_span_id: bytes | None,
    name: str,
    start_ns: int,
    end_ns: int,
    attributes: Mapping[str, AttributeValue],
) -> bytes:
    """
    A serialised span of kind INTERNAL.

    Raises `UnencodableValue`.
    """
    return b"".join(
        (
            frame(0x0A, trace_id),
            frame(0x12, span_id),
            frame(0x22, parent_span_id or b""),
            frame(0x2A, _text(name)),
            _KIND_INTERNAL,
            pack("<BQ", 0x39, start_ns),
            pack("<BQ", 0x41, end_ns),
            encode_attributes(attributes),
        )
    )
