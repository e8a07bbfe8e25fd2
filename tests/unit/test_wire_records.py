"""
Tests of the wire format below any schema.
"""

import pytest

from proto_adapters.wire import MalformedWire, encode_signed, encode_varint, frame, read_varint, records

GROUP = b"\x0b\x13\x14\x0c"
"""Group 1 with an empty group 2 in it."""


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(0, b"\x00"), (127, b"\x7f"), (128, b"\x80\x01"), (300, b"\xac\x02"), ((1 << 64) - 1, b"\xff" * 9 + b"\x01")],
)
def test_varints_have_the_shortest_form(value: int, encoded: bytes) -> None:
    assert encoded == encode_varint(value)
    assert (value, len(encoded)) == read_varint(encoded, 0)


def test_a_negative_integer_takes_ten_bytes() -> None:
    assert b"\xff" * 9 + b"\x01" == encode_signed(-1)


def test_every_wire_type_is_one_record() -> None:
    data = b"\x08\x96\x01" + b"\x11" + bytes(8) + frame(0x1A, b"abc") + GROUP + b"\x25" + bytes(4)

    assert [1, 2, 3, 1, 4] == [record.number for record in records(data)]
    assert data == b"".join(data[record.start : record.end] for record in records(data))
    assert b"abc" == next(data[record.payload : record.end] for record in records(data) if record.number == 3)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\x08", id="tag without a value"),
        pytest.param(b"\x08\x80", id="varint without an end"),
        pytest.param(b"\x08" + b"\x80" * 11, id="varint over ten bytes"),
        pytest.param(b"\x1a\x05abc", id="length over the end"),
        pytest.param(b"\x11abc", id="fixed64 cut"),
        pytest.param(b"\x25abc", id="fixed32 cut"),
        pytest.param(b"\x02\x00", id="field number 0"),
        pytest.param(b"\x0e", id="wire type 6"),
        pytest.param(b"\x0c", id="group end without a start"),
        pytest.param(b"\x0b", id="group without an end"),
        pytest.param(b"\x0b\x14", id="group closed by another"),
    ],
)
def test_a_record_that_is_not_whole_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedWire):
        list(records(data))


def test_a_record_may_not_reach_over_the_end_of_its_message() -> None:
    with pytest.raises(MalformedWire):
        list(records(frame(0x0A, b"abc"), 0, 3))


def test_the_depth_of_groups_is_not_limited_by_the_stack() -> None:
    deep = b"\x0b" * 100_000 + b"\x0c" * 100_000

    assert [len(deep)] == [record.end for record in records(deep)]
