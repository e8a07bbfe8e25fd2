"""
GitHub Copilot Chat (VS Code): source. Reference §3.38.
"""

from proto_adapters.dialects.dialect import Dialect, Recognition

COPILOT_CHAT = Dialect(
    id="copilot_chat",
    title="GitHub Copilot Chat",
    reads_from="source",
    recognised_by=Recognition(scopes=("copilot-chat",), keys=("copilot_chat.*",), services=("copilot-chat",)),
    kind_from="gen_ai.operation.name",
    tool_name_keys=("gen_ai.tool.name",),
    tool_name_in_span=("execute_tool {}",),
    call_id_keys=("gen_ai.tool.call.id",),
    completions_in=("gen_ai.output.messages",),
    session_keys=("gen_ai.conversation.id", "copilot_chat.chat_session_id", "copilot_chat.session_id"),
    agent_keys=("gen_ai.agent.name",),
    agent_in_span=("invoke_agent {}",),
    cannot_be_seen=("completions, without content capture",),
)
