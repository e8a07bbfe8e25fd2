"""
OpenInference, the core convention and its instrumentors: source of 2026-08, recordings of 19 variants. Reference §3.5.

Kind TOOL does not always mean a tool call, nor has every tool call kind TOOL: see C1 to C4 and C13. `__REDACTED__`
is an absent value.
"""

from typing import Final

from proto_adapters.canonical import SpanKind
from proto_adapters.dialects.dialect import Dialect, Recognition, kinds

OPENINFERENCE = Dialect(
    id="openinference",
    title="OpenInference (core convention)",
    reads_from="source, recordings",
    recognised_by=Recognition(
        scopes=("openinference.*", "@arizeai/openinference-*", "com.arize.*"),
        keys=("openinference.span.kind", "llm.output_messages.*", "llm.input_messages.*"),
    ),
    kind_key=kinds(
        "openinference.span.kind",
        {
            "TOOL": SpanKind.TOOL,
            "CHAIN": SpanKind.CHAIN,
            "LLM": SpanKind.LLM,
            "RETRIEVER": SpanKind.RETRIEVER,
            "EMBEDDING": SpanKind.EMBEDDING,
            "AGENT": SpanKind.AGENT,
            "RERANKER": SpanKind.RERANKER,
            "GUARDRAIL": SpanKind.GUARDRAIL,
            "EVALUATOR": SpanKind.EVALUATOR,
            "PROMPT": SpanKind.CHAIN,
            "UNKNOWN": SpanKind.UNKNOWN,
        },
    ),
    tool_name_keys=("tool.name", "gen_ai.tool.name", "tool_call.function.name"),
    call_id_keys=("tool.id", "tool_call.id", "tool.call_id", "gen_ai.tool.call.id"),
    completions_in=("llm.output_messages.N.message.*", "llm.function_call", "output.value"),
    session_keys=("session.id", "metadata.sessionId"),
    agent_keys=("agent.name", "graph.node.id"),
    agent_in_span=("agent_run [{}]", "{}.agent"),
    cannot_be_seen=(
        "call ids of LangChain tools, which stand inside the output only",
        "model spans of ADK: every answer of a run is written onto one span, each over the one before",
        "hidden values (`hide_outputs`)",
    ),
)

INSTRUMENTORS: Final = ("openinference.instrumentation.", "@arizeai/openinference-instrumentation-", "com.arize.")
"""Scopes of instrumentors, whose span names follow rules of their own. Elsewhere a person named the span."""

DECORATED_SPAN_NAMES: Final = (
    ("crewai", "{}.run"),
    ("dspy", "{}.__call__"),
    ("dspy", "{}.acall"),
    ("dspy", "{}.call"),
    ("mcp", "{}"),
    ("claude_agent_sdk", "{}"),
    ("claude-agent-sdk", "{}"),
    ("agno", "{}"),
)
"""Where the tool's name stands in the span name of an instrumentor that may leave `tool.name` out."""


def instrumentor_of(scope: str) -> str | None:
    """
    The part of an instrumentor's scope after the common prefix, or `None` for any other scope.
    """
    return next((scope[len(prefix) :] for prefix in INSTRUMENTORS if scope.startswith(prefix)), None)


def tool_name_in_span(scope: str) -> tuple[str, ...]:
    """
    Where the tool's name stands in span names of this scope, if it has no `tool.name`.
    """
    instrumentor = instrumentor_of(scope)
    if instrumentor is None:
        return ("{}",)
    return tuple(template for name, template in DECORATED_SPAN_NAMES if instrumentor.startswith(name))
