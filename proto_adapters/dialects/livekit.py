"""
LiveKit Agents: by MLflow's and Langfuse's mappers. Reference §3.50.
"""

from proto_adapters.canonical import SpanKind
from proto_adapters.dialects.dialect import Dialect, NameRule, Recognition

LIVEKIT = Dialect(
    id="livekit",
    title="LiveKit Agents",
    reads_from="second-hand",
    recognised_by=Recognition(scopes=("livekit-agents",), keys=("lk.*",)),
    kind_from="span name",
    span_names=(
        NameRule("function_tool", SpanKind.TOOL),
        NameRule("agent_turn", SpanKind.AGENT),
        NameRule("start_agent_activity", SpanKind.AGENT),
        NameRule("agent_session", SpanKind.AGENT),
        NameRule("llm_node", SpanKind.LLM),
        NameRule("llm_request*", SpanKind.LLM),
        NameRule("tts_*", SpanKind.CHAIN),
        NameRule("stt*", SpanKind.CHAIN),
        NameRule("vad*", SpanKind.CHAIN),
    ),
    tool_name_keys=("lk.function_tool.name",),
    call_id_keys=("lk.function_tool.id",),
    completions_in=("lk.response.function_calls", "lk.response.text"),
    session_keys=("lk.room_name", "lk.job_id"),
    agent_keys=("lk.agent_name",),
)
