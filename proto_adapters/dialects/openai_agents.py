"""
OpenAI Agents SDK: it has no OpenTelemetry of its own, each bridge writes another dialect. Reference §3.11.

Source of 0.24.0 and recordings of five bridges and of a JavaScript one. None sets a call id on tool spans. A handoff
is a span of its own in most and never a tool call (C2).
"""

from proto_adapters.canonical import SpanKind
from proto_adapters.dialects.dialect import Dialect, Recognition, kinds

OPENAI_AGENTS = Dialect(
    id="openai_agents_sdk",
    title="OpenAI Agents SDK (through a bridge)",
    reads_from="source, recordings",
    recognised_by=Recognition(
        scopes=(
            "openinference.instrumentation.openai_agents",
            "logfire.openai_agents",
            "opentelemetry.instrumentation.openai_agents",
            "opentelemetry.instrumentation.genai.openai_agents",
            "openai-agents-otel-bridge",
        ),
        keys=("openai_agents.*",),
    ),
    kind_key=kinds(
        "openai_agents.span_type",
        {
            "function": SpanKind.TOOL,
            "response": SpanKind.LLM,
            "generation": SpanKind.LLM,
            "agent": SpanKind.AGENT,
            "turn": SpanKind.CHAIN,
            "task": SpanKind.CHAIN,
            "mcp_tools": SpanKind.CHAIN,
            "custom": SpanKind.CHAIN,
            "guardrail": SpanKind.GUARDRAIL,
            "handoff": SpanKind.CHAIN,
        },
        handoffs=("handoff",),
    ),
    tool_name_keys=("tool.name", "gen_ai.tool.name", "name"),
    tool_name_in_span=("execute_tool {}", "{}.tool"),
    completions_in=("of the bridge",),
    session_keys=("gen_ai.conversation.id", "group_id"),
    agent_keys=("agent.name", "gen_ai.agent.name"),
    agent_in_span=("invoke_agent {}", "{}.agent"),
    cannot_be_seen=(
        "call ids on tool spans",
        "the session, through OpenInference, Traceloop and agents-v2",
        "calls of the Responses API through agents-v2: they are Python reprs in a text",
    ),
)
