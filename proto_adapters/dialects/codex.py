"""
OpenAI Codex CLI: single source files, recordings of 0.171.0. Reference §3.36.

Many nested spans carry the fields of one call. An MCP tool runs in `mcp.tools.call`; the dispatcher's span around it
joins namespace and name without a separator and is there for refused calls too (C15).
"""

from typing import Final

from proto_adapters.canonical import SpanKind
from proto_adapters.dialects.dialect import Dialect, NameRule, Recognition

MCP_CALL: Final = "mcp.tools.call"
REQUEST_SPANS: Final = frozenset({"handle_responses", "handle_output_item_done", "drain_in_flight"})
"""Spans of the answer's stream: their `tool_name` was asked for, not run."""

CODEX = Dialect(
    id="codex_cli",
    title="OpenAI Codex CLI",
    reads_from="single source files, recordings",
    recognised_by=Recognition(scopes=("codex*",), values=(("service.name", "codex*"),), services=("codex*",)),
    kind_from="tool_name with call_id; the span mcp.tools.call",
    span_names=(NameRule(MCP_CALL, SpanKind.TOOL),),
    tool_name_keys=("tool.name", "tool_name"),
    call_id_keys=("tool.call_id", "call_id"),
    session_keys=("session.id", "conversation.id"),
    cannot_be_seen=("completions", "most of what it reports, which are log records"),
)
