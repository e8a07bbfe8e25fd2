"""
Strands Agents: source of 1.40.0, recordings of 1.62.0 and TypeScript 1.19.0. Reference §3.18.

Cycle spans and tool spans repeat messages; only `chat` spans are read for completions.
"""

from proto_adapters.canonical import SpanKind
from proto_adapters.dialects.dialect import Dialect, NameRule, Recognition

STRANDS = Dialect(
    id="strands",
    title="Strands Agents",
    reads_from="source, recordings",
    recognised_by=Recognition(
        scopes=("strands.telemetry.tracer", "strands-agents"),
        keys=("event_loop.cycle_id", "agent_loop.cycle_id"),
        values=(("gen_ai.system", "strands-agents"), ("gen_ai.provider.name", "strands-agents")),
    ),
    kind_from="gen_ai.operation.name, before 0.2 the span name",
    span_names=(
        NameRule("Tool: *", SpanKind.TOOL),
        NameRule("Model invoke", SpanKind.LLM),
        NameRule("Cycle *", SpanKind.CHAIN),
        NameRule("execute_event_loop_cycle", SpanKind.CHAIN),
        NameRule("execute_agent_loop_cycle", SpanKind.CHAIN),
        NameRule("execute_tool *", SpanKind.TOOL),
        NameRule("invoke_agent *", SpanKind.AGENT),
        NameRule("invoke_*", SpanKind.CHAIN),
    ),
    tool_name_keys=("gen_ai.tool.name", "tool.name"),
    tool_name_in_span=("execute_tool {}", "Tool: {}"),
    call_id_keys=("gen_ai.tool.call.id", "tool.id"),
    completions_in=(
        "event gen_ai.choice",
        "event gen_ai.client.inference.operation.details",
        "gen_ai.output.messages",
        "gen_ai.completion",
    ),
    session_keys=("session.id", "gen_ai.conversation.id"),
    agent_keys=("gen_ai.agent.name",),
    agent_in_span=("invoke_agent {}",),
    cannot_be_seen=("sessions, unless the application sets them as trace attributes",),
)
