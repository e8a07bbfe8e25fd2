"""
The `gen_ai.span.kind` family: LoongSuite/ARMS, Tencent, Dify's providers for them, Future AGI. Reference §3.53.

Single source files, Future AGI (traceAI) by recordings. Values in upper or lower case.
"""

from proto_adapters.canonical import SpanKind
from proto_adapters.dialects.dialect import Dialect, KindKey, Recognition, kinds

_TABLE = {
    "TOOL": SpanKind.TOOL,
    "LLM": SpanKind.LLM,
    "GENERATION": SpanKind.LLM,
    "AGENT": SpanKind.AGENT,
    "CHAIN": SpanKind.CHAIN,
    "TASK": SpanKind.CHAIN,
    "WORKFLOW": SpanKind.CHAIN,
    "STEP": SpanKind.CHAIN,
    "ENTRY": SpanKind.CHAIN,
    "RETRIEVER": SpanKind.RETRIEVER,
    "RERANKER": SpanKind.RERANKER,
    "EMBEDDING": SpanKind.EMBEDDING,
    "GUARDRAIL": SpanKind.GUARDRAIL,
    "EVALUATOR": SpanKind.EVALUATOR,
}

GEN_AI_SPAN_KIND = Dialect(
    id="gen_ai_span_kind",
    title="gen_ai.span.kind family (Alibaba, Tencent, Future AGI)",
    reads_from="single source files, recordings",
    recognised_by=Recognition(
        scopes=("dify-sdk", "loongsuite.*", "fi_instrumentation*", "traceai_*"),
        keys=("gen_ai.span.kind", "gen_ai.span_kind_name", "gen_ai.framework"),
    ),
    kind_key=kinds("gen_ai.span.kind", _TABLE),
    tool_name_keys=("gen_ai.tool.name", "tool.name"),
    tool_name_in_span=("execute_tool {}", "{}"),
    call_id_keys=("gen_ai.tool.call.id",),
    completions_in=("gen_ai.output.messages", "gen_ai.output.messages.N.message.*", "gen_ai.completion"),
    session_keys=("gen_ai.session.id", "gen_ai.conversation.id"),
    agent_keys=("gen_ai.agent.name",),
)

SPAN_KIND_NAME: KindKey = kinds("gen_ai.span_kind_name", _TABLE)
"""The same values at the key of another LoongSuite release."""
