"""
OTLP/JSON to serialised requests and back, for the three signals.

Pure. The mapping is OTLP's, not protobuf's own (opentelemetry-proto, `docs/specification.md`, JSON encoding): ids are
hex in any case, enums are integers only, names are lowerCamelCase only and unknown ones are ignored. Apart from that,
64-bit integers are read from numbers or strings, other bytes are base64, `null` is an absent field, and half a
surrogate pair, which UTF-8 cannot hold, becomes U+FFFD.
"""

import json
import re
from base64 import b64decode, b64encode
from binascii import unhexlify
from collections.abc import Callable, Mapping
from functools import cache
from math import isfinite
from typing import Any, Final, Protocol

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message
from msgspec import Struct
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from proto_adapters.split import UndecodableRequest

MAX_DEPTH: Final = 90
"""Nested messages in one request. Protobuf reads 100; what is accepted here must be readable everywhere behind us."""

_ID_FIELDS = frozenset({"trace_id", "span_id", "parent_span_id"})
_SPAN = Span.DESCRIPTOR.full_name
NO_ID: Final = b"\xff"
"""Of no id's length: the span is rejected for it, alone (design §11)."""
_INTEGER_TEXT = re.compile(r"-?[0-9]{1,20}")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_NON_FINITE = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


class MalformedJson(UndecodableRequest):
    """
    The text is not JSON, or not OTLP's JSON. `path` leads to the value that is wrong, for example
    `resourceSpans.0.scopeSpans.0.spans.3.traceId`.
    """

    def __init__(self, problem: str, *path: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path = list(path)

    def __str__(self) -> str:
        return f"{'.'.join(self.path)}: {self.problem}" if self.path else self.problem


def traces_from_json(body: bytes) -> bytes:
    """
    A serialised ExportTraceServiceRequest. Raises `MalformedJson`.
    """
    return _from_json(body, ExportTraceServiceRequest())


def logs_from_json(body: bytes) -> bytes:
    """
    A serialised ExportLogsServiceRequest. Raises `MalformedJson`.
    """
    return _from_json(body, ExportLogsServiceRequest())


def metrics_from_json(body: bytes) -> bytes:
    """
    A serialised ExportMetricsServiceRequest. Raises `MalformedJson`.
    """
    return _from_json(body, ExportMetricsServiceRequest())


def traces_to_json(request: bytes) -> str:
    """
    One line of OTLP/JSON. Raises `UndecodableRequest`.
    """
    return _to_json(request, ExportTraceServiceRequest)


def logs_to_json(request: bytes) -> str:
    """
    One line of OTLP/JSON. Raises `UndecodableRequest`.
    """
    return _to_json(request, ExportLogsServiceRequest)


def metrics_to_json(request: bytes) -> str:
    """
    One line of OTLP/JSON. Raises `UndecodableRequest`.
    """
    return _to_json(request, ExportMetricsServiceRequest)


class _Field(Struct, frozen=True):
    """
    How one field is read: a scalar by `read`, a message by the fields in `nested`.
    """

    attribute: str
    is_repeated: bool
    read: Callable[[object], object] | None
    nested: "_Fields | None"


_Fields = Mapping[str, _Field]


class _Container(Protocol):
    """
    A repeated field of a message; `add` only where the items are messages.
    """

    def add(self) -> Message: ...

    def append(self, value: object, /) -> None: ...


def _from_json(body: bytes, request: Message) -> bytes:
    try:
        tree = json.loads(body)
    except (ValueError, RecursionError) as error:
        message = "not JSON, or nested too deep"
        raise MalformedJson(message) from error
    _fill(request, tree, _FIELDS[request.DESCRIPTOR.full_name], MAX_DEPTH)
    return request.SerializeToString()


def _fill(message: Message, tree: object, fields: _Fields, depth: int) -> None:
    if not isinstance(tree, dict):
        raise _not_a("object", tree)
    if depth == 0:
        problem = f"nested deeper than {MAX_DEPTH} messages"
        raise MalformedJson(problem)
    for name, value in tree.items():
        field = fields.get(name)
        if field is None or value is None:
            continue
        try:
            _set(message, field, value, depth)
        except MalformedJson as error:
            error.path.insert(0, name)
            raise
        except (TypeError, ValueError, OverflowError) as error:
            raise MalformedJson(str(error), name) from error


def _set(message: Message, field: _Field, value: object, depth: int) -> None:
    if field.is_repeated:
        _extend(getattr(message, field.attribute), field, value, depth)
    elif field.nested is not None:
        child = getattr(message, field.attribute)
        child.SetInParent()
        _fill(child, value, field.nested, depth - 1)
    elif field.read is not None:
        setattr(message, field.attribute, field.read(value))


def _extend(container: _Container, field: _Field, value: object, depth: int) -> None:
    if not isinstance(value, list):
        raise _not_a("array", value)
    for index, item in enumerate(value):
        try:
            if field.nested is not None:
                _fill(container.add(), item, field.nested, depth - 1)
            elif field.read is not None:
                container.append(field.read(item))
        except MalformedJson as error:
            error.path.insert(0, str(index))
            raise


def _not_a(wanted: str, value: object) -> MalformedJson:
    return MalformedJson(f"expected {wanted}, found {type(value).__name__}")


def _read_text(value: object) -> str:
    if not isinstance(value, str):
        raise _not_a("string", value)
    return value if value.isascii() else _LONE_SURROGATE.sub("\ufffd", value)


def _read_bool(value: object) -> bool:
    if not isinstance(value, bool):
        raise _not_a("true or false", value)
    return value


def _read_enum(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _not_a("the number of an enum value", value)
    return value


def _read_integer(value: object) -> int:
    if isinstance(value, str) and _INTEGER_TEXT.fullmatch(value):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise _not_a("integer", value)
    return value


def _read_float(value: object) -> float:
    if isinstance(value, str):
        return _NON_FINITE[value] if value in _NON_FINITE else float(value)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _not_a("number", value)
    return float(value)


def _read_id(value: object) -> bytes:
    return unhexlify(_read_text(value))


def _read_span_id(value: object) -> bytes:
    """
    An id of a span itself. What is no hex becomes an id that is none, so that it costs this span and not its request.
    """
    try:
        return _read_id(value)
    except ValueError:
        return NO_ID


def _read_bytes(value: object) -> bytes:
    return b64decode(_read_text(value), validate=True)


_READERS: dict[int, Callable[[object], object]] = {
    FieldDescriptor.CPPTYPE_STRING: _read_text,
    FieldDescriptor.CPPTYPE_BOOL: _read_bool,
    FieldDescriptor.CPPTYPE_ENUM: _read_enum,
    FieldDescriptor.CPPTYPE_INT32: _read_integer,
    FieldDescriptor.CPPTYPE_UINT32: _read_integer,
    FieldDescriptor.CPPTYPE_INT64: _read_integer,
    FieldDescriptor.CPPTYPE_UINT64: _read_integer,
    FieldDescriptor.CPPTYPE_FLOAT: _read_float,
    FieldDescriptor.CPPTYPE_DOUBLE: _read_float,
}

_FIELDS: dict[str, dict[str, _Field]] = {}
"""Fields by JSON name, by the full name of their message."""


def _learn(descriptor: Descriptor) -> dict[str, _Field]:
    known = _FIELDS.get(descriptor.full_name)
    if known is None:
        known = _FIELDS[descriptor.full_name] = {}
        known.update((field.json_name, _field_of(field)) for field in descriptor.fields)
    return known


def _field_of(field: FieldDescriptor) -> _Field:
    if field.message_type is not None:
        return _Field(field.name, field.is_repeated, None, _learn(field.message_type))
    return _Field(field.name, field.is_repeated, _reader_of(field), None)


def _reader_of(field: FieldDescriptor) -> Callable[[object], object]:
    if field.type != FieldDescriptor.TYPE_BYTES:
        return _READERS[field.cpp_type]
    if field.name not in _ID_FIELDS:
        return _read_bytes
    is_of_span = field.containing_type is not None and field.containing_type.full_name == _SPAN
    return _read_span_id if is_of_span else _read_id


for _request in (ExportTraceServiceRequest, ExportLogsServiceRequest, ExportMetricsServiceRequest):
    _learn(_request.DESCRIPTOR)


def _to_json(request: bytes, message_class: type[Message]) -> str:
    try:
        message = message_class.FromString(request)
    except DecodeError as error:
        problem = "not an OTLP export request"
        raise UndecodableRequest(problem) from error
    return json.dumps(_tree_of(message), separators=(",", ":"), ensure_ascii=False)


def _tree_of(message: Message) -> dict[str, object]:
    """
    Set fields only. Recursion is bounded by what protobuf's parser lets through.
    """
    tree: dict[str, object] = {}
    for field, value in message.ListFields():
        name, is_repeated, write = _writer_of(field)
        tree[name] = [write(item) for item in value] if is_repeated else write(value)
    return tree


@cache
def _writer_of(field: FieldDescriptor) -> tuple[str, bool, Callable[[Any], object]]:
    """
    JSON name, whether repeated, and how to write one value.
    """
    if field.message_type is not None:
        return field.json_name, field.is_repeated, _tree_of
    if field.type == FieldDescriptor.TYPE_BYTES:
        return field.json_name, field.is_repeated, bytes.hex if field.name in _ID_FIELDS else _base64
    return field.json_name, field.is_repeated, _WRITERS.get(field.cpp_type, _as_it_is)


def _base64(value: bytes) -> str:
    return b64encode(value).decode()


def _write_float(value: float) -> float | str:
    return value if isfinite(value) else {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]


def _as_it_is(value: object) -> object:
    return value


_WRITERS: dict[int, Callable[[Any], object]] = {
    FieldDescriptor.CPPTYPE_INT64: str,
    FieldDescriptor.CPPTYPE_UINT64: str,
    FieldDescriptor.CPPTYPE_FLOAT: _write_float,
    FieldDescriptor.CPPTYPE_DOUBLE: _write_float,
}
