"""
LiteLLM: the classic OTel logger and OTel V2. Single source files, recordings of 1.110.2. Reference §3.28, §3.29.

`raw_gen_ai_request` repeats its parent's answer as Python reprs and is no completion of its own (X6).
"""

from proto_adapters.canonical import SpanKind
from proto_adapters.dialects.dialect import Dialect, NameRule, Recognition

LITELLM_V2 = Dialect(
    id="litellm_v2",
    title="LiteLLM, OTel V2",
    reads_from="single source files",
    recognised_by=Recognition(keys=("litellm.*",)),
    kind_from="gen_ai.operation.name, mcp.method.name",
    tool_name_keys=("gen_ai.tool.name",),
    tool_name_in_span=("tools/call {}",),
    completions_in=("gen_ai.output.messages",),
    session_keys=("gen_ai.conversation.id",),
    cannot_be_seen=(
        "completions, without content capture (off by default)",
        "the caller's own span of a call, which is a link and no parent",
    ),
)

LITELLM_V1 = Dialect(
    id="litellm_v1",
    title="LiteLLM, classic OTel logger",
    reads_from="single source files, recordings",
    recognised_by=Recognition(scopes=("litellm",), keys=("hidden_params",)),
    kind_from="gen_ai.operation.name, else span name",
    span_names=(
        NameRule("litellm_request", SpanKind.LLM),
        NameRule("guardrail", SpanKind.GUARDRAIL),
        NameRule("execute_guardrail *", SpanKind.GUARDRAIL),
        NameRule("Received Proxy Server Request", SpanKind.CHAIN),
        NameRule("litellm.*", SpanKind.CHAIN),
    ),
    wrappers=("raw_gen_ai_request",),
    completions_in=("gen_ai.completion.N.function_call.*", "gen_ai.output.messages"),
    cannot_be_seen=("tool executions", "call ids", "sessions", "calls, without message content"),
)
