"""
Tests of views: what of a span or log record can be read, and what malformed parts cost.
"""

import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from wire_spans import key_values

from proto_adapters.anyvalue import LazyAttributes
from proto_adapters.canonical import NO_ORIGIN, EventView, LinkView, SpanStatus, SpanView
from proto_adapters.otlp_decode import LazyItems, digest, view_log, view_span
from proto_adapters.split import read_origin
from proto_adapters.wire import frame

TRACE, SPAN, PARENT = b"T" * 16, b"S" * 8, b"P" * 8
IDS = frame(0x0A, TRACE) + frame(0x12, SPAN)


def view(span: bytes) -> SpanView:
    read = view_span(span, NO_ORIGIN)
    assert read is not None
    return read


def test_a_view_says_what_the_wire_said() -> None:
    origin = read_origin(b"", b"")
    span = Span(
        trace_id=TRACE,
        span_id=SPAN,
        parent_span_id=PARENT,
        name="chat",
        kind=Span.SPAN_KIND_CLIENT,
        start_time_unix_nano=5,
        end_time_unix_nano=9,
        flags=0x101,
        attributes=key_values({"gen_ai.operation.name": "chat", "tokens": 7}),
        dropped_attributes_count=1,
        dropped_events_count=2,
        events=[Span.Event(name="exception", time_unix_nano=8, attributes=key_values({"exception.type": "E"}))],
        links=[Span.Link(trace_id=b"L" * 16, span_id=b"L" * 8)],
        status=Status(code=Status.STATUS_CODE_ERROR, message="late"),
    )

    read = view_span(span.SerializeToString(), origin)

    assert read is not None
    assert (TRACE, SPAN, PARENT) == (read.trace_id, read.span_id, read.parent_span_id)
    assert ("chat", 3, 5, 9, 0x101) == (read.name, read.otel_kind, read.start_ns, read.end_ns, read.flags)
    assert (1, 2) == (read.dropped_attributes_count, read.dropped_events_count)
    assert {"gen_ai.operation.name": "chat", "tokens": 7} == read.attributes
    assert [EventView("exception", {"exception.type": "E"}, 8)] == list(read.events)
    assert [LinkView(b"L" * 16, b"L" * 8)] == list(read.links)
    assert (SpanStatus.ERROR, "late") == (read.status, read.status_message)
    assert read.origin is origin


def test_a_bare_span_has_empty_parts() -> None:
    read = view(IDS)

    assert (None, None, "", SpanStatus.UNSET) == (read.parent_span_id, read.end_ns, read.name, read.status)
    assert ({}, (), ()) == (read.attributes, read.events, read.links)


@pytest.mark.parametrize(
    "tail",
    [
        pytest.param(frame(0x4A, frame(0x0A, b"\xff") + frame(0x12, b"")), id="key that is not UTF-8"),
        pytest.param(b"\x4a\x05ab", id="cut attribute"),
        pytest.param(frame(0x4A, b"\x0a\x05ab"), id="cut key"),
        pytest.param(frame(0x7A, b"\x12\x05"), id="garbage for a status"),
        pytest.param(b"\xff\xff", id="garbage tail"),
        pytest.param(frame(0x0A, b"t" * 16), id="a second trace id"),
    ],
)
def test_a_span_that_does_not_decode_has_no_view(tail: bytes) -> None:
    assert view(IDS + frame(0x22, PARENT))
    assert view_span(IDS + frame(0x22, PARENT) + tail, NO_ORIGIN) is None


def test_a_value_that_does_not_decode_costs_only_itself() -> None:
    good = frame(0x4A, frame(0x0A, b"good") + frame(0x12, b"\x18\x07"))
    bad = frame(0x4A, frame(0x0A, b"bad") + frame(0x12, b"\x2a\x05"))

    attributes = view(IDS + good + bad).attributes

    assert {"good": 7, "bad": None} == dict(attributes)
    assert isinstance(attributes, LazyAttributes)
    assert {"bad"} == attributes.undecodable


def test_an_event_or_link_that_does_not_decode_is_left_out_and_counted() -> None:
    good, bad = frame(0x12, b"choice"), b"\x12\x7f"
    span = IDS + frame(0x5A, good) + frame(0x5A, bad) + frame(0x6A, bad)

    read = view(span)

    assert ["choice"] == [event.name for event in read.events]
    assert isinstance(read.events, LazyItems)
    assert isinstance(read.links, LazyItems)
    assert (1, 1) == (read.events.undecodable, read.links.undecodable)
    assert ("choice", 1, 0) == (read.events[0].name, len(read.events), len(read.links))


def test_names_that_are_not_utf8_are_replaced() -> None:
    status = frame(0x7A, frame(0x12, b"no\xff"))
    event = frame(0x5A, frame(0x12, b"\xffev"))

    read = view(IDS + frame(0x2A, b"ch\xfft") + status + event)

    assert ("ch�t", "no�", "�ev") == (read.name, read.status_message, read.events[0].name)


def test_an_unknown_status_code_is_unset() -> None:
    assert view(IDS + frame(0x7A, b"\x18\x09")).status is SpanStatus.UNSET
    assert view(IDS + frame(0x7A, b"\x18\x01")).status is SpanStatus.OK


def log(**fields: object) -> bytes:
    return LogRecord(trace_id=TRACE, span_id=SPAN, **fields).SerializeToString()  # type: ignore[arg-type] # one field each


def test_a_log_view_says_what_the_wire_said() -> None:
    origin = read_origin(b"", b"")
    record = log(
        event_name="gen_ai.choice",
        time_unix_nano=3,
        attributes=key_values({"index": 0}),
        body=AnyValue(string_value="hello"),
    )

    read = view_log(record, origin)

    assert read is not None
    assert (TRACE, SPAN, "gen_ai.choice", 3) == (read.trace_id, read.span_id, read.event_name, read.time_ns)
    assert ({"index": 0}, "hello") == (dict(read.attributes), read.body)
    assert read.origin is origin


def test_a_log_record_without_a_time_has_that_of_its_observation() -> None:
    read = view_log(log(observed_time_unix_nano=4), NO_ORIGIN)

    assert read is not None
    assert (4, None) == (read.time_ns, read.body)


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(LogRecord(event_name="gen_ai.choice").SerializeToString(), id="of no span"),
        pytest.param(log() + frame(0x2A, b"\x0a\x05"), id="body that does not decode"),
        pytest.param(log() + frame(0x2A, frame(0x0A, b"\xff")), id="body that is not UTF-8"),
        pytest.param(log() + frame(0x32, frame(0x0A, b"\xff")), id="key that is not UTF-8"),
        pytest.param(log() + b"\x09", id="cut"),
    ],
)
def test_a_log_record_that_cannot_be_read_has_no_view(record: bytes) -> None:
    assert view_log(record, NO_ORIGIN) is None


def test_digests_tell_spans_apart_by_their_bytes() -> None:
    assert digest(IDS) == digest(bytes(bytearray(IDS)))
    assert digest(IDS) != digest(IDS + b"\x30\x01")
    assert 16 == len(digest(b""))
