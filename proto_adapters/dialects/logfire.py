"""
Logfire SDK: pending spans, logs as spans, its own integrations. Source of 4.41.0, recordings of 5.4.0. Reference §3.10.

A pending span (X2, X3) announces a span that has not ended; a killed process leaves nothing else of it. The span name
is the message template, so names of tools stand in `name` or `logfire.msg`.
"""

from typing import Final

from proto_adapters.canonical import SpanKind
from proto_adapters.dialects.dialect import Dialect, NameRule, Recognition

SPAN_TYPE: Final = "logfire.span_type"
PENDING_PARENT: Final = "logfire.pending_parent_id"

LOGFIRE = Dialect(
    id="logfire",
    title="Logfire SDK and its integrations",
    reads_from="source, recordings",
    recognised_by=Recognition(scopes=("logfire", "logfire.*"), keys=("logfire.*",)),
    kind_from="logfire.msg_template inside its scopes",
    span_names=(
        NameRule("Function: *", SpanKind.TOOL),
        NameRule("Handoff: *", SpanKind.CHAIN, handoff=True),
        NameRule("Responses API with *", SpanKind.LLM),
        NameRule("Chat Completion with *", SpanKind.LLM),
        NameRule("OpenAI Agents trace: *", SpanKind.CHAIN),
        NameRule("Task: *", SpanKind.CHAIN),
        NameRule("Turn *", SpanKind.CHAIN),
        NameRule("Agent run: *", SpanKind.AGENT),
        NameRule("Guardrail *", SpanKind.GUARDRAIL),
        NameRule("MCP request: tools/call *", SpanKind.TOOL),
        NameRule("MCP request: *", SpanKind.CHAIN),
        NameRule("MCP server handle request: tools/call*", SpanKind.TOOL),
        NameRule("MCP server handle request: *", SpanKind.CHAIN),
    ),
    tool_name_keys=("gen_ai.tool.name", "name"),
    tool_name_in_span=("MCP request: tools/call {}", "MCP server handle request: tools/call {}"),
    call_id_keys=("gen_ai.tool.call.id",),
    completions_in=("response", "gen_ai.output.messages", "response_data", "events"),
    session_keys=("gen_ai.conversation.id", "group_id", "session.id"),
    agent_keys=("gen_ai.agent.name", "name"),
    cannot_be_seen=("values that its scrubber replaced, session ids among them",),
)
