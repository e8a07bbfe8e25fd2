"""
Microsoft Agent Framework: source of 2026-08, recordings of 1.23.0. Reference §3.22.

`invoke_agent` carries the whole run and is never read for completions.
"""

from proto_adapters.canonical import SpanKind
from proto_adapters.dialects.dialect import Dialect, NameRule, Recognition

AGENT_FRAMEWORK = Dialect(
    id="ms_agent_framework",
    title="Microsoft Agent Framework",
    reads_from="source, recordings",
    recognised_by=Recognition(
        scopes=("agent_framework", "Experimental.Microsoft.Agents.AI*"),
        keys=("agent_framework.*",),
        values=(("gen_ai.provider.name", "microsoft.agent_framework"),),
    ),
    kind_from="gen_ai.operation.name, else span name",
    span_names=(
        NameRule("workflow.run*", SpanKind.CHAIN),
        NameRule("workflow.build*", SpanKind.CHAIN),
        NameRule("executor.process*", SpanKind.CHAIN),
        NameRule("edge_group.process*", SpanKind.CHAIN),
        NameRule("message.send*", SpanKind.CHAIN),
        NameRule("execute_tool *", SpanKind.TOOL),
        NameRule("invoke_agent *", SpanKind.AGENT),
        NameRule("chat *", SpanKind.LLM),
    ),
    tool_name_keys=("gen_ai.tool.name",),
    tool_name_in_span=("execute_tool {}", "tools/call {}"),
    call_id_keys=("gen_ai.tool.call.id",),
    completions_in=("gen_ai.output.messages",),
    session_keys=("gen_ai.conversation.id",),
    agent_keys=("gen_ai.agent.name",),
    agent_in_span=("invoke_agent {}",),
    cannot_be_seen=("completions, by default", "the session, unless a conversation id is set"),
)
