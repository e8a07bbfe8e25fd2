"""
The protobuf wire format below any schema: varints, framed records, and a walk over the records of one message.

Pure: bytes in, bytes out. Only what protobuf's own library does not offer is here: it can neither frame bytes that are
already encoded nor tell where in a message a field stands.
"""

from collections.abc import Iterator

from msgspec import Struct

VARINT, FIXED64, LEN, GROUP_START, GROUP_END, FIXED32 = range(6)

_ONE_BYTE = 0x80
"""What is below has a varint of one byte."""
_LONGEST_VARINT = 10
_SHIFTS = range(0, 7 * _LONGEST_VARINT, 7)
_FIRST_TAG = 1 << 3
_FIXED_SIZES = {FIXED64: 8, FIXED32: 4}
_UINT64 = (1 << 64) - 1


LARGE_SPAN = 64 * 1024
"""Bytes; smaller spans cannot hold enough records to matter."""
MAX_GROUPS = 50_000
"""Resources and scopes of one request; a Collector's batch has some thousand spans."""
MAX_RECORDS = 8_192
"""Fields, attributes, events and links together; SDKs stop at 128 of each unless told otherwise."""


class MalformedWire(ValueError):
    """
    The bytes are not a sequence of whole protobuf records.
    """


class Record(Struct, frozen=True, gc=False):
    """
    Where one record of a message stands: `[start, end)` with its tag, `[payload, end)` without tag and length.
    """

    number: int
    wire_type: int
    start: int
    payload: int
    end: int


def encode_varint(value: int) -> bytes:
    """
    *value* must be in [0, 2**64).
    """
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def encode_signed(value: int) -> bytes:
    """
    An int64: two's complement in ten bytes if negative.
    """
    return encode_varint(value & _UINT64)


def frame(tag: int, payload: bytes) -> bytes:
    """
    *payload* as one length-delimited record. *tag* is the whole tag, field number and wire type, below 128.
    """
    size = len(payload)
    if size < _ONE_BYTE:
        return b"%c%c%b" % (tag, size, payload)
    return b"%c%b%b" % (tag, encode_varint(size), payload)


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """
    The varint at *position*, and the position after it.
    """
    value = 0
    for shift in _SHIFTS:
        if position >= len(data):
            break
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    message = f"no whole varint before byte {position}"
    raise MalformedWire(message)


def records(data: bytes, start: int = 0, end: int | None = None) -> Iterator[Record]:
    """
    The records of the message in `data[start:end]`, in order; a group is one record.

    Raises `MalformedWire` where a record is not whole.
    """
    end = len(data) if end is None else end
    position = start
    while position < end:
        record = _short_record_at(data, position) or _record_at(data, position)
        if record.wire_type == GROUP_START:
            record = _whole_group(data, record, end)
        if record.end > end or record.wire_type == GROUP_END:
            message = f"no whole record at byte {position}"
            raise MalformedWire(message)
        yield record
        position = record.end


def is_overgrown(span: bytes) -> bool:
    """
    Whether a span has more records than any instrumentation writes, or a group, which OTLP has not.

    Two million empty events fit in a span, and reading them took half a minute: such a span passes unread and unmarked.
    """
    if len(span) < LARGE_SPAN:
        return False
    position = 0
    try:
        for _ in range(MAX_RECORDS):
            if position >= len(span):
                return False
            record = _short_record_at(span, position) or _record_at(span, position)
            if record.wire_type in {GROUP_START, GROUP_END}:
                return True
            position = record.end
    except MalformedWire:
        return False
    return True


def has_too_many_groups(request: bytes) -> bool:
    """
    Whether a request has more resources and scopes than it is worth to take apart.

    Asked before parsing: thirty million empty groups fit in a request, and each costs a message in memory. Small
    requests have no room for so many.
    """
    if len(request) <= MAX_GROUPS:
        return False
    seen = 0
    try:
        for resource in _flat_records(request, 0, len(request)):
            seen += 1
            if resource.number == 1 and resource.wire_type == LEN:
                for _ in _flat_records(request, resource.payload, resource.end):
                    seen += 1
                    if seen > MAX_GROUPS:
                        return True
            if seen > MAX_GROUPS:
                return True
    except MalformedWire:
        return False
    return False


def _flat_records(data: bytes, start: int, end: int) -> Iterator[Record]:
    """
    Like `records`, but the records in a group stand beside it: never more work than was asked for.
    """
    while start < end:
        record = _short_record_at(data, start) or _record_at(data, start)
        if record.end > end:
            return
        yield record
        start = record.end


def _short_record_at(data: bytes, start: int) -> Record | None:
    """
    A length-delimited record with one byte each of tag and length. Nearly all small ones are: a hostile span can hold
    two million of them, and this takes half the time.
    """
    tag = data[start]
    if tag & 0x87 != LEN or tag < _FIRST_TAG or start + 1 == len(data) or data[start + 1] >= _ONE_BYTE:
        return None
    payload = start + 2
    return Record(tag >> 3, LEN, start, payload, payload + data[start + 1])


def _record_at(data: bytes, start: int) -> Record:
    tag, payload = read_varint(data, start)
    number, wire_type = tag >> 3, tag & 7
    if wire_type == VARINT:
        _, end = read_varint(data, payload)
    elif wire_type == LEN:
        size, payload = read_varint(data, payload)
        end = payload + size
    elif wire_type in _FIXED_SIZES:
        end = payload + _FIXED_SIZES[wire_type]
    elif wire_type in {GROUP_START, GROUP_END}:
        end = payload
    else:
        number = 0
        end = payload
    if number == 0:
        message = f"no tag at byte {start}"
        raise MalformedWire(message)
    return Record(number, wire_type, start, payload, end)


def _whole_group(data: bytes, first: Record, end: int) -> Record:
    """
    The group that *first* opens. Nested groups are counted, not recursed into: their depth is the sender's choice.
    """
    open_groups = [first.number]
    record = first
    while open_groups:
        if record.end >= end:
            message = f"the group at byte {first.start} does not end"
            raise MalformedWire(message)
        record = _record_at(data, record.end)
        if record.wire_type == GROUP_START:
            open_groups.append(record.number)
        elif record.wire_type == GROUP_END and open_groups.pop() != record.number:
            message = f"a group ends at byte {record.start} that is not open"
            raise MalformedWire(message)
    return Record(first.number, first.wire_type, first.start, first.payload, record.end)
