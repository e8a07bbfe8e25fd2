"""
Haystack: source of 3.2.0-rc0; recordings of 3.4.1 and 2.31.0. Reference §3.27.

The tracer has the application's name: the product's own span names decide. In version 2 one `ToolInvoker` component
runs all calls of a step in one interval, which stays CHAIN.
"""

from typing import Final

from proto_adapters.attribute_values import text_of
from proto_adapters.canonical import Attributes, SpanKind
from proto_adapters.dialects.dialect import Dialect, Recognition

SPAN_KINDS: Final[dict[str, SpanKind]] = {
    "haystack.agent.run": SpanKind.AGENT,
    "haystack.agent.step": SpanKind.CHAIN,
    "haystack.agent.step.llm": SpanKind.LLM,
    "haystack.agent.step.tool": SpanKind.TOOL,
    "haystack.pipeline.run": SpanKind.CHAIN,
    "haystack.async_pipeline.run": SpanKind.CHAIN,
    "haystack.component.run": SpanKind.CHAIN,
    "haystack.tracing.auto_enable": SpanKind.CHAIN,
}
COMPONENT_TYPE: Final = "haystack.component.type"
_COMPONENT: Final = "haystack.component.run"
_COMPONENT_SUFFIXES: Final = (
    ("ChatGenerator", SpanKind.LLM),
    ("Generator", SpanKind.LLM),
    ("Retriever", SpanKind.RETRIEVER),
    ("Embedder", SpanKind.EMBEDDING),
    ("Ranker", SpanKind.RERANKER),
)


def span_kind(name: str, attributes: Attributes) -> SpanKind | None:
    """
    The kind that a span name of Haystack tells, for a component by the type of the component.
    """
    if name == _COMPONENT:
        component = text_of(attributes.get(COMPONENT_TYPE)) or ""
        return next((kind for suffix, kind in _COMPONENT_SUFFIXES if component.endswith(suffix)), SpanKind.CHAIN)
    return SPAN_KINDS.get(name)


HAYSTACK = Dialect(
    id="haystack",
    title="Haystack",
    reads_from="source, recordings",
    recognised_by=Recognition(scopes=("haystack",), keys=("haystack.*",)),
    kind_from="span name",
    tool_name_keys=("haystack.tool.name",),
    completions_in=("haystack.agent.step.llm.output", "haystack.component.output"),
    cannot_be_seen=(
        "completions, without content tracing (off by default)",
        "tool executions of version 2: one span runs all calls of a step",
        "call ids",
        "sessions",
    ),
)
