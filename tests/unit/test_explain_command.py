"""
`toolscore explain`: every span of a recording with how it was read, and what the scorers see of each trace.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from recorded import raw_spans, recording
from typer.testing import CliRunner, Result
from wire_spans import CLIENT, SERVER, agent, chat, span_id, tool, trace_request, wire_span

from proto_adapters.otlp_json import logs_to_json, traces_to_json
from service.cli import app

SPAN_KEYS = {
    "type",
    "file",
    "trace_id",
    "span_id",
    "name",
    "kind",
    "kind_rule",
    "tool_name",
    "tool_name_key",
    "duplicate_of",
    "executed",
    "embedded_calls",
    "completion",
    "problems",
}
TRACE_KEYS = {"type", "file", "trace_id", "session_id", "shape", "calls", "coverage", "reasons"}
ASKS_FOR_A = '[{"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "a", "arguments": {}}]}]'
HTTPX = "opentelemetry.instrumentation.httpx"
SERVER_CALL = {"mcp.method.name": "tools/call", "gen_ai.tool.name": "a"}


def explain(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["explain", *map(str, arguments)], env={"COLUMNS": "200"})


def explained(tmp_path: Path, *requests: bytes) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """
    The span objects and the trace objects of a file of *requests*.
    """
    path = tmp_path / "recorded.jsonl"
    path.write_text("\n".join(traces_to_json(request) for request in requests))
    result = explain("--json", path)
    assert 0 == result.exit_code, result.output
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    return [line for line in lines if line["type"] == "span"], [line for line in lines if line["type"] == "trace"]


def shown(spans: Sequence[dict[str, Any]], *keys: str) -> list[tuple[object, ...]]:
    return [tuple(span[key] for key in keys) for span in spans]


def test_each_span_and_then_its_trace_stand_on_a_line_of_json(tmp_path: Path) -> None:
    spans, [trace] = explained(
        tmp_path, trace_request([agent(), chat(messages=ASKS_FOR_A, start=1, end=2), tool("a", start=2, end=3)])
    )

    assert all(SPAN_KEYS <= span.keys() for span in spans)
    assert trace.keys() >= TRACE_KEYS
    assert [("agent", "AGENT", "K5"), ("chat", "LLM", "K5"), ("a", "TOOL", "K5")] == shown(
        spans, "name", "kind", "kind_rule"
    )
    assert [{"name": "a", "call_id": "c1", "source": "gen_ai.output.messages"}] == spans[1]["embedded_calls"]
    assert ("a", "gen_ai.tool.name", None) == (spans[2]["tool_name"], spans[2]["tool_name_key"], spans[2]["completion"])
    assert ["a"] == [call["name"] for call in trace["calls"]]
    assert ("tool_spans", "complete", []) == (trace["shape"], trace["coverage"], trace["reasons"])


def test_a_span_that_repeats_a_call_names_the_one_that_counts_and_why(tmp_path: Path) -> None:
    spans, [trace] = explained(
        tmp_path, trace_request([agent(), tool("a", "outer", end=9), tool("a", "inner", "outer", start=1, end=8)])
    )

    outer, inner = spans[1], spans[2]
    assert (outer["span_id"], "W2") == (inner["duplicate_of"], inner["duplicate_rule"])
    assert 1 == len(trace["calls"])


def test_spans_of_infrastructure_are_shown_by_their_name(tmp_path: Path) -> None:
    spans, _ = explained(
        tmp_path, trace_request([agent()]), trace_request([wire_span("POST", "agent", start=1, end=2)], scope=HTTPX)
    )

    assert [("agent", "AGENT"), ("POST", "UNKNOWN")] == shown(spans, "name", "kind")


def pending(label: str, announces: str) -> bytes:
    marks = {"logfire.span_type": "pending_span", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "a"}
    return wire_span(label, announces, end=0, attributes=marks | {"logfire.pending_parent_id": span_id("agent").hex()})


@pytest.mark.parametrize(
    ("real", "rule", "ends"), [([tool("a", "real", end=5)], "X2", [True]), ([], "X3", [False])], ids=["came", "missing"]
)
def test_a_pending_span_is_shown_with_the_rule_that_takes_it_away(
    tmp_path: Path, real: list[bytes], rule: str, ends: list[bool]
) -> None:
    spans, [trace] = explained(tmp_path, trace_request([agent(), pending("pending", "real"), *real]))

    assert [("UNKNOWN", rule)] == shown(
        [span for span in spans if bytes.fromhex(span["span_id"]).endswith(b"pending")], "kind", "kind_rule"
    )
    assert ends == [call["end_ns"] is not None for call in trace["calls"]]


def test_a_fragment_of_an_mcp_server_shows_no_call_to_the_scorers(tmp_path: Path) -> None:
    served = wire_span("tools/call a", attributes=SERVER_CALL, kind=SERVER)

    [span], [trace] = explained(tmp_path, trace_request([served]))

    assert ("TOOL", "a") == (span["kind"], span["tool_name"])
    assert (True, None, []) == (trace["server_only"], trace["shape"], trace["calls"])


def test_a_call_to_an_mcp_server_is_the_callers(tmp_path: Path) -> None:
    called = wire_span("tools/call a", "agent", attributes=SERVER_CALL, kind=CLIENT, start=1, end=9)
    served = wire_span("served", "tools/call a"[-8:], attributes=SERVER_CALL, kind=SERVER, start=2, end=8)

    _, [trace] = explained(tmp_path, trace_request([agent(), called, served]))

    assert (False, ["a"]) == (trace["server_only"], [call["name"] for call in trace["calls"]])


@pytest.mark.parametrize("path", ["python/pydantic-ai-logfire/killed", "python/mcp-fastmcp/parallel"])
def test_every_span_of_a_recording_has_its_line(tmp_path: Path, path: str) -> None:
    recorded = recording(path)
    sent = [Span.FromString(span) for _, span in raw_spans(recorded)]

    spans, _ = explained(tmp_path, *recorded.requests)

    assert {span.span_id.hex() for span in sent} <= {span["span_id"] for span in spans}
    assert {span.name for span in sent} == {span["name"] for span in spans}


def test_log_records_of_another_file_tell_the_completions_of_a_trace(tmp_path: Path) -> None:
    recorded = recording("javascript/openai-otel/sequential")
    spans, logs = tmp_path / "spans.jsonl", tmp_path / "logs.jsonl"
    spans.write_text("\n".join(map(traces_to_json, recorded.requests)))
    logs.write_text("\n".join(map(logs_to_json, recorded.log_requests)))

    alone, together = (
        [json.loads(line) for line in explain("--json", *files).stdout.splitlines()]
        for files in ([spans], [spans, logs])
    )

    assert [] == alone[-1]["calls"]
    assert list(recorded.truth.requested) == [call["name"] for call in together[-1]["calls"]]
    assert {str(spans)} == {line["file"] for line in together}


def test_the_tree_tells_where_a_name_was_read_and_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "recorded.jsonl"
    nameless = wire_span("x", "agent", attributes={"gen_ai.operation.name": "execute_tool"})
    path.write_text(traces_to_json(trace_request([agent(), tool("a"), nameless])))

    output = explain(path).stdout

    assert "tool a, read from gen_ai.tool.name" in output
    assert "problem tool_name_missing" in output
    assert "coverage: partial (tool_name_missing)" in output


@pytest.mark.parametrize("content", [b"no json", b'{"resourceSpans": [{"scopeSpans": 1}]}', b'{"other": []}'])
def test_what_is_no_recording_is_refused_with_file_and_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_bytes(content)

    result = explain(path)

    assert 1 == result.exit_code
    assert "broken.jsonl" in result.stderr
