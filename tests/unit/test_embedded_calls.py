"""
Tool calls inside completions: every shape of the dialects reference §5.4, and what must never be taken for a call.
"""

import json

import pytest
from dialect_views import span_view

from proto_adapters.attribute_values import decoded
from proto_adapters.call_collector import CallCollector, ReadLimits, split_melted_name
from proto_adapters.canonical import Attributes, AttributeValue, CanonicalSpan, CompletionState, Problem, SpanKind
from proto_adapters.embedded_calls import read_output
from proto_adapters.read_options import ReadOptions
from proto_adapters.span_read import read_span

CHAT: Attributes = {"gen_ai.operation.name": "chat"}
OPENAI_CALL: AttributeValue = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
OPENAI_MESSAGE: AttributeValue = {"role": "assistant", "content": None, "tool_calls": [OPENAI_CALL]}


def calls_in(value: AttributeValue, *, is_call_list: bool = False) -> list[tuple[str, str | None, str]]:
    collector = CallCollector()
    read_output(value, collector, is_call_list=is_call_list)
    return [(call.name, call.call_id, call.executed_by) for call in collector.calls]


def read_chat(attributes: Attributes, **view: str) -> CanonicalSpan:
    return read_span(span_view({**CHAT, **attributes}, **view))  # type: ignore[arg-type]  # only text options are used


SHAPES: list[tuple[str, AttributeValue]] = [
    (
        "semconv part",
        [{"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "search", "arguments": {}}]}],
    ),
    ("openai chat on a message", [OPENAI_MESSAGE]),
    ("openai chat in choices", {"choices": [{"index": 0, "message": OPENAI_MESSAGE}]}),
    ("openai chat in message.message", {"message": {"message": OPENAI_MESSAGE}}),
    ("openai chat beside parts", [{"role": "assistant", "parts": [], "tool_calls": [OPENAI_CALL]}]),
    (
        "openai responses",
        {"output": [{"type": "function_call", "id": "fc_9", "call_id": "c1", "name": "search", "arguments": "{}"}]},
    ),
    ("openai responses, custom", [{"type": "custom_tool_call", "call_id": "c1", "name": "search", "input": "x"}]),
    (
        "langchain generations",
        {
            "generations": [
                [{"message": {"kwargs": {"tool_calls": [{"name": "search", "args": {"a": 1}, "id": "c1"}]}}}]
            ]
        },
    ),
    ("langchain data", {"type": "ai", "data": {"tool_calls": [{"name": "search", "args": {}, "id": "c1"}]}}),
    ("anthropic", {"content": [{"type": "tool_use", "id": "c1", "name": "search", "input": {}}]}),
    ("bedrock blocks", [{"toolUse": {"toolUseId": "c1", "name": "search", "input": {}}}]),
    ("strands flat", [{"type": "toolUse", "toolUseId": "c1", "name": "search", "input": {}}]),
    (
        "gemini functionCall",
        [{"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "search", "args": {}}}]}],
    ),
    ("adk function_call", {"content": {"parts": [{"function_call": {"id": "c1", "name": "search", "args": {}}}]}}),
    ("vercel", [{"toolCallId": "c1", "toolName": "search", "input": "{}"}]),
    ("genkit", {"message": {"content": [{"toolRequest": {"name": "search", "ref": "c1", "input": {}}}]}}),
    (
        "haystack",
        {"replies": [{"role": "assistant", "content": [{"tool_call": {"tool_name": "search", "id": "c1"}}]}]},
    ),
    ("llamaindex blocks", {"blocks": [{"block_type": "tool_call", "tool_call_id": "c1", "tool_name": "search"}]}),
    (
        "azure",
        {
            "content": [
                {"type": "tool_call", "tool_call": {"type": "function", "id": "c1", "function": {"name": "search"}}}
            ]
        },
    ),
]


@pytest.mark.parametrize("value", [case[1] for case in SHAPES], ids=[case[0] for case in SHAPES])
@pytest.mark.parametrize("dumps", [0, 1, 2])
def test_every_shape_yields_its_call_as_a_structure_and_as_json_text(value: AttributeValue, dumps: int) -> None:
    for _ in range(dumps):
        value = json.dumps(value)

    assert calls_in(value) == [("search", "c1", "client")]


PROVIDER_SHAPES: list[tuple[str, AttributeValue, str]] = [
    (
        "semconv server part",
        [{"parts": [{"type": "server_tool_call", "id": "c1", "name": "web", "server_tool_call": {"type": "x"}}]}],
        "web",
    ),
    ("anthropic server", [{"type": "server_tool_use", "id": "c1", "name": "web", "input": {}}], "web"),
    ("anthropic mcp", [{"type": "mcp_tool_use", "id": "c1", "name": "web", "input": {}}], "web"),
    ("openai mcp", {"output": [{"type": "mcp_call", "id": "c1", "name": "web", "server_label": "s"}]}, "web"),
    ("azure hosted", {"tool_calls": [{"id": "c1", "type": "file_search", "file_search": {}}]}, "file_search"),
    ("pydantic builtin", [{"parts": [{"type": "tool_call", "id": "c1", "name": "web", "builtin": True}]}], "web"),
]


@pytest.mark.parametrize(("value", "name"), [c[1:] for c in PROVIDER_SHAPES], ids=[c[0] for c in PROVIDER_SHAPES])
def test_a_call_that_the_provider_runs_says_so(value: AttributeValue, name: str) -> None:
    assert calls_in(value) == [(name, "c1", "provider")]


def test_a_legacy_function_call_has_no_id() -> None:
    assert calls_in({"message": {"function_call": {"name": "search", "arguments": "{}"}}}) == [
        ("search", None, "client")
    ]


def test_flattened_openinference_calls_are_sorted_as_numbers_and_may_have_gaps() -> None:
    prefix = "llm.output_messages.0.message.tool_calls"
    attributes: Attributes = {
        "openinference.span.kind": "LLM",
        f"{prefix}.10.tool_call.function.name": "last",
        f"{prefix}.2.tool_call.function.name": "first",
        f"{prefix}.2.tool_call.id": "c1",
    }

    span = read_span(span_view(attributes))

    assert [(call.name, call.call_id, call.index) for call in span.embedded_calls] == [
        ("first", "c1", 0),
        ("last", None, 1),
    ]


def test_a_call_told_twice_by_openinference_is_one() -> None:
    message = "llm.output_messages.0.message"
    attributes: Attributes = {
        "openinference.span.kind": "LLM",
        f"{message}.tool_calls.0.tool_call.function.name": "search",
        f"{message}.contents.1.message_content.type": "tool_use",
        f"{message}.contents.1.tool_call.function.name": "search",
    }

    assert [call.name for call in read_span(span_view(attributes)).embedded_calls] == ["search"]


FLATTENED: list[tuple[str, Attributes]] = [
    (
        "traceloop",
        {"gen_ai.completion.0.tool_calls.0.name": "search", "gen_ai.completion.0.tool_calls.0.id": "c1"},
    ),
    ("traceloop function_call", {"gen_ai.completion.0.function_call.name": "search"}),
    ("openinference legacy", {"llm.output_messages.0.message.function_call_name": "search"}),
    ("openinference contents", {"llm.output_messages.0.message.contents.0.tool_call.function.name": "search"}),
    (
        "future agi",
        {"gen_ai.output.messages.0.message.tool_calls.0.tool_call.function.name": "search"},
    ),
]


@pytest.mark.parametrize("attributes", [case[1] for case in FLATTENED], ids=[case[0] for case in FLATTENED])
def test_flattened_calls_are_put_together(attributes: Attributes) -> None:
    assert [call.name for call in read_chat(attributes).embedded_calls] == ["search"]


def test_the_index_of_litellms_completions_counts_calls_and_not_choices() -> None:
    attributes: Attributes = {f"gen_ai.completion.{n}.function_call.name": f"t{n}" for n in range(2)}

    litellm = read_chat(attributes, scope="litellm").embedded_calls
    traceloop = read_chat(attributes, scope="opentelemetry.instrumentation.openai.v1").embedded_calls

    assert [(call.candidate, call.index) for call in litellm] == [(0, 0), (0, 1)]
    assert [(call.candidate, call.index) for call in traceloop] == [(0, 0), (1, 0)]


def test_openlits_comma_lists_are_read_only_if_nothing_else_tells_the_calls() -> None:
    lists: Attributes = {"gen_ai.tool.name": "search, book", "gen_ai.tool.call.id": "c1, c2"}
    messages = json.dumps([{"role": "assistant", "parts": [{"type": "tool_call", "name": "other", "id": "c3"}]}])

    alone = read_chat(lists, scope="openlit.instrumentation.openai")
    beside = read_chat({**lists, "gen_ai.output.messages": messages}, scope="openlit.instrumentation.openai")
    elsewhere = read_chat(lists, scope="app")

    assert [(call.name, call.call_id) for call in alone.embedded_calls] == [("search", "c1"), ("book", "c2")]
    assert [call.name for call in beside.embedded_calls] == ["other"]
    assert elsewhere.embedded_calls == ()


GEMINI: AttributeValue = {"content": {"parts": [{"functionCall": {"name": "search"}}]}}
HAYSTACK: AttributeValue = {"replies": [{"content": [{"tool_call": {"tool_name": "search"}}]}]}

OUTPUT_FIELDS: list[tuple[str, Attributes]] = [
    ("ai.response.toolCalls", {"ai.response.toolCalls": '[{"toolCallId":"c1","toolName":"search","args":"{}"}]'}),
    ("gcp.vertex.agent.llm_response", {"gcp.vertex.agent.llm_response": json.dumps(GEMINI)}),
    ("langfuse.observation.output", {"langfuse.observation.output": json.dumps(OPENAI_MESSAGE)}),
    ("mlflow.spanOutputs", {"mlflow.spanOutputs": json.dumps({"choices": [{"message": OPENAI_MESSAGE}]})}),
    ("gen_ai.completion", {"gen_ai.completion": json.dumps({"choices": [{"message": OPENAI_MESSAGE}]})}),
    ("haystack.agent.step.llm.output", {"haystack.agent.step.llm.output": json.dumps(HAYSTACK)}),
    ("response", {"response": '{"output":[{"type":"function_call","call_id":"c1","name":"search"}]}'}),
    ("response_data", {"response_data": json.dumps({"message": OPENAI_MESSAGE})}),
    ("genkit:output", {"genkit:output": '{"message":{"content":[{"toolRequest":{"name":"search"}}]}}'}),
    ("gen_ai.response.tool_calls", {"gen_ai.response.tool_calls": json.dumps([OPENAI_CALL])}),
    ("lk.response.function_calls", {"lk.response.function_calls": '[{"name":"search","id":"c1"}]'}),
    ("events", {"events": json.dumps([{"event.name": "gen_ai.choice", "message": OPENAI_MESSAGE}])}),
    ("braintrust.output_json", {"braintrust.output_json": json.dumps([OPENAI_MESSAGE])}),
]


@pytest.mark.parametrize(("source", "attributes"), OUTPUT_FIELDS, ids=[case[0] for case in OUTPUT_FIELDS])
def test_every_output_field_is_read_and_named_as_the_source(source: str, attributes: Attributes) -> None:
    assert [(call.name, call.source) for call in read_chat(attributes).embedded_calls] == [("search", source)]


EVENTS: list[tuple[str, Attributes, Attributes]] = [
    ("gen_ai.choice", {"message": json.dumps([{"toolUse": {"name": "search", "toolUseId": "c1"}}])}, {}),
    ("gen_ai.choice", {"gen_ai.event.content": json.dumps({"message": OPENAI_MESSAGE})}, {}),
    ("gen_ai.choice", {"tool_calls": json.dumps([OPENAI_CALL]), "finish_reason": "tool_calls"}, {}),
    ("gen_ai.content.completion", {"gen_ai.completion": json.dumps([OPENAI_MESSAGE])}, {}),
    ("gen_ai.client.inference.operation.details", {"gen_ai.output.messages": json.dumps([OPENAI_MESSAGE])}, {}),
    (
        "gen_ai.assistant.message",
        {"gen_ai.event.content": json.dumps({"tool_calls": [OPENAI_CALL]})},
        {"az.namespace": "Microsoft.CognitiveServices"},
    ),
]


@pytest.mark.parametrize(("event", "content", "attributes"), EVENTS, ids=[f"{c[0]} {min(c[1])}" for c in EVENTS])
def test_calls_in_span_events_are_read(event: str, content: Attributes, attributes: Attributes) -> None:
    span = read_span(span_view({**CHAT, **attributes}, events=[(event, content)]))

    assert [(call.name, call.source) for call in span.embedded_calls] == [("search", event)]


def test_the_next_field_is_read_if_one_decodes_and_holds_no_call() -> None:
    attributes: Attributes = {
        "gen_ai.output.messages": '[{"role":"assistant","parts":[],"finish_reason":"tool_calls"}]',
        "gen_ai.completion.0.function_call.name": "search",
    }

    span = read_chat(attributes)

    assert [call.name for call in span.embedded_calls] == ["search"]
    assert span.completion is CompletionState.READ


def test_arguments_are_kept_only_if_asked_for() -> None:
    messages = json.dumps([{"parts": [{"type": "tool_call", "name": "search", "arguments": '{"a":1}'}]}])
    view = span_view({**CHAT, "gen_ai.output.messages": messages})

    assert read_span(view).embedded_calls[0].arguments is None
    assert read_span(view, ReadOptions(keep_arguments=True)).embedded_calls[0].arguments == {"a": 1}


def test_each_output_message_is_a_candidate_of_its_own() -> None:
    part: AttributeValue = {"type": "tool_call", "name": "search"}
    messages: AttributeValue = [{"role": "assistant", "parts": [part, part]}, {"role": "assistant", "parts": [part]}]

    span = read_chat({"gen_ai.output.messages": messages})

    assert [(call.candidate, call.index) for call in span.embedded_calls] == [(0, 0), (0, 1), (1, 0)]


# ---- what is never a call ----

NO_CALLS: list[tuple[str, AttributeValue]] = [
    ("user", [{"role": "user", "tool_calls": [OPENAI_CALL]}]),
    ("tool", [{"role": "tool", "content": [{"type": "tool_use", "name": "search"}]}]),
    ("system", {"messages": [{"role": "SYSTEM", "tool_calls": [OPENAI_CALL]}]}),
    ("langchain human", [{"type": "human", "data": {"tool_calls": [{"name": "search", "args": {}}]}}]),
    ("result part", [{"parts": [{"type": "tool_call_response", "id": "c1", "response": {"content": "x"}}]}]),
    ("vercel result", [{"type": "tool-result", "toolCallId": "c1", "toolName": "search", "result": 1}]),
    ("offered tools", {"tools": [{"type": "function", "function": {"name": "search", "parameters": {}}}]}),
    ("invalid", {"invalid_tool_calls": [{"name": "search", "args": "{", "id": "c1"}]}),
    ("repr", "[ChatMessage(tool_calls=[ToolCall(name='search')])]"),
]


@pytest.mark.parametrize("value", [case[1] for case in NO_CALLS], ids=[case[0] for case in NO_CALLS])
def test_what_is_no_request_of_the_model_is_no_call(value: AttributeValue) -> None:
    assert calls_in(value) == []


HISTORY: list[Attributes] = [
    {"gen_ai.input.messages": json.dumps([OPENAI_MESSAGE])},
    {"llm.input_messages.0.message.tool_calls.0.tool_call.function.name": "search"},
    {"gen_ai.prompt.0.tool_calls.0.name": "search"},
    {"events": json.dumps([{"event.name": "gen_ai.assistant.message", "tool_calls": [OPENAI_CALL]}])},
    {"gen_ai.tool.definitions": json.dumps([{"type": "function", "name": "search"}])},
    {"ai.prompt.messages": json.dumps([OPENAI_MESSAGE])},
]


@pytest.mark.parametrize("attributes", HISTORY, ids=[next(iter(case)) for case in HISTORY])
def test_history_and_offered_tools_are_never_read(attributes: Attributes) -> None:
    assert read_chat(attributes).embedded_calls == ()


@pytest.mark.parametrize("operation", ["invoke_agent", "create_agent", "execute_tool"])
def test_only_llm_spans_are_read_for_completions(operation: str) -> None:
    attributes: Attributes = {
        "gen_ai.operation.name": operation,
        "gen_ai.output.messages": json.dumps([OPENAI_MESSAGE]),
    }

    span = read_span(span_view(attributes, name=f"{operation} x"))

    assert span.kind is not SpanKind.LLM
    assert span.embedded_calls == ()


def test_an_assistant_message_event_is_input_outside_azure() -> None:
    event = ("gen_ai.assistant.message", {"gen_ai.event.content": json.dumps({"tool_calls": [OPENAI_CALL]})})

    assert read_span(span_view(CHAT, events=[event])).embedded_calls == ()


# ---- melted and nameless calls ----

MELTED: Attributes = {
    "openinference.span.kind": "LLM",
    "llm.finish_reason": "tool_calls",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "search_flightsget_weather",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"a":1}{"b":2}',
    "llm.output_messages.0.message.tool_calls.0.tool_call.id": "call_0001call_0002",
}


def test_names_that_a_stream_melted_are_told_apart_by_the_offered_tools() -> None:
    offered: Attributes = {
        f"llm.tools.{position}.tool.json_schema": json.dumps({"type": "function", "function": {"name": name}})
        for position, name in enumerate(["search_flights", "get_weather", "get"])
    }

    span = read_span(span_view({**MELTED, **offered}))

    assert [(call.name, call.call_id) for call in span.embedded_calls] == [
        ("search_flights", "call_0001"),
        ("get_weather", "call_0002"),
    ]
    assert span.completion is CompletionState.READ


def test_melted_calls_that_cannot_be_told_apart_are_hidden_and_no_call() -> None:
    span = read_span(span_view(MELTED))

    assert (span.embedded_calls, span.completion) == ((), CompletionState.HIDDEN)
    assert Problem.COMPLETION_HIDDEN in span.problems


@pytest.mark.parametrize(
    ("name", "offered", "parts"),
    [
        ("ab", {"a", "b"}, ["a", "b"]),
        ("abc", {"a", "b"}, []),
        ("ab", {"ab", "a", "b"}, []),
        ("", {"a"}, []),
        ("x" * 2000, {"x"}, []),
    ],
)
def test_a_name_is_split_only_if_all_of_it_is_offered_names(name: str, offered: set[str], parts: list[str]) -> None:
    assert split_melted_name(name, frozenset(offered)) == parts


def test_a_call_without_a_name_hides_the_completion() -> None:
    nameless = {"gen_ai.output.messages": [{"role": "assistant", "tool_calls": [{"id": "c1", "type": "function"}]}]}

    assert read_chat(nameless).completion is CompletionState.HIDDEN  # type: ignore[arg-type]


@pytest.mark.parametrize("call_id", ["search_0", "<not specified>", None, ""])
def test_made_up_and_placeholder_ids_of_calls_are_none(call_id: str | None) -> None:
    part: AttributeValue = {"type": "tool_call", "name": "search", "id": call_id}

    assert calls_in([{"parts": [part]}]) == [("search", None, "client")]


# ---- limits ----


def nested(depth: int) -> AttributeValue:
    value: AttributeValue = OPENAI_MESSAGE
    for _ in range(depth):
        value = {"message": value}
    return value


def test_a_value_over_the_limits_is_truncated_and_not_without_calls() -> None:
    deep = CallCollector(limits=ReadLimits(max_depth=5))
    read_output(nested(20), deep)
    long = CallCollector(limits=ReadLimits(max_length=10))
    read_output(json.dumps([OPENAI_MESSAGE]), long)
    many = CallCollector(limits=ReadLimits(max_calls=2))
    read_output([{"parts": [{"type": "tool_call", "name": f"t{n}"} for n in range(3)]}], many)

    assert [deep.truncated, long.truncated, many.truncated] == [True, True, True]
    assert len(many.calls) == 2


def test_json_nested_without_end_is_no_crash() -> None:
    collector = CallCollector()
    read_output("[" * 100_000, collector)
    read_output("[{" * 50_000, collector)

    assert collector.calls == []


def test_json_is_decoded_at_most_twice() -> None:
    thrice = json.dumps(json.dumps(json.dumps([OPENAI_MESSAGE])))

    assert type(decoded(thrice)) is str
    assert calls_in(thrice) == []
