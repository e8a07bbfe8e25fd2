"""
Any value of any type at any key of any dialect: nothing raises, and the cost stays linear.
"""

import time
from collections.abc import Callable

import pytest
from dialect_views import examples, log_view, span_view
from hypothesis import given
from hypothesis import strategies as st

from proto_adapters.canonical import Attributes, AttributeValue, CanonicalSpan, SpanKind, SpanView
from proto_adapters.completion import OUTPUT_FIELDS
from proto_adapters.dialects import DIALECTS
from proto_adapters.dialects.dialect import ANY_TEXT
from proto_adapters.read_options import ReadOptions
from proto_adapters.span_fields import AGENT_KEYS, SESSION_KEYS
from proto_adapters.span_read import read_log, read_span
from proto_adapters.tool_fields import ARGUMENT_KEYS, CALL_ID_KEYS, TOOL_NAME_READERS
from proto_adapters.tool_results import INPUT_KEYS

EVERYTHING = ReadOptions(keep_arguments=True, read_results=True, selected_keys=frozenset({"session.id"}))

KEYS = sorted(
    {
        *(key.replace(ANY_TEXT, "x") for dialect in DIALECTS for key in dialect.recognised_by.keys),
        *(dialect.kind_key.key for dialect in DIALECTS if dialect.kind_key),
        *(key for key, _ in TOOL_NAME_READERS),
        *(field.source for field in OUTPUT_FIELDS),
        *CALL_ID_KEYS,
        *SESSION_KEYS,
        *AGENT_KEYS,
        *ARGUMENT_KEYS,
        *INPUT_KEYS,
        "gen_ai.operation.name",
        "mcp.method.name",
        "rpc.system",
        "rpc.method",
        "jsonrpc.request.id",
        "gen_ai.response.finish_reasons",
        "logfire.span_type",
        "logfire.pending_parent_id",
        "logfire.level_num",
        "error.type",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name",
        "llm.output_messages.99999999999999999999.message.content",
        "gen_ai.completion.0.tool_calls.0.arguments",
        "gen_ai.completion..",
        "llm.tools.0.tool.json_schema",
        "gen_ai.tool.definitions",
    }
)
WORDS = st.sampled_from(
    [
        *("TOOL", "LLM", "agent", "task", "execute_tool", "chat", "tools/call", "pending_span", "mcp", '"TOOL"', "17"),
        *("assistant", "tool_call", "function", "[{", '[{"', "null", "call_1call_2", '{"a":1}{"b":2}', "[[[[", '"x"'),
        *('[{"role":"assistant","tool_calls":[{"function":{"name":"a"}}]}]', "\ud800", "\x00", "ﬀ", "00000000000000a1"),
    ]
)
PLACES = st.sampled_from(
    ["role", "type", "content", "parts", "tool_calls", "function", "name", "id", "arguments", "message", "choices"]
)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.binary(max_size=9), WORDS, st.text(max_size=9)
)
VALUES: st.SearchStrategy[AttributeValue] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(PLACES, inner, max_size=4)),
    max_leaves=12,
)
ATTRIBUTES = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=12)
SCOPES = st.sampled_from(
    sorted({scope.replace(ANY_TEXT, "x") for dialect in DIALECTS for scope in dialect.recognised_by.scopes})
)
NAMES = st.sampled_from(
    [
        *("execute_tool x", "running 2 tools", "Function: {name}", "handoff to b", "tool.dynamic.x.success-1", ""),
        *("claude_code.tool.execution", "haystack.component.run", "MCP send tools/call x", "mcp.tools.call"),
    ]
)
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["gen_ai.choice", "gen_ai.content.completion", "exception", "gen_ai.tool.message"]), ATTRIBUTES
    ),
    max_size=3,
)


def views(attributes: Attributes, scope: str, name: str, events: list[tuple[str, Attributes]]) -> SpanView:
    return span_view(attributes, scope=scope, name=name, events=events)


@given(st.builds(views, ATTRIBUTES, SCOPES, NAMES, EVENTS))
def test_any_value_at_any_key_of_a_span_is_read_without_raising(view: SpanView) -> None:
    span = read_span(view, EVERYTHING)

    assert_well_formed(span)


def assert_well_formed(span: CanonicalSpan) -> None:
    assert len(span.problems) == len(span.problem_details)
    assert span.tool_name is None or isinstance(span.tool_name, str)
    assert all(type(call.name) is str and call.name for call in span.embedded_calls)
    assert span.kind is SpanKind.LLM or span.embedded_calls == ()
    assert (span.kind is SpanKind.TOOL) or span.tool_name is None


@given(VALUES, ATTRIBUTES, st.sampled_from(["gen_ai.choice", "gen_ai.client.inference.operation.details", "app", ""]))
def test_any_body_of_a_log_record_is_read_without_raising(
    body: AttributeValue, attributes: Attributes, name: str
) -> None:
    completion = read_log(log_view(body, event_name=name, attributes=attributes, scope="app"), EVERYTHING)

    assert completion is None or len(completion.digest) == 16


@given(st.sampled_from([case[1] for case in examples("span")]), st.data())
def test_an_example_span_with_one_value_replaced_is_read_without_raising(
    example: dict[str, list[dict[str, object]]], data: st.DataObject
) -> None:
    keys = [str(pair["key"]) for pair in example.get("attributes", [])]
    attributes = {key: data.draw(VALUES) for key in keys}

    assert_well_formed(read_span(span_view(attributes, scope=str(example.get("scope", ""))), EVERYTHING))


def big_list(size: int) -> AttributeValue:
    return [{"role": "assistant", "parts": [{"type": "tool_call", "id": f"c{n}", "name": "x"}]} for n in range(size)]


def deep_text(size: int) -> AttributeValue:
    return '[{"message":' * size


def many_keys(size: int) -> Attributes:
    return {f"llm.output_messages.{n}.message.tool_calls.0.tool_call.function.name": "x" for n in range(size)}


COSTS: list[tuple[str, Callable[[int], Attributes], int]] = [
    ("messages", lambda size: {"gen_ai.operation.name": "chat", "gen_ai.output.messages": big_list(size)}, 4000),
    ("brackets", lambda size: {"gen_ai.operation.name": "chat", "gen_ai.output.messages": deep_text(size)}, 40000),
    ("keys", many_keys, 4000),
    ("melted", lambda size: {"gen_ai.operation.name": "chat", "gen_ai.output.messages": melted(size)}, 4000),
]


def melted(size: int) -> AttributeValue:
    return [{"tool_calls": [{"id": "call_1call_2" * 2, "function": {"name": "a" * 1000}}] * size}]


@pytest.mark.parametrize(("make", "size"), [case[1:] for case in COSTS], ids=[case[0] for case in COSTS])
def test_twice_the_size_costs_about_twice_the_time(make: Callable[[int], Attributes], size: int) -> None:
    def cost(count: int) -> float:
        view = span_view(make(count), events=[])
        return min(timed(view) for _ in range(3))

    assert cost(4 * size) < 12 * cost(size) + 0.05


def timed(view: SpanView) -> float:
    begin = time.process_time()
    read_span(view, EVERYTHING)
    return time.process_time() - begin
