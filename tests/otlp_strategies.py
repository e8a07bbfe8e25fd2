"""
Hypothesis strategies for OTLP: what a sender may put on the wire, unknown fields at every level included.
"""

from google.protobuf.message import Message
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

from proto_adapters.canonical import AttributeValue
from proto_adapters.wire import encode_varint, frame

KEYS = st.sampled_from(["toolscore.trigger", "toolscore.x", "tool", "a" * 16, ""]) | st.text(max_size=12)
SHOP = Resource(attributes=[KeyValue(key="service.name", value=AnyValue(string_value="shop"))])

SCALARS: st.SearchStrategy[AttributeValue] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.floats(allow_nan=False),
    st.text(max_size=300),
    st.binary(max_size=20),
)

VALUES: st.SearchStrategy[AttributeValue] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


UNKNOWN_FIELDS = (
    encode_varint(777 << 3) + b"\x07",
    encode_varint(778 << 3 | 1) + bytes(8),
    encode_varint(779 << 3 | 2) + b"\x05extra",
    encode_varint(780 << 3 | 3) + b"\x4a\x0d\x0a\x0btoolscore.x" + encode_varint(780 << 3 | 4),
    encode_varint(781 << 3 | 5) + bytes(4),
)
"""Fields that OTLP does not have, of every wire type; the group holds what would be a span attribute outside of it."""


def unknown_fields() -> st.SearchStrategy[bytes]:
    return st.sampled_from([b"", b"", *UNKNOWN_FIELDS, b"".join(UNKNOWN_FIELDS)])


def _put(value: AnyValue, content: AttributeValue) -> None:
    if isinstance(content, bool):
        value.bool_value = content
    elif isinstance(content, int):
        value.int_value = content
    elif isinstance(content, float):
        value.double_value = content
    elif isinstance(content, str):
        value.string_value = content
    elif isinstance(content, bytes):
        value.bytes_value = content
    elif isinstance(content, list):
        value.array_value.SetInParent()
        for item in content:
            _put(value.array_value.values.add(), item)
    elif isinstance(content, dict):
        value.kvlist_value.SetInParent()
        for key, item in content.items():
            pair = value.kvlist_value.values.add(key=key)
            pair.value.SetInParent()
            _put(pair.value, item)


def any_value(content: AttributeValue) -> AnyValue:
    """
    The same value by protobuf's own encoder.
    """
    value = AnyValue()
    _put(value, content)
    return value


def _attribute(key: str, content: AttributeValue) -> bytes:
    return frame(0x4A, KeyValue(key=key, value=any_value(content)).SerializeToString())


_TRACE_IDS = (b"T" * 16, b"U" * 16, bytes(15) + b"\x01", b"", bytes(16), bytes(15), b"x" * 17)
_SPAN_IDS = (b"S" * 8, b"\x22\x08" * 4, bytes(7) + b"\x01", b"", bytes(8), bytes(7), b"x" * 9)
_PARENT_IDS = (b"P" * 8, b"", bytes(8), bytes(7), b"x" * 9)
_FIELDS = (
    *UNKNOWN_FIELDS,
    _attribute("toolscore.trigger", "root_span"),
    _attribute("toolscore.x", ["a", {"b": 1}]),
    _attribute("toolscore", "not ours"),
    _attribute("gen_ai.tool.name", "toolscore.x"),
    _attribute("x" * 16, "y" * 400),
    _attribute("", None),
    *(
        Span(**fields).SerializeToString()
        for fields in (
            {"name": "chat", "kind": 3},
            {"start_time_unix_nano": 1, "end_time_unix_nano": (1 << 64) - 1},
            {"end_time_unix_nano": 0, "dropped_attributes_count": 3, "dropped_events_count": 4},
            {"flags": 0x301, "trace_state": "a=b"},
            {"events": [Span.Event(name="exception", time_unix_nano=7)]},
            {"links": [Span.Link(trace_id=b"l" * 16, span_id=b"l" * 8)]},
            {"status": Status(code=Status.STATUS_CODE_ERROR, message="late")},
        )
    ),
)


def spans() -> st.SearchStrategy[bytes]:
    """
    The bytes of one span that protobuf can parse; the ids may be invalid, and need not come first.
    """
    ids = st.builds(
        Span,
        trace_id=st.sampled_from(_TRACE_IDS),
        span_id=st.sampled_from(_SPAN_IDS),
        parent_span_id=st.sampled_from(_PARENT_IDS),
    ).map(Span.SerializeToString)
    fields = st.lists(st.sampled_from(_FIELDS), max_size=6).map(b"".join)
    return st.builds(lambda first, head, rest: first + head + rest, unknown_fields(), ids, fields)


def _group(header: Message, unknown: bytes, children: list[bytes]) -> bytes:
    return header.SerializeToString() + unknown + b"".join(frame(0x12, child) for child in children)


def scope_groups() -> st.SearchStrategy[bytes]:
    headers = st.sampled_from([ScopeSpans(), ScopeSpans(scope=InstrumentationScope(name="agents"))])
    return st.builds(_group, headers, unknown_fields(), st.lists(spans(), max_size=3))


def resource_groups() -> st.SearchStrategy[bytes]:
    headers = st.sampled_from([ResourceSpans(), ResourceSpans(schema_url="https://example.org/1", resource=SHOP)])
    return st.builds(_group, headers, unknown_fields(), st.lists(scope_groups(), max_size=3))


def trace_requests() -> st.SearchStrategy[bytes]:
    """
    A serialised request; some resource and scope groups are equal, some are empty.
    """
    return st.lists(resource_groups().map(lambda group: frame(0x0A, group)), max_size=3).map(b"".join)


def parse_traces(request: bytes) -> ExportTraceServiceRequest:
    return ExportTraceServiceRequest.FromString(request)


def wire_like() -> st.SearchStrategy[bytes]:
    """
    Anything, but often something near a request or a span: cut, flipped or with a tail.
    """
    return st.binary(max_size=80) | _damaged(trace_requests()) | _damaged(spans())


@st.composite
def _damaged(draw: st.DrawFn, whole: st.SearchStrategy[bytes]) -> bytes:
    data = bytearray(draw(whole))
    for _ in range(draw(st.integers(0, 3))):
        if data:
            data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data[: draw(st.integers(0, len(data)))]) + draw(st.binary(max_size=4))
