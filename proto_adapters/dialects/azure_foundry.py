"""
Azure AI Foundry agents (azure-ai-agents, azure-ai-projects): single source files. Reference §3.39.

`gen_ai.assistant.message` events are output here, against the convention.
"""

from proto_adapters.canonical import SpanKind
from proto_adapters.dialects.dialect import Dialect, NameRule, Recognition

_MANAGEMENT = (
    "create_agent",
    "create_thread",
    "create_message",
    "create_conversation",
    "list_messages",
    "list_run_steps",
    "list_conversation_items",
    "get_thread_run",
    "submit_tool_outputs",
    "update_agent",
)
_RUNS = ("process_thread_run", "start_thread_run")

AZURE_FOUNDRY = Dialect(
    id="azure_ai_foundry",
    title="Azure AI Foundry agents",
    reads_from="single source files",
    recognised_by=Recognition(
        keys=("gen_ai.thread.*", "gen_ai.run_step.*"),
        values=(
            ("az.namespace", "Microsoft.CognitiveServices"),
            ("gen_ai.system", "az.ai.agents"),
            ("gen_ai.provider.name", "microsoft.foundry"),
            ("gen_ai.provider.name", "azure.ai.agents"),
        ),
        events=("gen_ai.run_step.tool_calls",),
    ),
    kind_from="gen_ai.operation.name, else span name",
    operations={**dict.fromkeys(_MANAGEMENT, SpanKind.CHAIN), **dict.fromkeys(_RUNS, SpanKind.AGENT)},
    span_names=(
        *(NameRule(f"{name}*", SpanKind.CHAIN) for name in _MANAGEMENT),
        *(NameRule(f"{name}*", SpanKind.AGENT) for name in _RUNS),
        NameRule("list_*", SpanKind.CHAIN),
    ),
    tool_name_keys=("gen_ai.tool.name",),
    tool_name_in_span=("execute_tool {}",),
    call_id_keys=("gen_ai.tool.call.id",),
    completions_in=("gen_ai.output.messages", "event gen_ai.assistant.message: gen_ai.event.content"),
    session_keys=("gen_ai.conversation.id", "gen_ai.thread.id"),
    agent_keys=("gen_ai.agent.name",),
    agent_in_span=("invoke_agent {}",),
    cannot_be_seen=(
        "names of functions, with content recording off",
        "tools that the service runs: they have no spans, only steps on the span of the run",
    ),
)
