"""
What is remembered of earlier spans never changes what is read of the next one: memos hold what decides, all of it.
"""

import pytest
from dialect_views import span_view
from hypothesis import given
from hypothesis import strategies as st
from recorded import BUNDLES, raw_spans, recordings

from proto_adapters.canonical import AttributeValue, CanonicalSpan, SpanView
from proto_adapters.dialects import detection
from proto_adapters.otlp_decode import view_span
from proto_adapters.span_kind import DECIDING_KEYS, forget_decisions
from proto_adapters.span_read import read_span

KEYS = [
    *sorted(DECIDING_KEYS),
    "call_id",
    "tool_name",
    "gen_ai.tool.call.id",
    "tool_call.id",
    "llm.request.type",
    "gen_ai.response.id",
    "gen_ai.system",
    "gen_ai.provider.name",
    "llm.output_messages.0.message.content",
    "app.anything",
]
VALUES = st.sampled_from(
    [
        "",
        "TOOL",
        "AGENT",
        "LLM",
        "tool",
        "task",
        "chat",
        "execute_tool",
        "invoke_agent",
        "tools/call",
        "mcp",
        "log",
        "tool_call",
        "x",
        "mcp__a__b",
        "chat.completions",
        "pending_span",
        "y" * 200,
    ]
) | st.sampled_from([True, 7, None, ["chat"], {"kind": "tool"}])
NAMES = st.sampled_from(
    [
        "",
        "chat",
        "execute_tool x",
        "handoff to b",
        "x.tool",
        "tools/call x",
        "claude_code.tool.execution",
        "mcp.tools.call",
        "haystack.component.run",
        "haystack.agent.step.tool",
        "tool.dynamic.x.success-2",
        "tool_call.x",
        "n" * 200,
    ]
)
SCOPES = st.sampled_from(
    [
        "",
        "app",
        "openinference.instrumentation.langchain",
        "openinference.instrumentation.openai_agents",
        "codex_cli",
        "@traceloop/instrumentation-langchain",
        "opentelemetry.instrumentation.llamaindex",
        "agentops",
        "fastmcp",
        "logfire",
        "openinference.instrumentation.beeai",
        "haystack",
        "gcp.vertex.agent",
    ]
)
VIEWS = st.builds(
    lambda attributes, name, scope: span_view(attributes, name=name, scope=scope),
    st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=5),
    NAMES,
    SCOPES,
)


def read_anew(view: SpanView) -> CanonicalSpan:
    """
    The span, read as the first one ever.
    """
    forget_decisions()
    detection.forget_keys()
    return read_span(view)


def meaning(span: CanonicalSpan) -> tuple[object, ...]:
    return (
        span.kind,
        span.kind_rule,
        span.dialects,
        span.handoff,
        span.tool_name,
        span.tool_call_id,
        span.problem_details,
    )


@given(st.lists(VIEWS, min_size=2, max_size=6))
def test_earlier_spans_do_not_change_how_a_span_is_read(views: list[SpanView]) -> None:
    alone = [meaning(read_anew(view)) for view in views]

    forget_decisions()
    detection.forget_keys()
    assert alone == [meaning(read_span(view)) for view in views]


@pytest.mark.parametrize("bundle", BUNDLES)
def test_recorded_spans_are_read_alike_as_the_first_and_as_one_of_many(bundle: str) -> None:
    views = [
        view
        for recorded in recordings(bundle)[:3]
        for origin, raw in raw_spans(recorded)
        if (view := view_span(raw, origin))
    ]

    assert [meaning(read_span(view)) for view in views] == [meaning(read_anew(view)) for view in views]


def test_keys_that_applications_make_up_do_not_fill_memory() -> None:
    attributes: dict[str, AttributeValue] = {}
    for number in range(3 * detection.MAX_KEYS):
        attributes = {f"app.key.{number}": number, "gen_ai.operation.name": "chat"}
        detection.facts_of(span_view(attributes))

    assert detection.remembered_keys() <= detection.MAX_KEYS + len(attributes)


def test_spans_of_codex_that_differ_in_their_call_only_are_told_apart() -> None:
    request = {"tool_name": "mcp__a", "call_id": "1"}
    views = [span_view(request | change, name="x", scope="codex_cli") for change in ({}, {"tool_name": "exec"})]

    kinds = [read_span(view).kind_rule for view in views]

    assert ["C15", "K7:tool_name"] == kinds
