"""
LangSmith's OpenTelemetry export: Python 0.11.1 (source), 0.15.1 (recordings), JavaScript 0.12.0. Reference §3.12.

`langsmith.trace.session_id` and `.session_name` are the project, never a conversation.
"""

from proto_adapters.canonical import SpanKind
from proto_adapters.dialects.dialect import Dialect, Recognition, kinds

LANGSMITH = Dialect(
    id="langsmith",
    title="LangSmith OTel export",
    reads_from="source, recordings",
    recognised_by=Recognition(
        scopes=("langsmith",), keys=("langsmith.span.*", "langsmith.trace.*", "langsmith.metadata.*")
    ),
    kind_key=kinds(
        "langsmith.span.kind",
        {
            "tool": SpanKind.TOOL,
            "llm": SpanKind.LLM,
            "chain": SpanKind.CHAIN,
            "retriever": SpanKind.RETRIEVER,
            "embedding": SpanKind.EMBEDDING,
            "prompt": SpanKind.CHAIN,
            "parser": SpanKind.CHAIN,
        },
    ),
    tool_name_keys=("gen_ai.tool.name", "langsmith.trace.name"),
    tool_name_in_span=("{}",),
    call_id_keys=("gen_ai.tool.call.id",),
    completions_in=("gen_ai.completion",),
    session_keys=(
        "langsmith.metadata.session_id",
        "langsmith.metadata.thread_id",
        "langsmith.metadata.conversation_id",
    ),
    agent_keys=("langsmith.metadata.lc_agent_name",),
    cannot_be_seen=("spans that were never closed are ended OK after an hour",),
)
