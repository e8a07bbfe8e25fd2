"""
Spans of tests as bytes: what an SDK would put on the wire, built with the official protobuf classes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

BASE_NS = 1_700_000_000_000_000_001
TICK_NS = 1_000_000
TRACE = b"T" * 16
SERVER, CLIENT = 2, 3
REMOTE_PARENT = 0x300


def span_id(label: str) -> bytes:
    return label.encode().rjust(8, b"_")[-8:]


def key_values(attributes: Mapping[str, object]) -> list[KeyValue]:
    return [KeyValue(key=key, value=_any_value(value)) for key, value in attributes.items()]


def _any_value(value: object) -> AnyValue:
    match value:
        case bool():
            return AnyValue(bool_value=value)
        case int():
            return AnyValue(int_value=value)
        case float():
            return AnyValue(double_value=value)
        case str():
            return AnyValue(string_value=value)
        case bytes():
            return AnyValue(bytes_value=value)
        case list():
            return AnyValue(array_value=ArrayValue(values=map(_any_value, value)))
        case _:
            message = f"no wire form for {value!r}"
            raise TypeError(message)


def wire_span(
    label: str,
    parent: str | None = None,
    *,
    trace: bytes = TRACE,
    start: float = 0,
    end: float | None = 1,
    name: str = "",
    attributes: Mapping[str, object] | None = None,
    **fields: Any,  # noqa: ANN401 # fields of the protobuf message
) -> bytes:
    """
    One span; times are ticks of a millisecond after `BASE_NS`, an *end* of `None` is no end.
    """
    return Span(
        trace_id=trace,
        span_id=span_id(label),
        parent_span_id=span_id(parent) if parent else b"",
        name=name or label,
        start_time_unix_nano=BASE_NS + round(start * TICK_NS),
        end_time_unix_nano=0 if end is None else BASE_NS + round(end * TICK_NS),
        attributes=key_values(attributes or {}),
        **fields,
    ).SerializeToString()


def agent(label: str = "agent", parent: str | None = None, **fields: Any) -> bytes:  # noqa: ANN401 # as wire_span
    marks = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner"}
    return wire_span(label, parent, attributes=marks | fields.pop("attributes", {}), **({"end": 100} | fields))


def tool(name: str, label: str | None = None, parent: str = "agent", **fields: Any) -> bytes:  # noqa: ANN401 # as above
    marks = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
    return wire_span(label or name, parent, attributes=marks | fields.pop("attributes", {}), **fields)


def chat(label: str = "chat", parent: str = "agent", *, messages: str | None = None, **fields: Any) -> bytes:  # noqa: ANN401 # as above
    marks = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "p", "gen_ai.response.id": label}
    if messages is not None:
        marks["gen_ai.output.messages"] = messages
    return wire_span(label, parent, attributes=marks | fields.pop("attributes", {}), **fields)


def trace_request(spans: Sequence[bytes], *, service: str = "shop", scope: str = "tests") -> bytes:
    """
    One request under one resource and scope, the spans exactly as given.
    """
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    resource.resource.attributes.extend(key_values({"service.name": service}))
    resource.scope_spans.add().scope.name = scope
    group = resource.scope_spans[0].SerializeToString() + b"".join(_framed(0x12, span) for span in spans)
    del resource.scope_spans[:]
    return _framed(0x0A, resource.SerializeToString() + _framed(0x12, group))


def log_request(label: str, event_name: str, attributes: Mapping[str, object], *, trace: bytes = TRACE) -> bytes:
    request = ExportLogsServiceRequest()
    record = request.resource_logs.add().scope_logs.add().log_records.add()
    record.trace_id, record.span_id, record.event_name = trace, span_id(label), event_name
    record.attributes.extend(key_values(attributes))
    return request.SerializeToString()


def _framed(tag: int, payload: bytes) -> bytes:
    length, size = bytearray(), len(payload)
    while size >= 0x80:
        length.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([tag]) + bytes(length) + bytes([size]) + payload


def error_status(message: str = "") -> Status:
    return Status(code=Status.STATUS_CODE_ERROR, message=message)
