"""
Tests of requests taken apart: origins, ids and heads.
"""

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from wire_spans import key_values, trace_request

from proto_adapters.split import (
    IdProblem,
    LogIds,
    OriginTable,
    SpanIds,
    UndecodableRequest,
    count_items,
    read_head,
    read_ids,
    read_log_ids,
    read_origin,
    split_logs,
    split_traces,
    why_no_ids,
)
from proto_adapters.wire import encode_varint, frame

TRACE, SPAN, PARENT = b"T" * 16, b"S" * 8, b"P" * 8
OTHER_TRACE, OTHER_SPAN = b"t" * 16, b"s" * 8
IDS = frame(0x0A, TRACE) + frame(0x12, SPAN)


def resource_header(service: object, **attributes: object) -> bytes:
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    group.resource.attributes.extend(key_values({"service.name": service} | attributes))
    return group.SerializeToString()


def scope_header(name: str, version: str = "") -> bytes:
    return frame(0x0A, frame(0x0A, name.encode()) + frame(0x12, version.encode()))


def test_spans_leave_as_the_bytes_they_came_in() -> None:
    spans = [IDS + b"\x9a\x06\x05extra", b"no span at all"]

    [(origin, items)] = split_traces(trace_request(spans, service="shop", scope="agents"), OriginTable()).groups

    assert spans == items
    assert ("shop", "agents") == (origin.service_name, origin.scope_name)


def test_equal_headers_share_one_origin_over_requests() -> None:
    origins = OriginTable()

    [(first, _)] = split_traces(trace_request([IDS]), origins).groups
    [(second, _)] = split_traces(trace_request([IDS + b"\x2a\x01x"]), origins).groups
    [(other, _)] = split_traces(trace_request([IDS], scope="other"), origins).groups

    assert first is second
    assert first is not other


def test_an_origin_knows_its_resource_and_scope() -> None:
    origin = read_origin(resource_header("shop", **{"host.cpus": 4}), scope_header("agents", "1.2"))

    assert {"service.name": "shop", "host.cpus": 4} == origin.resource_attributes
    assert ("shop", "agents", "1.2") == (origin.service_name, origin.scope_name, origin.scope_version)


@pytest.mark.parametrize(
    "header",
    [
        pytest.param(b"", id="no resource"),
        pytest.param(b"\x0a\x05ab", id="cut"),
        pytest.param(frame(0x0A, frame(0x0A, frame(0x0A, b"\xff"))), id="key that is not UTF-8"),
        pytest.param(resource_header(7), id="service name that is no string"),
    ],
)
def test_an_origin_that_cannot_be_read_has_no_service_name(header: bytes) -> None:
    assert "" == read_origin(header, b"\xff").service_name


def test_the_least_recently_used_origin_leaves_first() -> None:
    origins = OriginTable(capacity=2)
    first, second = origins.intern(b"", scope_header("a")), origins.intern(b"", scope_header("b"))
    origins.intern(b"", scope_header("a"))
    origins.intern(b"", scope_header("c"))

    assert first is origins.intern(b"", scope_header("a"))
    assert second is not origins.intern(b"", scope_header("b"))
    assert 2 == len(origins)


def test_origins_are_bounded_in_bytes_too() -> None:
    origins = OriginTable(max_bytes=1_000)
    for index in range(20):
        origins.intern(resource_header("x" * 90 + str(index)), b"")
    assert 0 < len(origins) <= 10

    huge = origins.intern(resource_header("y" * 2_000), b"")

    assert "y" * 2_000 == huge.service_name
    assert 0 == len(origins)


@pytest.mark.parametrize(
    "request_bytes",
    [
        pytest.param(b"", id="empty request"),
        pytest.param(frame(0x0A, b""), id="empty resource group"),
        pytest.param(frame(0x0A, frame(0x12, b"")), id="empty scope group"),
    ],
)
def test_empty_envelopes_are_a_request_without_spans(request_bytes: bytes) -> None:
    split = split_traces(request_bytes, OriginTable())

    assert ([], 0) == (split.groups, split.item_count)


def test_an_empty_span_is_an_item() -> None:
    assert 1 == split_traces(frame(0x0A, frame(0x12, frame(0x12, b""))), OriginTable()).item_count


@pytest.mark.parametrize("request_bytes", [b"\x0a", b"\x0a\x7fabc", b"\x0a\x02\x12\x05", b"not protobuf"])
def test_a_malformed_envelope_is_undecodable(request_bytes: bytes) -> None:
    with pytest.raises(UndecodableRequest):
        split_traces(request_bytes, OriginTable())
    with pytest.raises(UndecodableRequest):
        count_items(request_bytes)


def test_legacy_groups_are_told_of_and_not_passed_on() -> None:
    legacy = encode_varint(1000 << 3 | 2) + encode_varint(9) + b"old spans"
    group = legacy + frame(0x12, frame(0x12, IDS))

    split = split_traces(frame(0x0A, group), OriginTable())

    assert split.has_legacy_field
    [(origin, items)] = split.groups
    assert (b"", [IDS]) == (origin.resource_header, items)
    assert not split_traces(trace_request([IDS]), OriginTable()).has_legacy_field


def test_fields_unknown_to_the_request_itself_are_dropped() -> None:
    request = trace_request([IDS])

    split = split_traces(frame(0x7A, b"extra") + request, OriginTable())

    assert split.groups[0][1] == [IDS]


def test_items_of_every_signal_are_counted() -> None:
    logs, metrics = ExportLogsServiceRequest(), ExportMetricsServiceRequest()
    logs.resource_logs.add().scope_logs.add().log_records.add(event_name="a")
    for name in "ab":
        metrics.resource_metrics.add().scope_metrics.add().metrics.add(name=name)

    counts = [count_items(raw) for raw in (trace_request([IDS] * 3), logs.SerializeToString(), b"")]

    assert [3, 1, 0] == counts
    assert 2 == count_items(metrics.SerializeToString())


def test_log_records_leave_as_the_bytes_they_came_in() -> None:
    request = ExportLogsServiceRequest()
    record = request.resource_logs.add().scope_logs.add().log_records.add(event_name="a", trace_id=TRACE, span_id=SPAN)

    [(_, items)] = split_logs(request.SerializeToString(), OriginTable()).groups

    assert [record.SerializeToString()] == items
    assert LogIds(TRACE, SPAN) == read_log_ids(items[0])


@pytest.mark.parametrize(
    ("span", "ids"),
    [
        pytest.param(IDS + frame(0x22, PARENT), SpanIds(TRACE, SPAN, PARENT), id="as SDKs write a child"),
        pytest.param(IDS + frame(0x2A, b"root"), SpanIds(TRACE, SPAN, None), id="as SDKs write a root"),
        pytest.param(IDS + b"\x22\x00" + frame(0x2A, b"root"), SpanIds(TRACE, SPAN, None), id="as Go writes a root"),
        pytest.param(IDS, SpanIds(TRACE, SPAN, None), id="ids alone"),
        pytest.param(IDS + b"\x22\x00", SpanIds(TRACE, SPAN, None), id="ids and an empty parent"),
        pytest.param(IDS + frame(0x22, bytes(8)), SpanIds(TRACE, SPAN, None), id="all-zero parent is none"),
        pytest.param(frame(0x1A, b"a=b") + IDS, SpanIds(TRACE, SPAN, None), id="another field first"),
        pytest.param(IDS + frame(0x1A, b"a=b") + frame(0x22, PARENT), SpanIds(TRACE, SPAN, PARENT), id="parent later"),
        pytest.param(frame(0x12, SPAN) + frame(0x0A, TRACE), SpanIds(TRACE, SPAN, None), id="span id first"),
        pytest.param(b"\x8a\x00\x10" + TRACE + frame(0x12, SPAN), SpanIds(TRACE, SPAN, None), id="overlong tag"),
    ],
)
def test_ids_are_read_wherever_they_stand(span: bytes, ids: SpanIds) -> None:
    found, head = read_ids(span), read_head(span)
    assert found is not None
    assert ids == SpanIds(found.trace_id, found.span_id, found.parent_span_id)
    assert head is not None
    assert ids == SpanIds(head.trace_id, head.span_id, head.parent_span_id)


@pytest.mark.parametrize(
    ("span", "came_first"),
    [
        pytest.param(IDS + frame(0x22, PARENT), True, id="child"),
        pytest.param(IDS + b"\x22\x00" + frame(0x2A, b"invoke_agent"), True, id="root of Go"),
        pytest.param(frame(0x1A, b"a=b") + IDS, False, id="another field first"),
    ],
)
def test_ids_tell_whether_they_took_the_slower_way(span: bytes, *, came_first: bool) -> None:
    ids = read_ids(span)
    assert ids is not None
    assert came_first == ids.came_first


@pytest.mark.parametrize(
    "span",
    [
        pytest.param(b"", id="no ids"),
        pytest.param(frame(0x0A, TRACE), id="no span id"),
        pytest.param(frame(0x12, SPAN), id="no trace id"),
        pytest.param(frame(0x0A, bytes(16)) + frame(0x12, SPAN), id="all-zero trace id"),
        pytest.param(frame(0x0A, bytes(16)) + frame(0x12, SPAN) + frame(0x22, PARENT), id="child, all-zero trace id"),
        pytest.param(frame(0x0A, TRACE) + frame(0x12, bytes(8)), id="all-zero span id"),
        pytest.param(frame(0x0A, TRACE) + frame(0x12, bytes(8)) + frame(0x22, PARENT), id="child, all-zero span id"),
        pytest.param(frame(0x0A, TRACE[1:]) + frame(0x12, SPAN), id="short trace id"),
        pytest.param(frame(0x0A, TRACE) + frame(0x12, SPAN + b"S"), id="long span id"),
        pytest.param(IDS + frame(0x22, b"PPPP"), id="short parent"),
        pytest.param(IDS + frame(0x22, bytes(4)), id="short all-zero parent"),
        pytest.param(frame(0x0A, TRACE) + IDS, id="trace id twice"),
        pytest.param(frame(0x0A, TRACE[:8]) + frame(0x0A, TRACE[8:]) + frame(0x12, SPAN), id="trace id in two parts"),
        pytest.param(frame(0x12, SPAN) + IDS, id="span id twice"),
        pytest.param(frame(0x22, PARENT) + IDS + frame(0x22, PARENT), id="parent twice"),
        pytest.param(b"\x22\x00" + IDS + frame(0x22, PARENT), id="empty parent and another"),
        pytest.param(b"\x08\x01" + frame(0x12, SPAN), id="trace id that is a number"),
    ],
)
def test_invalid_ids_are_told_from_bytes_that_are_no_span(span: bytes) -> None:
    assert read_ids(span) is None
    assert read_head(span) is None
    assert why_no_ids(span) is IdProblem.INVALID_ID
    assert why_no_ids(span + b"\x0a") is IdProblem.UNDECODABLE


@pytest.mark.parametrize(
    "tail",
    [
        pytest.param(frame(0x0A, OTHER_TRACE), id="another trace id"),
        pytest.param(frame(0x12, OTHER_SPAN), id="another span id"),
        pytest.param(frame(0x22, OTHER_SPAN), id="another parent"),
        pytest.param(b"\x22\x00", id="no parent after a parent"),
        pytest.param(frame(0x22, bytes(8)), id="all-zero parent after a parent"),
        pytest.param(b"\x0a", id="garbage"),
        pytest.param(b"\x39\x00", id="cut start time"),
    ],
)
def test_a_head_sees_what_contradicts_the_ids_further_back(tail: bytes) -> None:
    span = IDS + frame(0x22, PARENT) + tail

    assert SpanIds(TRACE, SPAN, PARENT) == read_ids(span)
    assert read_head(span) is None


def test_a_parent_that_follows_an_empty_one_contradicts_it() -> None:
    assert read_head(IDS + b"\x22\x00" + frame(0x2A, b"root") + frame(0x22, PARENT)) is None


def test_a_head_holds_every_field_that_closing_a_trace_needs() -> None:
    span = Span(
        trace_id=TRACE,
        span_id=SPAN,
        parent_span_id=PARENT,
        kind=Span.SPAN_KIND_SERVER,
        start_time_unix_nano=5,
        end_time_unix_nano=9,
        dropped_attributes_count=1,
        dropped_events_count=2,
        flags=0x301,
    )

    head = read_head(span.SerializeToString())

    assert head is not None
    assert (2, 5, 9, 1, 2, 0x301) == (
        head.otel_kind,
        head.start_ns,
        head.end_ns,
        head.dropped_attributes_count,
        head.dropped_events_count,
        head.flags,
    )
    assert head.has_ended
    assert head.has_remote_parent


def test_a_span_without_an_end_has_none() -> None:
    head = read_head(IDS)

    assert head is not None
    assert head.end_ns is None
    assert not head.has_ended


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(b"", id="no ids"),
        pytest.param(LogRecord(trace_id=TRACE).SerializeToString(), id="trace only"),
        pytest.param(LogRecord(trace_id=TRACE, span_id=bytes(8)).SerializeToString(), id="all-zero span id"),
        pytest.param(LogRecord(trace_id=TRACE, span_id=SPAN).SerializeToString() * 2, id="ids twice"),
        pytest.param(b"\x4a", id="garbage"),
    ],
)
def test_a_log_record_without_valid_ids_belongs_to_no_span(record: bytes) -> None:
    assert read_log_ids(record) is None
