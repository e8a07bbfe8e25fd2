"""
Values of `gen_ai.operation.name` and the kinds they stand for (step K5). Pure data.

Source: reference §5.2. Compared exactly after lower-casing; a value outside the table leaves the next rule to decide.
"""

from typing import Final

from proto_adapters.canonical import SpanKind

_AGENT: Final = ("agent.run", "agent_call", "invoke_agent", "user_prompt")
_CHAIN: Final = (
    "agent_step",
    "chain",
    "content_event",
    "create_agent",
    "execute_event_loop_cycle",
    "execute_hook",
    "execute_task",
    "invoke_workflow",
    "parser",
    "plan",
    "prompt",
    "schedule_tool_calls",
    "system_prompt",
    "tool_coordination",
    "framework",
    "agent_handoff",
    "handoff",
)
_EMBEDDING: Final = ("aembedding", "embedding", "embeddings")
_LLM: Final = (
    "acompletion",
    "aresponses",
    "chat",
    "chat.completions",
    "completion",
    "generate_content",
    "llm_call",
    "model_request",
    "responses",
    "text.completions",
    "text_completion",
    "text_completions",
)
_MEMORY: Final = (
    "create_memory",
    "create_memory_store",
    "delete_memory",
    "delete_memory_store",
    "search_memory",
    "update_memory",
    "upsert_memory",
)
_RETRIEVER: Final = ("retrieval", "retrieve", "vector_db_retrieve", "vectordb")
_TOOL: Final = ("execute_tool", "mcp_tool_call", "tool.execute", "tool_call")

OPERATION_KINDS: Final[dict[str, SpanKind]] = {
    **dict.fromkeys(_AGENT, SpanKind.AGENT),
    **dict.fromkeys(_CHAIN, SpanKind.CHAIN),
    **dict.fromkeys(_EMBEDDING, SpanKind.EMBEDDING),
    **dict.fromkeys(_LLM, SpanKind.LLM),
    **dict.fromkeys(_MEMORY, SpanKind.MEMORY),
    **dict.fromkeys(_RETRIEVER, SpanKind.RETRIEVER),
    **dict.fromkeys(_TOOL, SpanKind.TOOL),
    "execute_guardrail": SpanKind.GUARDRAIL,
    "rerank": SpanKind.RERANKER,
    "unknown": SpanKind.UNKNOWN,
}

HANDOFF_OPERATIONS: Final = frozenset({"agent_handoff", "handoff"})
