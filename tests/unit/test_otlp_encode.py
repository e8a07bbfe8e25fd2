"""
Tests of requests put together again, and of what is added to and cut from spans.
"""

import pytest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from otlp_strategies import parse_traces
from wire_spans import key_values

from proto_adapters.anyvalue import UnencodableValue, decode_value
from proto_adapters.canonical import AttributeValue, Origin
from proto_adapters.otlp_encode import (
    cut_attributes,
    encode_attributes,
    encode_log_record,
    encode_span,
    framed_size,
    header_size,
    join_traces,
    scope_header,
)
from proto_adapters.split import read_origin
from proto_adapters.wire import encode_varint, frame

TRACE, SPAN, PARENT = b"T" * 16, b"S" * 8, b"P" * 8
IDS = frame(0x0A, TRACE) + frame(0x12, SPAN)


def origin_of(service: str, scope: str = "") -> Origin:
    resource = frame(0x0A, frame(0x0A, frame(0x0A, b"service.name") + frame(0x12, frame(0x0A, service.encode()))))
    return read_origin(resource, scope_header(scope, ""))


def attribute(key: bytes, value: bytes = b"") -> bytes:
    return frame(0x4A, frame(0x0A, key) + frame(0x12, value))


def pairs_of(span: bytes) -> dict[str, AttributeValue]:
    return {pair.key: decode_value(pair.value.SerializeToString()) for pair in Span.FromString(span).attributes}


def test_scopes_of_one_resource_share_its_group_and_equal_origins_are_merged() -> None:
    groups = [
        (origin_of("shop", "a"), [b"\x2a\x011"]),
        (origin_of("search", "a"), [b"\x2a\x012"]),
        (origin_of("shop", "b"), [b"\x2a\x013"]),
        (origin_of("shop", "a"), [b"\x2a\x014"]),
        (origin_of("empty", "a"), []),
    ]

    request = parse_traces(join_traces(groups))

    told = [
        (resource.resource.attributes[0].value.string_value, scope.scope.name, "".join(s.name for s in scope.spans))
        for resource in request.resource_spans
        for scope in resource.scope_spans
    ]
    assert [("shop", "a", "14"), ("shop", "b", "3"), ("search", "a", "2")] == told
    assert 2 == len(request.resource_spans)


def test_joining_nothing_is_an_empty_request() -> None:
    assert b"" == join_traces([])


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 128, 16_383, 16_384, 2_097_152])
def test_items_of_any_size_are_framed_as_protobuf_frames_them(size: int) -> None:
    span = Span(name="x" * size).SerializeToString()
    origin = origin_of("shop")

    joined = join_traces([(origin, [span])])

    assert span == parse_traces(joined).resource_spans[0].scope_spans[0].spans[0].SerializeToString()
    assert len(joined) <= header_size(origin) + framed_size([span]) < len(joined) + 24


def test_attributes_are_appended_to_a_span_as_it_is() -> None:
    span = Span(trace_id=TRACE, name="root", attributes=key_values({"a": 1})).SerializeToString()
    added: dict[str, AttributeValue] = {
        "toolscore.trigger": "root_span",
        "toolscore.score": 0.5,
        "toolscore.missing": ["x"],
    }

    extended = span + encode_attributes(added)

    assert {"a": 1} | added == pairs_of(extended)
    assert "root" == Span.FromString(extended).name


def test_an_attribute_without_a_wire_form_is_refused() -> None:
    with pytest.raises(UnencodableValue):
        encode_attributes({"toolscore.x": 1 << 64})


def test_forged_attributes_are_cut_and_all_else_stays_where_it_is() -> None:
    head, tail = attribute(b"a") + b"\x9a\x06\x05extra", frame(0x5A, b"\x12\x0btoolscore.x") + IDS
    forged = attribute(b"toolscore.trigger", b"\x18\x01")

    assert (head + tail, 2) == cut_attributes(head + forged + tail + forged)


@pytest.mark.parametrize(
    ("record", "is_cut"),
    [
        pytest.param(attribute(b"toolscore."), True, id="the prefix itself"),
        pytest.param(attribute(b"toolscore"), False, id="less than the prefix"),
        pytest.param(attribute(b"Toolscore.x"), False, id="another case"),
        pytest.param(attribute(b"x.toolscore.x"), False, id="prefix inside"),
        pytest.param(attribute(b"x", b"toolscore.x"), False, id="in a value"),
        pytest.param(attribute(b"toolscore.expected_tools"), False, id="kept by name"),
        pytest.param(frame(0x4A, frame(0x12, b"\x18\x01") + frame(0x0A, b"toolscore.x")), True, id="value before key"),
        pytest.param(frame(0x4A, frame(0x0A, b"x") + frame(0x0A, b"toolscore.x")), True, id="the last key counts"),
        pytest.param(frame(0x4A, frame(0x0A, b"toolscore.x") + frame(0x0A, b"x")), False, id="the last key is another"),
        pytest.param(b"\xca\x00" + attribute(b"toolscore.x")[1:], True, id="overlong tag"),
        pytest.param(b"\x4b" + frame(0x0A, b"toolscore.x") + b"\x4c", False, id="a group of the same number"),
        pytest.param(frame(0x52, frame(0x0A, b"toolscore.x")), False, id="another field"),
        pytest.param(
            encode_varint(99 << 3 | 3) + attribute(b"toolscore.x") + encode_varint(99 << 3 | 4), False, id="in a group"
        ),
    ],
)
def test_only_span_attributes_whose_key_starts_with_the_prefix_are_cut(record: bytes, *, is_cut: bool) -> None:
    cut, removed = cut_attributes(IDS + record + IDS, "toolscore.", {"toolscore.expected_tools"})

    assert (IDS + (b"" if is_cut else record) + IDS, int(is_cut)) == (cut, removed)


@pytest.mark.parametrize("number", [9, 99])
def test_a_group_does_not_hide_what_follows_it(number: int) -> None:
    group = encode_varint(number << 3 | 3) + b"\x08\x01" + encode_varint(number << 3 | 4)

    assert (group, 1) == cut_attributes(group + attribute(b"toolscore.x"))


@pytest.mark.parametrize("tail", [b"\x4a\x7f", b"\x0c", b"\xff\xff\xff", frame(0x4A, b"\x0a\x7f")])
def test_malformed_bytes_come_back_unchanged(tail: bytes) -> None:
    span = attribute(b"toolscore.x") + tail

    assert (span, 0) == cut_attributes(span)


def test_a_log_record_is_the_event_that_was_asked_for() -> None:
    raw = encode_log_record(
        "gen_ai.evaluation.result",
        trace_id=TRACE,
        span_id=SPAN,
        time_ns=12,
        attributes={"gen_ai.evaluation.score.value": 1.0, "toolscore.final": False},
        body="explained",
        severity=17,
    )

    record = LogRecord.FromString(raw)
    assert ("gen_ai.evaluation.result", TRACE, SPAN) == (record.event_name, record.trace_id, record.span_id)
    assert (12, 12, 17) == (record.time_unix_nano, record.observed_time_unix_nano, record.severity_number)
    assert "explained" == record.body.string_value
    pairs = {pair.key: decode_value(pair.value.SerializeToString()) for pair in record.attributes}
    assert {"gen_ai.evaluation.score.value": 1.0, "toolscore.final": False} == pairs


@pytest.mark.parametrize("parent", [PARENT, None])
def test_an_evaluation_span_is_small_and_internal(parent: bytes | None) -> None:
    raw = encode_span(
        trace_id=TRACE,
        span_id=SPAN,
        parent_span_id=parent,
        name="toolscore evaluation",
        start_ns=5,
        end_ns=9,
        attributes={"toolscore.coverage": "complete"},
    )

    span = Span.FromString(raw)
    assert (TRACE, SPAN, parent or b"") == (span.trace_id, span.span_id, span.parent_span_id)
    assert ("toolscore evaluation", Span.SPAN_KIND_INTERNAL) == (span.name, span.kind)
    assert (5, 9) == (span.start_time_unix_nano, span.end_time_unix_nano)
    assert {"toolscore.coverage": "complete"} == pairs_of(raw)
