"""
Sessions as the journal holds them (design §8, §12).

Pure. Parts of sessions are stored field by field under the same names; attribute values may be of any type that OTLP
knows, and resources are kept as they came. Times are those of `records`.
"""

import json
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import asdict

from proto_adapters.canonical import AttributeValue, CanonicalSpan, LinkView, Shape, SpanKind, SpanStatus, ToolCall
from proto_adapters.split import OriginTable
from service.evaluation import DeliveryHistory
from service.evidence import Coverage, CoverageReason, Partition, ToolEvidence
from service.session_evidence import SessionKey, TracePart

_Stored = TypeVar("_Stored", bound=Struct)


class StoredSession(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """
    One session without its parts.
    """

    key: SessionKey
    number: int = 1
    first_ns: int
    last_ns: int
    closed_ns: int | None = None
    reasons: list[CoverageReason] = []
    released_from: tuple[int, str] | None = None
    history: DeliveryHistory = {}


class EndedSession(Struct, frozen=True, array_like=True):
    """
    A session of which only that it was there is remembered.
    """

    key: SessionKey


class StoredCall(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """
    A `ToolCall`.
    """

    name: str
    trace_id: bytes
    span_id: bytes
    start_ns: int
    end_ns: int | None
    end_slack_ns: int = 0
    status: SpanStatus = SpanStatus.UNSET
    call_id: str | None = None
    aliases: tuple[str, ...] = ()
    control_tool: bool = False
    order_evidence: bool = True
    arguments: str | None = None
    """As JSON, which holds whatever completions hold; `None` also if it does not."""
    result_ids: tuple[str, ...] = ()
    shape: Shape = Shape.TOOL_SPANS


class StoredEvidence(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """
    A `ToolEvidence`.
    """

    partition: Partition = Partition.TRACE
    shapes: tuple[Shape, ...] = ()
    calls: tuple[StoredCall, ...] = ()
    called_names: tuple[str, ...] = ()
    embedded_calls: tuple[StoredCall, ...] = ()
    nameless_calls: int = 0
    requested_names: tuple[str, ...] = ()
    has_tool_evidence: bool = False
    observed_call_count: int = 0
    all_requests_linked: bool = True
    coverage: Coverage = Coverage()
    resolution_ns: int = 0


class StoredSpan(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """
    What a part keeps of a `CanonicalSpan`.
    """

    trace_id: bytes
    span_id: bytes
    name: str = ""
    resource_header: bytes = b""
    scope_header: bytes = b""
    start_ns: int = 0
    links: tuple[LinkView, ...] = ()
    kind: SpanKind = SpanKind.UNKNOWN
    agent_name: str | None = None
    tool_name: str | None = None
    mcp_server: str | None = None
    mcp_method: str | None = None
    duplicate_of: bytes | None = None
    selected: dict[str, Any] = {}


class StoredPart(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """
    A `TracePart`.
    """

    occurrence: str
    trace_id: bytes
    session_id: str
    evidence: StoredEvidence
    root: StoredSpan
    has_root: bool = True
    agent: StoredSpan | None = None
    tool_spans: tuple[StoredSpan, ...] = ()
    linked_traces: tuple[bytes, ...] = ()
    span_count: int = 0
    size: int = 0


def stored_part(part: TracePart) -> StoredPart:
    """
    The record of *part*.
    """
    agent = None if part.agent is None else _stored_span(part.agent)
    return StoredPart(
        **_others(part, StoredPart, "evidence", "root", "agent", "tool_spans"),
        evidence=_stored_evidence(part.evidence),
        root=_stored_span(part.root),
        agent=agent,
        tool_spans=tuple(map(_stored_span, part.tool_spans)),
    )


def part_of_record(stored: StoredPart, origins: OriginTable) -> TracePart:
    """
    The part of which *stored* is the record.
    """
    agent = None if stored.agent is None else _span(stored.agent, origins)
    return TracePart(
        **_others(stored, StoredPart, "evidence", "root", "agent", "tool_spans"),
        evidence=_evidence(stored.evidence),
        root=_span(stored.root, origins),
        agent=agent,
        tool_spans=tuple(_span(span, origins) for span in stored.tool_spans),
    )


def _stored_evidence(evidence: ToolEvidence) -> StoredEvidence:
    return StoredEvidence(
        **_others(evidence, StoredEvidence, "calls", "embedded_calls"),
        calls=tuple(map(_stored_call, evidence.calls)),
        embedded_calls=tuple(map(_stored_call, evidence.embedded_calls)),
    )


def _stored_call(call: ToolCall) -> StoredCall:
    return StoredCall(**asdict(call) | {"arguments": _argument_text(call.arguments)})


def _argument_text(arguments: AttributeValue) -> str | None:
    try:
        return None if arguments is None else json.dumps(arguments, default=repr)
    except (ValueError, RecursionError):
        return None


def _evidence(stored: StoredEvidence) -> ToolEvidence:
    return ToolEvidence(
        **_others(stored, StoredEvidence, "calls", "embedded_calls"),
        calls=tuple(map(_call, stored.calls)),
        embedded_calls=tuple(map(_call, stored.embedded_calls)),
    )


def _call(stored: StoredCall) -> ToolCall:
    arguments = None if stored.arguments is None else json.loads(stored.arguments)
    return ToolCall(**asdict(stored) | {"arguments": arguments})


def _stored_span(span: CanonicalSpan) -> StoredSpan:
    origin = span.origin
    return StoredSpan(
        **_others(span, StoredSpan, "resource_header", "scope_header", "selected"),
        resource_header=origin.resource_header,
        scope_header=origin.scope_header,
        selected=dict(span.selected),
    )


def _span(stored: StoredSpan, origins: OriginTable) -> CanonicalSpan:
    return CanonicalSpan(
        **_others(stored, StoredSpan, "resource_header", "scope_header"),
        origin=origins.intern(stored.resource_header, stored.scope_header),
    )


def _others(value: Struct, form: type[_Stored], *apart: str) -> dict[str, Any]:
    """
    The fields of *form* as *value* has them, without those that are told *apart*.
    """
    return {name: getattr(value, name) for name in form.__struct_fields__ if name not in apart}
