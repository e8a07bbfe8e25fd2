"""
VoltAgent: recordings of `@voltagent/core` 2.10.0; keys by MLflow's translator. Reference §3.51.

`span.type` is Claude Code's key too: it counts here only beside `entity.type`, `voltagent.*` or the scope.
"""

from proto_adapters.canonical import SpanKind
from proto_adapters.dialects.dialect import Dialect, KindKey, Recognition, kinds

VOLTAGENT = Dialect(
    id="voltagent",
    title="VoltAgent",
    reads_from="second-hand, recordings",
    recognised_by=Recognition(scopes=("@voltagent/*",), keys=("voltagent.*",)),
    kind_key=kinds(
        "span.type",
        {
            "tool": SpanKind.TOOL,
            "llm": SpanKind.LLM,
            "agent": SpanKind.AGENT,
            "memory": SpanKind.MEMORY,
            "retriever": SpanKind.RETRIEVER,
            "workflow": SpanKind.CHAIN,
            "workflow-step": SpanKind.CHAIN,
        },
    ),
    tool_name_keys=("tool.name",),
    tool_name_in_span=("tool.execution:{}",),
    call_id_keys=("tool.call.id",),
    session_keys=("voltagent.conversation_id", "conversation.id"),
    agent_keys=("entity.name",),
    cannot_be_seen=("completions",),
)

VOLTAGENT_ENTITY: KindKey = kinds(
    "entity.type",
    {"agent": SpanKind.AGENT, "workflow": SpanKind.CHAIN, "memory": SpanKind.MEMORY, "retriever": SpanKind.RETRIEVER},
)
"""Tells the kind of spans without a `span.type`: the agent's own."""
