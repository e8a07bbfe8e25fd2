"""
Tests of OTLP/JSON: what it says in protobuf, and what it must not say.
"""

import gzip
import json
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from otlp_strategies import parse_traces

from proto_adapters.otlp_json import (
    MAX_DEPTH,
    MalformedJson,
    logs_from_json,
    logs_to_json,
    metrics_from_json,
    metrics_to_json,
    traces_from_json,
    traces_to_json,
)
from proto_adapters.split import UndecodableRequest, read_ids

DATA = Path(__file__).parent.parent / "data" / "otlp"
TRACE_HEX, SPAN_HEX = "0102030405060708090a0b0c0d0e0f10", "a1b2c3d4e5f60708"
TRACE, SPAN = bytes.fromhex(TRACE_HEX), bytes.fromhex(SPAN_HEX)


def body_of(span: object) -> bytes:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()


def span_of(**fields: object) -> Span:
    return parse_traces(traces_from_json(body_of(fields))).resource_spans[0].scope_spans[0].spans[0]


def value_of(value: object) -> AnyValue:
    return span_of(attributes=[{"key": "k", "value": value}]).attributes[0].value


def recorded_requests() -> Iterator[bytes]:
    raw = gzip.decompress((DATA / "agent_parallel.pb.gz").read_bytes())
    while raw:
        [size] = struct.unpack_from(">I", raw)
        yield raw[4 : 4 + size]
        raw = raw[4 + size :]


def test_a_recording_says_the_same_in_both_encodings() -> None:
    """
    But for the empty parent of a root, which the Collector writes out and we leave out.
    """
    lines = (DATA / "agent_parallel.jsonl").read_bytes().splitlines()

    for line, request in zip(lines, recorded_requests(), strict=True):
        assert parse_traces(request) == parse_traces(traces_from_json(line))
        assert json.loads(line.replace(b'"parentSpanId":"",', b"")) == json.loads(traces_to_json(request))


@pytest.mark.parametrize("change", [str.lower, str.upper])
def test_ids_are_hex_in_any_case(change: Callable[[str], str]) -> None:
    span = span_of(
        traceId=change(TRACE_HEX),
        spanId=change(SPAN_HEX),
        parentSpanId=change(SPAN_HEX),
        links=[{"traceId": change(TRACE_HEX), "spanId": change(SPAN_HEX)}],
    )

    assert (TRACE, SPAN, SPAN) == (span.trace_id, span.span_id, span.parent_span_id)
    assert (TRACE, SPAN) == (span.links[0].trace_id, span.links[0].span_id)


def test_ids_of_log_records_and_exemplars_are_hex() -> None:
    ids = {"traceId": TRACE_HEX, "spanId": SPAN_HEX}
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": [ids | {"body": {"stringValue": "b"}}]}]}]}
    point = {"asInt": "7", "exemplars": [ids | {"asDouble": 1}]}
    metrics = {"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "m", "gauge": {"dataPoints": [point]}}]}]}]}

    log_request = ExportLogsServiceRequest.FromString(logs_from_json(json.dumps(logs).encode()))
    metric_request = ExportMetricsServiceRequest.FromString(metrics_from_json(json.dumps(metrics).encode()))

    record = log_request.resource_logs[0].scope_logs[0].log_records[0]
    read_point = metric_request.resource_metrics[0].scope_metrics[0].metrics[0].gauge.data_points[0]
    assert (TRACE, SPAN, "b") == (record.trace_id, record.span_id, record.body.string_value)
    assert (7, TRACE, SPAN) == (read_point.as_int, read_point.exemplars[0].trace_id, read_point.exemplars[0].span_id)
    assert logs == json.loads(logs_to_json(log_request.SerializeToString()))
    assert "1.0" in metrics_to_json(metric_request.SerializeToString())


def test_ids_of_a_wrong_length_are_left_to_the_check_of_ids() -> None:
    assert b"\x01" == span_of(traceId="01").trace_id


@pytest.mark.parametrize("wrong", ["xyz", "01 02", "é", 1, ["01"]], ids=repr)
@pytest.mark.parametrize("key", ["traceId", "spanId", "parentSpanId"])
def test_what_is_no_id_costs_the_span_and_not_its_request(key: str, wrong: object) -> None:
    ids = {"traceId": TRACE_HEX, "spanId": SPAN_HEX}

    assert read_ids(span_of(**ids).SerializeToString()) is not None
    assert read_ids(span_of(**(ids | {key: wrong})).SerializeToString()) is None


def test_what_is_no_id_in_a_link_is_named_by_its_path() -> None:
    with pytest.raises(MalformedJson, match=r"links\.0\.traceId"):
        span_of(links=[{"traceId": "xyz"}])


def test_unknown_names_are_ignored() -> None:
    span = span_of(name="n", flavour={"deep": [1, {"x": None}]}, trace_id=TRACE_HEX, start_time_unix_nano=3)

    assert Span(name="n") == span


def test_null_is_an_absent_field() -> None:
    assert Span(name="n") == span_of(name="n", attributes=None, status=None, startTimeUnixNano=None)


@pytest.mark.parametrize("written", ["1700000000000000001", 1_700_000_000_000_000_001])
def test_64_bit_integers_come_as_text_or_number(written: object) -> None:
    assert 1_700_000_000_000_000_001 == span_of(startTimeUnixNano=written).start_time_unix_nano


@pytest.mark.parametrize(
    ("written", "value"),
    [
        pytest.param({"stringValue": "å"}, AnyValue(string_value="å"), id="string"),
        pytest.param({"stringValue": ""}, AnyValue(string_value=""), id="empty string"),
        pytest.param({"stringValue": "\ud83d!"}, AnyValue(string_value="�!"), id="half a surrogate pair"),
        pytest.param({"stringValue": "😀"}, AnyValue(string_value="😀"), id="whole surrogate pair"),
        pytest.param({"boolValue": False}, AnyValue(bool_value=False), id="false"),
        pytest.param({"intValue": "-9223372036854775808"}, AnyValue(int_value=-(1 << 63)), id="integer as text"),
        pytest.param({"intValue": 5}, AnyValue(int_value=5), id="integer"),
        pytest.param({"intValue": 5.0}, AnyValue(int_value=5), id="integer written as a double"),
        pytest.param({"doubleValue": 1}, AnyValue(double_value=1.0), id="double written as an integer"),
        pytest.param({"doubleValue": "1.5"}, AnyValue(double_value=1.5), id="double as text"),
        pytest.param({"doubleValue": "-Infinity"}, AnyValue(double_value=float("-inf")), id="infinity"),
        pytest.param({"bytesValue": "AP8="}, AnyValue(bytes_value=b"\x00\xff"), id="bytes"),
        pytest.param({}, AnyValue(), id="unset"),
        pytest.param({"arrayValue": {}}, AnyValue(array_value=ArrayValue()), id="empty array"),
        pytest.param(
            {"kvlistValue": {"values": [{"key": "a", "value": {"intValue": 1}}]}},
            AnyValue(kvlist_value=KeyValueList(values=[KeyValue(key="a", value=AnyValue(int_value=1))])),
            id="key-value list",
        ),
    ],
)
def test_values_of_every_type_are_read(written: object, value: AnyValue) -> None:
    assert value == value_of(written)


def test_every_value_type_survives_the_way_through_json() -> None:
    content = [True, -(1 << 63), 0.1, float("inf"), float("-inf")]
    span = Span(trace_id=TRACE, span_id=SPAN)
    for number in content:
        item = span.attributes.add(key="k").value.array_value.values.add()
        if isinstance(number, bool):
            item.bool_value = number
        elif isinstance(number, int):
            item.int_value = number
        else:
            item.double_value = number
    span.attributes.add(key="b").value.bytes_value = b"\x00\xff"
    span.attributes.add(key="n").value.double_value = float("nan")
    request = parse_traces(traces_from_json(body_of({})))
    request.resource_spans[0].scope_spans[0].spans[0].CopyFrom(span)

    line = traces_to_json(request.SerializeToString())

    assert request.SerializeToString() == traces_from_json(line.encode())
    assert (
        "NaN"
        == json.loads(line, parse_constant=pytest.fail)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["attributes"][
            -1
        ]["value"]["doubleValue"]
    )


SPANS = "resourceSpans.0.scopeSpans.0.spans.0"


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        pytest.param({"name": 7}, f"{SPANS}.name", id="number for text"),
        pytest.param({"kind": "SPAN_KIND_SERVER"}, f"{SPANS}.kind", id="enum by name"),
        pytest.param({"kind": True}, f"{SPANS}.kind", id="bool for an enum"),
        pytest.param({"kind": 1 << 40}, f"{SPANS}.kind", id="enum out of range"),
        pytest.param({"startTimeUnixNano": -1}, f"{SPANS}.startTimeUnixNano", id="negative time"),
        pytest.param({"startTimeUnixNano": 1 << 64}, f"{SPANS}.startTimeUnixNano", id="over 64 bits"),
        pytest.param({"startTimeUnixNano": "1_000"}, f"{SPANS}.startTimeUnixNano", id="text that only Python reads"),
        pytest.param({"startTimeUnixNano": 0.5}, f"{SPANS}.startTimeUnixNano", id="part of a nanosecond"),
        pytest.param({"startTimeUnixNano": True}, f"{SPANS}.startTimeUnixNano", id="bool for an integer"),
        pytest.param({"attributes": {}}, f"{SPANS}.attributes", id="object for an array"),
        pytest.param({"attributes": [{}, None]}, f"{SPANS}.attributes.1", id="null in an array"),
        pytest.param({"status": []}, f"{SPANS}.status", id="array for an object"),
        pytest.param(
            {"attributes": [{"value": {"bytesValue": "?"}}]}, f"{SPANS}.attributes.0.value.bytesValue", id="not base64"
        ),
        pytest.param(
            {"attributes": [{"value": {"boolValue": "true"}}]},
            f"{SPANS}.attributes.0.value.boolValue",
            id="text for bool",
        ),
        pytest.param(
            {"attributes": [{"value": {"doubleValue": "x"}}]},
            f"{SPANS}.attributes.0.value.doubleValue",
            id="text for double",
        ),
        pytest.param(
            {"attributes": [{"value": {"doubleValue": 10**400}}]},
            f"{SPANS}.attributes.0.value.doubleValue",
            id="integer over a double",
        ),
        pytest.param(
            {"attributes": [{"value": {"doubleValue": False}}]},
            f"{SPANS}.attributes.0.value.doubleValue",
            id="bool for double",
        ),
    ],
)
def test_a_wrong_value_is_named_by_its_path(fields: object, path: str) -> None:
    with pytest.raises(MalformedJson) as caught:
        traces_from_json(body_of(fields))

    assert path == ".".join(caught.value.path)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"{", id="cut"),
        pytest.param(b"[]", id="array"),
        pytest.param(b"null", id="null"),
        pytest.param(b'{"resourceSpans": "\xff"}', id="not UTF-8"),
        pytest.param(b"[" * 100_000, id="nesting bomb"),
        pytest.param(b'{"x":' * 100_000 + b"1" + b"}" * 100_000, id="nesting bomb under an unknown name"),
        pytest.param(b'{"resourceSpans": ' + b"9" * 10_000 + b"}", id="endless number"),
    ],
)
def test_a_body_that_is_not_otlp_json_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedJson):
        traces_from_json(body)


def array_of_depth(levels: int) -> dict[str, object]:
    value: dict[str, object] = {"stringValue": "core"}
    for _ in range(levels):
        value = {"arrayValue": {"values": [value]}}
    return value


def test_nesting_is_taken_as_far_as_protobuf_can_read_it() -> None:
    """
    Above a value stand request, resource, scope, span and attribute.
    """
    levels = (MAX_DEPTH - 6) // 2

    deep = traces_from_json(body_of({"attributes": [{"key": "k", "value": array_of_depth(levels)}]}))
    assert 1 == len(parse_traces(deep).resource_spans)

    with pytest.raises(MalformedJson, match="nested deeper"):
        traces_from_json(body_of({"attributes": [{"key": "k", "value": array_of_depth(levels + 1)}]}))


def test_an_empty_object_is_an_empty_request() -> None:
    assert b"" == traces_from_json(b"{}")
    assert "{}" == traces_to_json(b"")


def test_bytes_that_are_no_request_have_no_json() -> None:
    with pytest.raises(UndecodableRequest):
        traces_to_json(b"\x0a\x05")
