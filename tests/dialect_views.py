"""
Decoded spans and log records for dialect tests, without the wire: from keyword arguments or OTLP/JSON.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from proto_adapters.canonical import Attributes, AttributeValue, EventView, LogView, Origin, SpanStatus, SpanView

EXAMPLES = Path(__file__).parent / "data" / "dialect_examples"
_STATUS = {1: SpanStatus.OK, 2: SpanStatus.ERROR}
_NO_ATTRIBUTES: Attributes = {}


def span_view(
    attributes: Attributes = _NO_ATTRIBUTES,
    *,
    name: str = "span",
    scope: str = "",
    events: Sequence[tuple[str, Attributes]] = (),
    status: SpanStatus = SpanStatus.UNSET,
    service: str = "",
    start_ns: int = 1000,
    end_ns: int | None = 2000,
    otel_kind: int = 1,
    parent: bytes | None = None,
) -> SpanView:
    """
    One decoded span.
    """
    return SpanView(
        trace_id=b"t" * 16,
        span_id=b"s" * 8,
        parent_span_id=parent,
        name=name,
        otel_kind=otel_kind,
        start_ns=start_ns,
        end_ns=end_ns,
        attributes=attributes,
        events=tuple(EventView(event, values) for event, values in events),
        status=status,
        origin=Origin(b"", b"", service_name=service, scope_name=scope),
    )


def log_view(
    body: AttributeValue = None, *, event_name: str = "", attributes: Attributes = _NO_ATTRIBUTES, scope: str = ""
) -> LogView:
    """
    One decoded log record.
    """
    origin = Origin(b"", b"", scope_name=scope)
    return LogView(b"t" * 16, b"s" * 8, event_name, attributes, body, 0, origin)


def value_of(value: Mapping[str, Any] | None) -> AttributeValue:
    """
    The Python value of an AnyValue in OTLP/JSON.
    """
    if not value:
        return None
    kind, content = next(iter(value.items()))
    if kind == "arrayValue":
        return [value_of(item) for item in content.get("values", [])]
    if kind == "kvlistValue":
        return {pair["key"]: value_of(pair.get("value")) for pair in content.get("values", [])}
    result: AttributeValue = int(content) if kind == "intValue" else content
    return result


def attributes_of(pairs: Sequence[Mapping[str, Any]]) -> dict[str, AttributeValue]:
    return {pair["key"]: value_of(pair.get("value")) for pair in pairs}


def example_span(span: Mapping[str, Any]) -> SpanView:
    """
    The span of a dialect example.
    """
    parent = bytes.fromhex(span.get("parentSpanId", ""))
    return span_view(
        attributes_of(span.get("attributes", ())),
        name=span["name"],
        scope=span.get("scope", ""),
        events=[(event["name"], attributes_of(event.get("attributes", ()))) for event in span.get("events", ())],
        status=_STATUS.get(span.get("status", {}).get("code"), SpanStatus.UNSET),
        start_ns=int(span.get("startTimeUnixNano", 1000)),
        end_ns=int(span.get("endTimeUnixNano", 2000)),
        otel_kind=span.get("kind", 1),
        parent=parent or None,
    )


def example_log(log: Mapping[str, Any]) -> LogView:
    """
    The log record of a dialect example.
    """
    return log_view(
        value_of(log.get("body")),
        event_name=log.get("eventName", ""),
        attributes=attributes_of(log.get("attributes", ())),
        scope=log.get("scope", ""),
    )


def examples(kind: str) -> list[tuple[str, Mapping[str, Any], Any]]:
    """
    All examples of spans (`span`) or log records (`log`): an id, the example, and what is expected of it.
    """
    found = []
    for path in sorted(EXAMPLES.glob("*.json")):
        for position, entry in enumerate(json.loads(path.read_text())):
            if kind in entry:
                found.append((f"{path.stem}-{position}", entry[kind], entry["expected"]))
    return found
