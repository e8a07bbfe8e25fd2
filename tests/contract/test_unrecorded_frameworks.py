"""
Frameworks that no recording shows are read by the same rules: names, order, requests, sessions and coverage.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from proto_adapters.canonical import CanonicalTrace, EventView, Origin, Shape, SpanStatus, SpanView, ToolCall
from proto_adapters.span_read import read_span
from proto_adapters.trace_assembly import assemble
from service.scoring.evidence import ClosingFacts, build_evidence

FOLDER = Path(__file__).parent.parent / "data" / "unrecorded_frameworks"
FRAMEWORKS = sorted(path.stem for path in FOLDER.glob("*.json"))
BEGIN_NS, MILLISECOND_NS = 1_796_000_000_000_123_457, 1_000_000
STATUS = {0: SpanStatus.UNSET, 1: SpanStatus.OK, 2: SpanStatus.ERROR}
INTERNAL = 1


def view_of(span: Mapping[str, Any]) -> SpanView:
    service = span.get("service", "agent")
    return SpanView(
        trace_id=(span.get("trace", 0) + 1).to_bytes(16, "big"),
        span_id=span["id"].to_bytes(8, "big"),
        parent_span_id=span["parent"].to_bytes(8, "big") if "parent" in span else None,
        name=span["name"],
        otel_kind=span.get("kind", INTERNAL),
        start_ns=BEGIN_NS + span["start_ms"] * MILLISECOND_NS,
        end_ns=BEGIN_NS + span["end_ms"] * MILLISECOND_NS,
        attributes=span.get("attributes", {}),
        events=tuple(EventView(event["name"], event["attributes"]) for event in span.get("events", ())),
        status=STATUS[span.get("status", 0)],
        origin=Origin(service.encode(), b"", service_name=service, scope_name=span["scope"]),
    )


def traces_of(spans: Sequence[Mapping[str, Any]]) -> list[CanonicalTrace]:
    read = [read_span(view_of(span)) for span in spans]
    trace_ids = dict.fromkeys(span.trace_id for span in read)
    return [assemble([span for span in read if span.trace_id == trace_id]) for trace_id in trace_ids]


def executed(traces: Sequence[CanonicalTrace]) -> list[ToolCall]:
    told = (trace for trace in traces if trace.shape is Shape.TOOL_SPANS and not trace.server_only)
    return sorted((call for trace in told for call in trace.calls), key=lambda call: call.start_ns)


def coverages(traces: Sequence[CanonicalTrace]) -> Iterator[str]:
    for trace in traces:
        has_root = any(span.parent_span_id is None for span in trace.spans)
        yield build_evidence(trace, ClosingFacts(closed_by_root=has_root)).coverage.label


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_framework_is_read_as_it_is_known_to_write(framework: str) -> None:
    told = json.loads((FOLDER / f"{framework}.json").read_text(encoding="utf-8"))
    expected, traces = told["expected"], traces_of(told["spans"])
    calls = executed(traces)

    assert expected["calls"] == [call.name for call in calls]
    assert expected.get("control", []) == [call.name for call in calls if call.control_tool]
    assert expected.get("session") in {trace.session_id for trace in traces}
    assert {expected["coverage"]} == set(coverages(traces))
    if "requested" in expected:
        assert expected["requested"] == [call.name for trace in traces for _, call in trace.embedded]
