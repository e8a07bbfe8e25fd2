"""
Gemini CLI: source of 2026-08, recordings of 0.61.0. Reference §3.37. Its operation names are its own.
"""

from proto_adapters.dialects.dialect import Dialect, Recognition

GEMINI_CLI = Dialect(
    id="gemini_cli",
    title="Gemini CLI",
    reads_from="source, recordings",
    recognised_by=Recognition(
        scopes=("gemini-cli",), values=(("gen_ai.agent.name", "gemini-cli"),), services=("gemini-cli",)
    ),
    kind_from="gen_ai.operation.name",
    wrappers=("schedule_tool_calls",),
    tool_name_keys=("gen_ai.tool.name",),
    call_id_keys=("gen_ai.tool.call_id",),
    completions_in=("gen_ai.output.messages",),
    session_keys=("gen_ai.conversation.id",),
    agent_keys=("gen_ai.agent.name",),
    cannot_be_seen=("values over 10,000 characters, which are cut", "the failure of an MCP tool, told in text only"),
)
