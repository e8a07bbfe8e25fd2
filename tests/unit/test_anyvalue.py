"""
Tests of attribute values: what each becomes, and what becomes of those that do not decode.
"""

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from otlp_strategies import any_value

from proto_adapters.anyvalue import (
    MAX_NESTING,
    LazyAttributes,
    UndecodableValue,
    UnencodableValue,
    decode_value,
    encode_value,
)
from proto_adapters.canonical import AttributeValue
from proto_adapters.lean_schema import parse_span
from proto_adapters.wire import frame


def attributes_of(*pairs: tuple[bytes, bytes]) -> LazyAttributes:
    """
    Attributes from raw keys and raw values.
    """
    records = [frame(0x4A, frame(0x0A, key) + frame(0x12, value)) for key, value in pairs]
    return LazyAttributes(parse_span(b"".join(records)).attributes)


def nested(levels: int) -> AttributeValue:
    value: AttributeValue = "core"
    for _ in range(levels):
        value = {"k": value}
    return value


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("", id="empty string"),
        pytest.param("å" * 63 + "x", id="string of 127 bytes"),
        pytest.param("x" * 128, id="string of 128 bytes"),
        pytest.param("x" * 16_383, id="longest string with a length of two bytes"),
        pytest.param("x" * 16_384, id="string with a length of three bytes"),
        pytest.param(False, id="false is a value"),
        pytest.param(-(1 << 63), id="smallest integer"),
        pytest.param((1 << 63) - 1, id="largest integer"),
        pytest.param(0.1, id="double"),
        pytest.param(b"\xff\x00", id="bytes"),
        pytest.param([], id="empty array"),
        pytest.param([None, True, "a", [1, {}]], id="mixed array"),
        pytest.param({"a": {"b": [1.5]}, "": None}, id="key-value list"),
        pytest.param(None, id="unset"),
    ],
)
def test_values_are_read_and_written_as_protobuf_does(value: AttributeValue) -> None:
    by_protobuf = any_value(value).SerializeToString()

    decoded = decode_value(by_protobuf)

    assert (type(value), value) == (type(decoded), decoded)
    assert any_value(value) == AnyValue.FromString(encode_value(value))


def test_of_two_values_in_one_the_last_counts() -> None:
    assert 7 == decode_value(encode_value("first") + encode_value(7))
    assert "last" == decode_value(encode_value(7) + encode_value("last"))


def test_of_equal_keys_in_a_list_the_last_counts() -> None:
    twice = AnyValue()
    twice.kvlist_value.values.add(key="k").value.int_value = 1
    twice.kvlist_value.values.add(key="k").value.int_value = 2

    assert {"k": 2} == decode_value(twice.SerializeToString())


def test_an_index_into_a_dictionary_that_traces_do_not_have_is_unset() -> None:
    assert decode_value(AnyValue(string_value_strindex=3).SerializeToString()) is None


@pytest.mark.parametrize(
    ("raw", "best_reading"),
    [
        pytest.param(b"\x0a\x03a\xff\xff", "a��", id="text that is not UTF-8"),
        pytest.param(frame(0x2A, frame(0x0A, frame(0x0A, b"\xff"))), None, id="such text inside an array"),
        pytest.param(b"\x0a\x05ab", None, id="cut string"),
        pytest.param(b"\x2a\x7f", None, id="cut array"),
        pytest.param(b"\x0a", None, id="tag alone"),
        pytest.param(b"\xff\xff", None, id="garbage"),
    ],
)
def test_a_value_that_does_not_decode_has_a_best_reading(raw: bytes, best_reading: AttributeValue) -> None:
    with pytest.raises(UndecodableValue) as caught:
        decode_value(raw)

    assert best_reading == caught.value.best_reading


def test_a_nesting_bomb_is_undecodable_not_a_crash() -> None:
    bomb = b"\x0a\x01x"
    for _ in range(5_000):
        bomb = frame(0x2A, frame(0x0A, bomb))

    with pytest.raises(UndecodableValue):
        decode_value(bomb)


def test_what_is_encoded_at_the_greatest_depth_is_readable_inside_a_request() -> None:
    request = ExportTraceServiceRequest()
    span = request.resource_spans.add().scope_spans.add().spans.add()
    span.attributes.add(key="deep", value=AnyValue.FromString(encode_value(nested(MAX_NESTING))))

    assert request == ExportTraceServiceRequest.FromString(request.SerializeToString())


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(1 << 63, id="integer over 64 bits"),
        pytest.param(nested(MAX_NESTING + 1), id="too deep"),
        pytest.param([object()], id="no such type"),
    ],
)
def test_what_has_no_value_is_refused(value: AttributeValue) -> None:
    with pytest.raises(UnencodableValue):
        encode_value(value)


def test_a_lone_surrogate_becomes_a_question_mark() -> None:
    assert "a?" == decode_value(encode_value("a\ud800"))


def test_an_undecodable_value_is_read_as_well_as_it_can_be_and_named() -> None:
    attributes = attributes_of((b"good", encode_value(1)), (b"text", frame(0x0A, b"\xff")), (b"cut", b"\x0a\x05"))
    assert frozenset() == attributes.undecodable

    assert {"good": 1, "text": "�", "cut": None} == dict(attributes)

    assert {"text", "cut"} == attributes.undecodable


def test_a_missing_key_stays_missing() -> None:
    attributes = attributes_of((b"a", encode_value("x")))

    assert attributes.get("b") is None
    assert "other" == attributes.get("b", "other")
    with pytest.raises(KeyError):
        attributes["b"]

    assert ["a"] == list(attributes)


def test_attributes_come_in_key_order_whatever_order_they_were_sent_in() -> None:
    pairs = [(key.encode(), encode_value(key)) for key in "dbac"]

    assert list("abcd") == list(attributes_of(*pairs))


def test_of_equal_attributes_the_last_counts() -> None:
    attributes = attributes_of((b"k", encode_value("first")), (b"k", encode_value("last")))

    assert {"k": "last"} == dict(attributes)


def test_a_value_is_decoded_once() -> None:
    attributes = attributes_of((b"k", encode_value([1])))

    assert attributes["k"] is attributes["k"]
    assert attributes.get("k") is attributes["k"]


def test_an_attribute_without_a_value_is_none() -> None:
    span = Span()
    span.attributes.add(key="k")

    assert {"k": None} == dict(LazyAttributes(parse_span(span.SerializeToString()).attributes))
