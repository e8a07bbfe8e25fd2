"""
Datadog LLM Observability: source. Reference §3.46. Not OTLP; read only if somebody bridges it.
"""

from proto_adapters.canonical import SpanKind
from proto_adapters.dialects.dialect import Dialect, Recognition, kinds

DATADOG = Dialect(
    id="datadog_llmobs",
    title="Datadog LLM Observability (bridged)",
    reads_from="source",
    recognised_by=Recognition(keys=("_ml_obs.*",)),
    kind_key=kinds(
        "_ml_obs.meta.span.kind",
        {
            "tool": SpanKind.TOOL,
            "llm": SpanKind.LLM,
            "agent": SpanKind.AGENT,
            "workflow": SpanKind.CHAIN,
            "task": SpanKind.CHAIN,
            "embedding": SpanKind.EMBEDDING,
            "retrieval": SpanKind.RETRIEVER,
        },
    ),
    tool_name_in_span=("{}",),
    session_keys=("_ml_obs.session_id",),
    cannot_be_seen=("call ids", "completions"),
)
