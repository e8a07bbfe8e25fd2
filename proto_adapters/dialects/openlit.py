"""
OpenLIT: source and recordings of 1.45.0. Reference §3.31.

`gen_ai.tool.name` on a chat span is a comma list of what was asked for (C5), read only if nothing else tells it.
"""

from proto_adapters.canonical import SpanKind
from proto_adapters.dialects.dialect import Dialect, Recognition

OPENLIT = Dialect(
    id="openlit",
    title="OpenLIT",
    reads_from="source, recordings",
    recognised_by=Recognition(
        scopes=("openlit.*",),
        keys=("gen_ai.application_name", "gen_ai.sdk.version", "gen_ai.environment", "mcp.tool.name"),
        values=(("telemetry.sdk.name", "openlit"),),
    ),
    kind_from="gen_ai.operation.name",
    operations={
        "agent": SpanKind.AGENT,
        "task": SpanKind.CHAIN,
        "execution": SpanKind.CHAIN,
        "user_prompt_processing": SpanKind.CHAIN,
        "search": SpanKind.RETRIEVER,
    },
    tool_name_keys=("gen_ai.tool.name", "mcp.tool.name"),
    tool_name_in_span=("execute_tool {}",),
    call_id_keys=("gen_ai.tool.call.id",),
    completions_in=("gen_ai.output.messages", "gen_ai.response.tool_calls", "gen_ai.tool.name as a comma list"),
    session_keys=("gen_ai.conversation.id", "gen_ai.session.id", "gen_ai.agent.session_id"),
    agent_keys=("gen_ai.agent.name",),
    agent_in_span=("invoke_agent {}",),
)
