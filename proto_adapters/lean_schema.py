"""
The lean OTLP schema: the same wire format, declared so that protobuf decodes no more than what is asked for.

Built at import in a descriptor pool of its own, so no generated file is needed and nothing clashes with
`opentelemetry.proto`. Field numbers are those of OTLP (opentelemetry-proto 1.11). The three signals share one envelope:
requests, resource and scope groups have the same numbers for spans, log records and metrics.

Only `parse_…` functions leave this module; each raises `DecodeError` on bytes that are not such a message.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, cast

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

__all__ = [
    "DecodeError",
    "parse_event",
    "parse_link",
    "parse_log",
    "parse_log_ids",
    "parse_request",
    "parse_resource_header",
    "parse_scope_header",
    "parse_span",
    "parse_span_head",
    "parse_span_ids",
    "parse_status",
]

_PACKAGE = "toolscore.lean"

BYTES = FieldDescriptorProto.TYPE_BYTES
STRING = FieldDescriptorProto.TYPE_STRING
INT32 = FieldDescriptorProto.TYPE_INT32
UINT32 = FieldDescriptorProto.TYPE_UINT32
FIXED32 = FieldDescriptorProto.TYPE_FIXED32
FIXED64 = FieldDescriptorProto.TYPE_FIXED64
MESSAGE = FieldDescriptorProto.TYPE_MESSAGE


class ScopeGroup(Message):
    """
    ScopeSpans, ScopeLogs or ScopeMetrics. What is not declared (scope, schema URL) stays in it as unknown fields.
    """

    items: Sequence[bytes]


class ResourceGroup(Message):
    """
    ResourceSpans, ResourceLogs or ResourceMetrics. `legacy` is field 1000, the `instrumentation_library_…` groups of
    OTLP before 0.15.
    """

    scopes: Sequence[ScopeGroup]
    legacy: Sequence[bytes]


class Request(Protocol):
    resources: Sequence[ResourceGroup]


class ValueMap(Protocol):
    """
    Attributes by key, each value an undecoded AnyValue. Test with `in` first: indexing a missing key inserts it.
    """

    def __contains__(self, key: object) -> bool: ...

    def __getitem__(self, key: str) -> bytes: ...

    def __iter__(self) -> Iterator[str]: ...

    def __len__(self) -> int: ...


class SpanIdsMessage(Protocol):
    """
    Ids as `repeated`, so that a second one is seen.
    """

    trace_ids: Sequence[bytes]
    span_ids: Sequence[bytes]
    parent_span_ids: Sequence[bytes]


class SpanHeadMessage(Protocol):
    """
    Of repeated ids the last counts, as with every parser.
    """

    trace_id: bytes
    span_id: bytes
    parent_span_id: bytes
    kind: int
    start_ns: int
    end_ns: int
    dropped_attributes_count: int
    dropped_events_count: int
    flags: int


class StatusMessage(Protocol):
    message: bytes
    code: int


class SpanMessage(SpanHeadMessage, Protocol):
    """
    The header and all that can be told of a span, for spans that are looked into: one parse instead of two.
    """

    name: bytes
    attributes: ValueMap
    events: Sequence[bytes]
    links: Sequence[bytes]
    status: bytes


class EventMessage(Protocol):
    time_ns: int
    name: bytes
    attributes: ValueMap


class LinkMessage(Protocol):
    trace_id: bytes
    span_id: bytes


class LogIdsMessage(Protocol):
    trace_ids: Sequence[bytes]
    span_ids: Sequence[bytes]


class LogMessage(Protocol):
    time_ns: int
    observed_ns: int
    body: Sequence[bytes]
    attributes: ValueMap
    event_name: bytes


class ResourceMessage(Protocol):
    attributes: ValueMap


class ResourceHeader(Protocol):
    resource: ResourceMessage


class ScopeMessage(Protocol):
    name: bytes
    version: bytes


class ScopeHeader(Protocol):
    scope: ScopeMessage


def _field(name: str, number: int, kind: "FieldDescriptorProto.Type.ValueType") -> FieldDescriptorProto:
    return FieldDescriptorProto(name=name, number=number, type=kind, label=FieldDescriptorProto.LABEL_OPTIONAL)


def _repeated(name: str, number: int, kind: "FieldDescriptorProto.Type.ValueType") -> FieldDescriptorProto:
    return FieldDescriptorProto(name=name, number=number, type=kind, label=FieldDescriptorProto.LABEL_REPEATED)


def _submessage(name: str, number: int, type_name: str) -> FieldDescriptorProto:
    field = _field(name, number, MESSAGE)
    field.type_name = f".{_PACKAGE}.{type_name}"
    return field


def _submessages(name: str, number: int, type_name: str) -> FieldDescriptorProto:
    field = _repeated(name, number, MESSAGE)
    field.type_name = f".{_PACKAGE}.{type_name}"
    return field


def _message(name: str, *fields: FieldDescriptorProto) -> DescriptorProto:
    return DescriptorProto(name=name, field=fields)


def _with_attributes(number: int, message: DescriptorProto) -> DescriptorProto:
    """
    *message* with `map<string, bytes> attributes = number`, which has the wire format of `repeated KeyValue`.
    """
    entry = message.nested_type.add(name="AttributesEntry")
    entry.field.extend([_field("key", 1, STRING), _field("value", 2, BYTES)])
    entry.options.map_entry = True
    message.field.append(_submessages("attributes", number, f"{message.name}.AttributesEntry"))
    return message


_HEAD_FIELDS = (
    _field("trace_id", 1, BYTES),
    _field("span_id", 2, BYTES),
    _field("parent_span_id", 4, BYTES),
    _field("kind", 6, INT32),
    _field("start_ns", 7, FIXED64),
    _field("end_ns", 8, FIXED64),
    _field("dropped_attributes_count", 10, UINT32),
    _field("dropped_events_count", 12, UINT32),
    _field("flags", 16, FIXED32),
)

_MESSAGES = [
    _message("Request", _submessages("resources", 1, "ResourceGroup")),
    _message("ResourceGroup", _submessages("scopes", 2, "ScopeGroup"), _repeated("legacy", 1000, BYTES)),
    _message("ScopeGroup", _repeated("items", 2, BYTES)),
    _message("ResourceHeader", _submessage("resource", 1, "Resource")),
    _with_attributes(1, _message("Resource")),
    _message("ScopeHeader", _submessage("scope", 1, "Scope")),
    _message("Scope", _field("name", 1, BYTES), _field("version", 2, BYTES)),
    _message(
        "SpanIds",
        _repeated("trace_ids", 1, BYTES),
        _repeated("span_ids", 2, BYTES),
        _repeated("parent_span_ids", 4, BYTES),
    ),
    _message("SpanHead", *_HEAD_FIELDS),
    _with_attributes(
        9,
        _message(
            "Span",
            *_HEAD_FIELDS,
            _field("name", 5, BYTES),
            _repeated("events", 11, BYTES),
            _repeated("links", 13, BYTES),
            _field("status", 15, BYTES),
        ),
    ),
    _message("Status", _field("message", 2, BYTES), _field("code", 3, INT32)),
    _with_attributes(3, _message("Event", _field("time_ns", 1, FIXED64), _field("name", 2, BYTES))),
    _message("Link", _field("trace_id", 1, BYTES), _field("span_id", 2, BYTES)),
    _message("LogIds", _repeated("trace_ids", 9, BYTES), _repeated("span_ids", 10, BYTES)),
    _with_attributes(
        6,
        _message(
            "Log",
            _field("time_ns", 1, FIXED64),
            _repeated("body", 5, BYTES),
            _field("observed_ns", 11, FIXED64),
            _field("event_name", 12, BYTES),
        ),
    ),
]


def _build_pool() -> DescriptorPool:
    file = FileDescriptorProto(name="toolscore/lean.proto", package=_PACKAGE, syntax="proto3", message_type=_MESSAGES)
    pool = DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return pool


_POOL = _build_pool()


def _parser(name: str) -> Callable[[bytes], Any]:
    return cast("Callable[[bytes], Any]", GetMessageClass(_POOL.FindMessageTypeByName(f"{_PACKAGE}.{name}")).FromString)


parse_request: Callable[[bytes], Request] = _parser("Request")
parse_resource_header: Callable[[bytes], ResourceHeader] = _parser("ResourceHeader")
parse_scope_header: Callable[[bytes], ScopeHeader] = _parser("ScopeHeader")
parse_span_ids: Callable[[bytes], SpanIdsMessage] = _parser("SpanIds")
parse_span_head: Callable[[bytes], SpanHeadMessage] = _parser("SpanHead")
parse_span: Callable[[bytes], SpanMessage] = _parser("Span")
parse_status: Callable[[bytes], StatusMessage] = _parser("Status")
parse_event: Callable[[bytes], EventMessage] = _parser("Event")
parse_link: Callable[[bytes], LinkMessage] = _parser("Link")
parse_log_ids: Callable[[bytes], LogIdsMessage] = _parser("LogIds")
parse_log: Callable[[bytes], LogMessage] = _parser("Log")
