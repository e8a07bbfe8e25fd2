"""
Claude Agent SDK, through Logfire or OpenInference: Python 0.2.189, JavaScript 0.3.332. Reference §3.35.

Source and recordings.

Its MCP servers write traces of their own, without a link or a session.
"""

from proto_adapters.dialects.dialect import Dialect, Recognition

CLAUDE_AGENT_SDK = Dialect(
    id="claude_agent_sdk",
    title="Claude Agent SDK (through a bridge)",
    reads_from="source, recordings",
    recognised_by=Recognition(
        scopes=(
            "logfire.claude_agent_sdk",
            "openinference.instrumentation.claude_agent_sdk",
            "opentelemetry.instrumentation.claude_agent_sdk",
            "opentelemetry.instrumentation.genai.claude_agent_sdk",
            "@arizeai/openinference-instrumentation-claude-agent-sdk",
        )
    ),
    kind_from="of the bridge",
    tool_name_keys=("gen_ai.tool.name", "tool.name"),
    tool_name_in_span=("execute_tool {}",),
    call_id_keys=("gen_ai.tool.call.id", "tool.id"),
    completions_in=("gen_ai.output.messages",),
    session_keys=("gen_ai.conversation.id", "session.id"),
    agent_keys=("gen_ai.agent.name",),
    cannot_be_seen=("model spans, through OpenInference", "whether a tool was refused"),
)
