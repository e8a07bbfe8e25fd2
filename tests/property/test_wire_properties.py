"""
What must hold for every request and every span, however it was made.
"""

import json
from collections import Counter

from google.protobuf.message import DecodeError, Message
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from otlp_strategies import KEYS, VALUES, any_value, parse_traces, spans, trace_requests, unknown_fields, wire_like

from proto_adapters.anyvalue import LazyAttributes, UndecodableValue, decode_value, encode_value
from proto_adapters.canonical import NO_ORIGIN, Attributes
from proto_adapters.otlp_decode import view_log, view_span
from proto_adapters.otlp_encode import (
    cut_attributes,
    encode_attributes,
    framed_size,
    header_size,
    join_traces,
)
from proto_adapters.otlp_json import (
    logs_from_json,
    metrics_from_json,
    metrics_to_json,
    traces_from_json,
    traces_to_json,
)
from proto_adapters.split import (
    OriginTable,
    SpanIds,
    UndecodableRequest,
    read_head,
    read_ids,
    read_log_ids,
    split_logs,
    split_traces,
    why_no_ids,
)
from proto_adapters.wire import frame


def located_spans(request: bytes) -> Counter[tuple[bytes, bytes, bytes]]:
    """
    Every span with its headers, as protobuf's own parser sees them.
    """
    located: Counter[tuple[bytes, bytes, bytes]] = Counter()
    for resource in parse_traces(request).resource_spans:
        groups = list(resource.scope_spans)
        resource.ClearField("scope_spans")
        for group in groups:
            items = list(group.spans)
            group.ClearField("spans")
            located.update((serialised(resource), serialised(group), serialised(span)) for span in items)
    return located


def serialised(message: Message) -> bytes:
    return message.SerializeToString(deterministic=True)


def items_of(request: bytes) -> Counter[tuple[bytes, bytes, bytes]]:
    groups = split_traces(request, OriginTable()).groups
    return Counter((origin.resource_header, origin.scope_header, item) for origin, items in groups for item in items)


@given(trace_requests())
def test_joining_what_was_split_gives_every_span_back_byte_for_byte(request: bytes) -> None:
    joined = join_traces(split_traces(request, OriginTable()).groups)

    assert items_of(request) == items_of(joined)


@given(trace_requests())
def test_a_joined_request_is_no_larger_than_its_parts_say(request: bytes) -> None:
    groups = split_traces(request, OriginTable()).groups

    assert len(join_traces(groups)) <= sum(header_size(origin) + framed_size(items) for origin, items in groups)


@given(trace_requests())
def test_unknown_fields_survive_at_every_level_below_the_request(request: bytes) -> None:
    joined = join_traces(split_traces(request, OriginTable()).groups)

    assert located_spans(request) == located_spans(joined)


def ids_by_the_full_parser(span: bytes) -> SpanIds | None:
    message = Span.FromString(span)
    parent = message.parent_span_id
    valid = len(message.trace_id) == 16 and any(message.trace_id) and len(message.span_id) == 8 and any(message.span_id)
    if not valid or len(parent) not in {0, 8}:
        return None
    return SpanIds(message.trace_id, message.span_id, parent if any(parent) else None)


@given(spans())
def test_ids_are_those_of_the_full_parser(span: bytes) -> None:
    ids = read_ids(span)

    assert ids_by_the_full_parser(span) == (ids and SpanIds(ids.trace_id, ids.span_id, ids.parent_span_id))


@given(spans())
def test_the_head_is_that_of_the_full_parser(span: bytes) -> None:
    head, message = read_head(span), Span.FromString(span)

    assert (head is None) == (ids_by_the_full_parser(span) is None)
    if head is not None:
        assert (message.kind, message.start_time_unix_nano, message.flags) == (
            head.otel_kind,
            head.start_ns,
            head.flags,
        )
        assert message.end_time_unix_nano == (head.end_ns or 0)
        assert message.dropped_attributes_count == head.dropped_attributes_count
        assert message.dropped_events_count == head.dropped_events_count


@given(spans())
def test_the_view_is_that_of_the_full_parser(span: bytes) -> None:
    view, message = view_span(span, NO_ORIGIN), Span.FromString(span)

    if view is not None:
        expected = {pair.key: decode_value(pair.value.SerializeToString()) for pair in message.attributes}
        assert expected == dict(view.attributes)
        assert sorted(expected) == list(view.attributes)
        assert [event.name for event in message.events] == [event.name for event in view.events]
        assert [link.span_id for link in message.links] == [link.span_id for link in view.links]
        assert (message.name, message.status.message) == (view.name, view.status_message)


@given(VALUES)
def test_a_value_survives_encoding_and_decoding(value: object) -> None:
    assert value == decode_value(encode_value(value))  # type: ignore[arg-type] # what VALUES draws is no recursive alias


@given(VALUES)
def test_values_are_encoded_as_protobuf_does(value: object) -> None:
    assert any_value(value) == AnyValue.FromString(encode_value(value))  # type: ignore[arg-type] # as above


@given(spans(), st.sets(KEYS, max_size=2))
def test_cutting_removes_exactly_the_prefixed_attributes(span: bytes, keep: set[str]) -> None:
    cut, removed = cut_attributes(span, "toolscore.", keep)

    expected = Span.FromString(span)
    left = [pair for pair in expected.attributes if not pair.key.startswith("toolscore.") or pair.key in keep]
    assert removed == len(expected.attributes) - len(left)
    del expected.attributes[:]
    expected.attributes.extend(left)
    assert serialised(expected) == serialised(Span.FromString(cut))


@given(spans(), st.dictionaries(KEYS.map("toolscore.{}".format), VALUES, max_size=3), unknown_fields())
def test_cutting_undoes_appending(span: bytes, attributes: Attributes, tail: bytes) -> None:
    clean, _ = cut_attributes(span)

    assert (clean + tail, len(attributes)) == cut_attributes(clean + encode_attributes(attributes) + tail)


@given(wire_like())
def test_no_bytes_make_a_reader_fail(data: bytes) -> None:
    read_ids(data)
    read_head(data)
    read_log_ids(data)
    why_no_ids(data)
    cut_attributes(data, "t")
    span, log = view_span(data, NO_ORIGIN), view_log(data, NO_ORIGIN)
    if span is not None:
        assert len(span.attributes) == len(dict(span.attributes))
        assert len(span.events) == len([dict(event.attributes) for event in span.events])
        assert len(span.links) == len(list(span.links))
    if log is not None:
        assert len(log.attributes) == len(dict(log.attributes))


@given(wire_like())
def test_a_request_is_split_or_refused_by_name(data: bytes) -> None:
    for split in (split_traces, split_logs):
        try:
            groups = split(data, OriginTable()).groups
        except UndecodableRequest:
            continue
        assert items_of(data) == items_of(join_traces(groups))


@given(st.binary(max_size=60))
def test_a_value_is_decoded_or_refused_by_name(data: bytes) -> None:
    try:
        value = decode_value(data)
    except UndecodableValue:
        value = None
    try:
        AnyValue.FromString(data)
    except DecodeError:
        assert value is None


@given(trace_requests())
def test_a_request_survives_json(request: bytes) -> None:
    without_unknown = parse_traces(request)
    without_unknown.DiscardUnknownFields()

    assert without_unknown == parse_traces(traces_from_json(traces_to_json(request).encode()))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["resourceSpans", "scopeSpans", "spans", "traceId", "attributes", "value", "intValue"]),
            inner,
            max_size=3,
        )
    ),
)


@given(JSON)
def test_any_json_is_read_or_refused_by_name(tree: object) -> None:
    body = json.dumps(tree).encode()
    for read in (traces_from_json, logs_from_json, metrics_from_json):
        try:
            read(body)
        except UndecodableRequest:
            continue


@given(st.binary(max_size=40))
def test_any_body_is_read_or_refused_by_name(body: bytes) -> None:
    for read in (traces_from_json, metrics_to_json):
        try:
            read(body)
        except UndecodableRequest:
            continue


class DictOfBytes(dict[str, bytes]):
    """
    Stands for protobuf's map, with its trap: indexing a missing key inserts it.
    """

    def __missing__(self, key: str) -> bytes:
        self[key] = b""
        return b""


@given(st.lists(st.text(max_size=3)), st.lists(st.text(max_size=3)))
def test_reading_attributes_never_adds_any(present: list[str], asked: list[str]) -> None:
    raw = DictOfBytes((key, frame(0x0A, b"x")) for key in present)
    attributes = LazyAttributes(raw)

    found = {key for key in asked if attributes.get(key) == "x" and key in attributes}

    assert set(present) & set(asked) == found
    assert set(present) == set(raw)
