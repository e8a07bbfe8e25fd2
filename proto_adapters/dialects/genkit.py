"""
Firebase Genkit: source of JavaScript packages, recordings of 1.42.0. Reference §3.44. Keys use `:`, not `.`.
"""

from proto_adapters.canonical import SpanKind
from proto_adapters.dialects.dialect import Dialect, NameRule, Recognition, kinds

GENKIT = Dialect(
    id="genkit",
    title="Firebase Genkit",
    reads_from="source, recordings",
    recognised_by=Recognition(scopes=("genkit-tracer",), keys=("genkit:*",)),
    kind_key=kinds(
        "genkit:metadata:subtype",
        {
            "tool": SpanKind.TOOL,
            "tool.v2": SpanKind.TOOL,
            "model": SpanKind.LLM,
            "background-model": SpanKind.LLM,
            "embedder": SpanKind.EMBEDDING,
            "retriever": SpanKind.RETRIEVER,
            "reranker": SpanKind.RERANKER,
            "indexer": SpanKind.CHAIN,
            "flow": SpanKind.CHAIN,
            "util": SpanKind.CHAIN,
            "prompt": SpanKind.CHAIN,
            "executable-prompt": SpanKind.CHAIN,
            "custom": SpanKind.CHAIN,
            "resource": SpanKind.CHAIN,
            "agent": SpanKind.AGENT,
            "evaluator": SpanKind.EVALUATOR,
        },
    ),
    span_names=(NameRule("*", SpanKind.CHAIN),),
    tool_name_keys=("genkit:name",),
    tool_name_in_span=("{}",),
    completions_in=("genkit:output",),
    session_keys=("genkit:sessionId", "genkit:metadata:agent:sessionId"),
    cannot_be_seen=("call ids",),
)
