"""
OpenLLMetry / Traceloop: Python 0.62.1-0.62.4 (source and recordings), JavaScript 0.27.0 (recordings). Reference §3.6.

`traceloop.span.kind` = task is a chain even where another processor says TOOL (C4), an LLM span if the operation is a
model's (C11), and a tool whose name is lost if the operation is `execute_tool` (C12; LangChain.js).
"""

from proto_adapters.canonical import SpanKind
from proto_adapters.dialects.dialect import Dialect, NameRule, Recognition, kinds

TRACELOOP = Dialect(
    id="traceloop",
    title="OpenLLMetry / Traceloop",
    reads_from="source, recordings",
    recognised_by=Recognition(
        scopes=("traceloop.tracer", "@traceloop/*", "opentelemetry.instrumentation.mcp.instrumentation"),
        keys=(
            "traceloop.span.kind",
            "traceloop.entity.*",
            "traceloop.workflow.name",
            "traceloop.association.properties.*",
            "gen_ai.completion.0.*",
            "gen_ai.task.*",
        ),
    ),
    kind_key=kinds(
        "traceloop.span.kind",
        {
            "workflow": SpanKind.CHAIN,
            "task": SpanKind.CHAIN,
            "agent": SpanKind.AGENT,
            "tool": SpanKind.TOOL,
            "handoff": SpanKind.CHAIN,
            "session": SpanKind.CHAIN,
            "server": SpanKind.CHAIN,
            "unknown": SpanKind.UNKNOWN,
        },
        handoffs=("handoff",),
    ),
    span_names=(NameRule("*.mcp", SpanKind.CHAIN),),
    wrappers=("mcp.server", "mcp.client.session"),
    tool_name_keys=("gen_ai.tool.name", "traceloop.entity.name"),
    tool_name_in_span=("execute_tool {}", "{}.tool"),
    call_id_keys=("gen_ai.tool.call.id",),
    completions_in=(
        "gen_ai.completion.N.tool_calls.M.*",
        "gen_ai.completion.N.function_call.*",
        "gen_ai.output.messages",
        "traceloop.entity.output",
        "log event gen_ai.choice",
    ),
    session_keys=(
        "traceloop.association.properties.session_id",
        "gen_ai.conversation.id",
        "traceloop.association.properties.thread_id",
    ),
    agent_keys=("gen_ai.agent.name", "traceloop.association.properties.lc_agent_name"),
    agent_in_span=("invoke_agent {}", "{}.agent"),
    cannot_be_seen=(
        "LangChain.js: every tool name is the class DynamicStructuredTool, so the name is missing",
        "Responses API in JavaScript: completions are empty texts",
        "Haystack: the completion is the word `replies`",
        "CrewAI: no tool spans",
        "Responses API: embedded ids are item ids (`fc_…`) and join to no tool span",
    ),
)
