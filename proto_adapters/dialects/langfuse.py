"""
Langfuse SDK, built on OpenTelemetry: Python 4.14.3 (source), 5.0.4 (recordings), JavaScript 5.11.1. Reference §3.14.
"""

from proto_adapters.canonical import SpanKind
from proto_adapters.dialects.dialect import Dialect, Recognition, kinds

LANGFUSE = Dialect(
    id="langfuse",
    title="Langfuse SDK",
    reads_from="source, recordings",
    recognised_by=Recognition(scopes=("langfuse-sdk",), keys=("langfuse.*",)),
    kind_key=kinds(
        "langfuse.observation.type",
        {
            "span": SpanKind.CHAIN,
            "generation": SpanKind.LLM,
            "event": SpanKind.UNKNOWN,
            "embedding": SpanKind.EMBEDDING,
            "agent": SpanKind.AGENT,
            "tool": SpanKind.TOOL,
            "chain": SpanKind.CHAIN,
            "retriever": SpanKind.RETRIEVER,
            "guardrail": SpanKind.GUARDRAIL,
            "evaluator": SpanKind.EVALUATOR,
        },
    ),
    tool_name_keys=("gen_ai.tool.name",),
    tool_name_in_span=("{}",),
    call_id_keys=("gen_ai.tool.call.id",),
    completions_in=("langfuse.observation.output",),
    session_keys=("langfuse.session.id", "session.id", "langfuse.trace.metadata.langfuse_session_id"),
    agent_in_span=("{}",),
    cannot_be_seen=("its LangChain handler leaves the status of a failed tool unset and tells it by level ERROR only",),
)
