"""
Vercel AI SDK: 3.4-6 and the legacy integration of 7 (scope `ai`), and 7's own (scope `gen_ai`). Reference §3.7, §3.8.

Source of ai 4.3.19, 6.0.264 and 7.0.77; recordings of 4.3.19 to 7.0.173. Root spans repeat the last step's calls and
are agents, so nothing is read from them (C8). `operation.name` holds the function id and is never a tool's name.
"""

from typing import Final

from proto_adapters.attribute_values import text_of
from proto_adapters.canonical import AttributeValue, SpanKind
from proto_adapters.dialects.dialect import Dialect, KindKey, Recognition

_ROOTS: Final = frozenset(
    {"ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject", "ai.agent", "ai.streamUI"}
)


def _kind_of(value: AttributeValue) -> SpanKind | None:
    """
    The kind of an operation id; older versions write it before the function id, as `ai.toolCall my-agent`.
    """
    operation = (text_of(value) or "").partition(" ")[0]
    if operation in _ROOTS:
        return SpanKind.AGENT
    if operation == "ai.toolCall":
        return SpanKind.TOOL
    if operation.startswith("ai.embed"):
        return SpanKind.EMBEDDING
    if operation.startswith("ai.rerank"):
        return SpanKind.RERANKER
    return SpanKind.LLM if operation.startswith("ai.") and operation.endswith((".doGenerate", ".doStream")) else None


_DOCUMENTED: Final = (
    ("ai.generateText, ai.streamText, ai.generateObject, ai.streamObject", "AGENT"),
    ("*.doGenerate, *.doStream", "LLM"),
    ("ai.toolCall", "TOOL"),
    ("ai.embed*", "EMBEDDING"),
    ("ai.rerank*", "RERANKER"),
)

VERCEL_AI_LEGACY = Dialect(
    id="vercel_ai_legacy",
    title="Vercel AI SDK 3.4-6, and LegacyOpenTelemetry in 7",
    reads_from="source, recordings",
    recognised_by=Recognition(
        scopes=("ai",),
        keys=("ai.operationId", "ai.telemetry.functionId", "ai.toolCall.*", "ai.response.*"),
        values=(("operation.name", "ai.*"),),
    ),
    kind_key=KindKey("ai.operationId", _kind_of, _DOCUMENTED),
    tool_name_keys=("ai.toolCall.name",),
    call_id_keys=("ai.toolCall.id",),
    completions_in=("ai.response.toolCalls", "ai.result.toolCalls", "ai.response.text"),
    session_keys=(
        "ai.telemetry.metadata.sessionId",
        "ai.telemetry.metadata.session.id",
        "ai.telemetry.metadata.threadId",
        "ai.settings.context.sessionId",
    ),
    agent_keys=("ai.telemetry.functionId",),
    cannot_be_seen=("tools that the provider runs", "calls, with recordOutputs off"),
)

VERCEL_OPERATION_NAME: Final = KindKey("operation.name", _kind_of)
"""The same values at the older key; only those that begin with `ai.` are Vercel's."""

VERCEL_AI_OTEL = Dialect(
    id="vercel_ai_otel",
    title="Vercel AI SDK 7 (@ai-sdk/otel)",
    reads_from="source, recordings",
    recognised_by=Recognition(scopes=("gen_ai",)),
    kind_from="gen_ai.operation.name",
    tool_name_keys=("gen_ai.tool.name",),
    tool_name_in_span=("execute_tool {}",),
    call_id_keys=("gen_ai.tool.call.id",),
    completions_in=("gen_ai.output.messages",),
    session_keys=("ai.settings.context.sessionId",),
    agent_keys=("gen_ai.agent.name",),
    intervals="provider",
    cannot_be_seen=("when a tool of the provider ran: its span is made when the model call ends",),
)
