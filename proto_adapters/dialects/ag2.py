"""
AG2's own telemetry: recordings of 1.2.1. Reference §3.33.

`record_usage` spans carry usage and a response model, and are no model calls.
"""

from proto_adapters.canonical import SpanKind
from proto_adapters.dialects.dialect import Dialect, Recognition, kinds

AG2 = Dialect(
    id="ag2",
    title="AG2 (own telemetry)",
    reads_from="recordings",
    recognised_by=Recognition(scopes=("opentelemetry.instrumentation.ag2",), keys=("ag2.*",)),
    kind_key=kinds(
        "ag2.span.type",
        {"tool": SpanKind.TOOL, "llm": SpanKind.LLM, "agent": SpanKind.AGENT, "usage": SpanKind.CHAIN},
    ),
    tool_name_keys=("gen_ai.tool.name",),
    tool_name_in_span=("execute_tool {}",),
    call_id_keys=("gen_ai.tool.call.id",),
    completions_in=("gen_ai.output.messages",),
    session_keys=("session.id",),
    agent_keys=("gen_ai.agent.name",),
    agent_in_span=("invoke_agent {}",),
)
