"""
Whether the answer of an LLM span could be read: design §4 and the dialects reference §5.4, state by state.
"""

import json

import pytest
from dialect_views import span_view

from proto_adapters.call_collector import ReadLimits
from proto_adapters.canonical import Attributes, CompletionState, Problem, SpanStatus
from proto_adapters.read_options import ReadOptions
from proto_adapters.span_read import read_span

CHAT: Attributes = {"gen_ai.operation.name": "chat"}
OI: Attributes = {"openinference.span.kind": "LLM"}
TEXT = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "Done."}]}])
EMPTY = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": ""}]}])
REASONING = json.dumps([{"role": "assistant", "parts": [{"type": "reasoning", "content": "Hm."}]}])
REPR = "[ResponseFunctionToolCall(arguments='{}', name='search')]"
CUT = '[{"role":"assistant","parts":[{"type":"tool_call","na'

State = CompletionState
STATES: list[tuple[str, Attributes, CompletionState]] = [
    ("text", {**CHAT, "gen_ai.output.messages": TEXT}, State.READ),
    ("text and a finish reason", {**CHAT, "gen_ai.output.messages": TEXT, "llm.finish_reason": "stop"}, State.READ),
    ("text elsewhere", {**CHAT, "ai.response.text": "Done."}, State.READ),
    ("structured answer", {**CHAT, "ai.response.object": '{"city":"Oslo"}'}, State.READ),
    ("plain completion", {**CHAT, "gen_ai.completion": "Done."}, State.READ),
    ("answer that is json", {**OI, "llm.output_messages.0.message.content": '{"a": 1}'}, State.READ),
    ("answer in brackets", {**CHAT, "gen_ai.completion": "[sic] done"}, State.READ),
    ("openinference text", {**OI, "llm.output_messages.0.message.content": "Done."}, State.READ),
    (
        "openinference contents",
        {**OI, "llm.output_messages.0.message.contents.0.message_content.text": "Done."},
        State.READ,
    ),
    ("no field, usage", {**CHAT, "gen_ai.usage.output_tokens": 5}, State.HIDDEN),
    ("no field, finish reason", {**CHAT, "gen_ai.response.finish_reasons": ["stop"]}, State.HIDDEN),
    ("no field, response id", {**CHAT, "gen_ai.response.id": "r1"}, State.HIDDEN),
    ("no field, response model", {**CHAT, "gen_ai.response.model": "m"}, State.HIDDEN),
    ("empty text", {**CHAT, "gen_ai.output.messages": EMPTY}, State.HIDDEN),
    ("no messages", {**CHAT, "gen_ai.output.messages": "[]"}, State.HIDDEN),
    ("only reasoning", {**CHAT, "gen_ai.output.messages": REASONING}, State.HIDDEN),
    ("redacted", {**OI, "output.value": "__REDACTED__"}, State.HIDDEN),
    ("wrong type", {**CHAT, "gen_ai.output.messages": 7}, State.HIDDEN),
    (
        "tool finish and only text",
        {**CHAT, "gen_ai.output.messages": TEXT, "gen_ai.response.finish_reasons": ["tool_calls"]},
        State.HIDDEN,
    ),
    ("call as a repr", {**CHAT, "gen_ai.completion": REPR}, State.HIDDEN),
    (
        "call as prose",
        {**CHAT, "gen_ai.completion": "[[ ## next_tool_name ## ]]\nsearch"},
        State.HIDDEN,
    ),
    ("cut", {**CHAT, "gen_ai.output.messages": CUT}, State.TRUNCATED),
    ("cut beside text", {**CHAT, "ai.response.toolCalls": CUT, "ai.response.text": "Done."}, State.TRUNCATED),
    ("moved away", {**CHAT, "gen_ai.output.messages_ref": "s3://x", "gen_ai.usage.output_tokens": 1}, State.REFERENCED),
    ("nothing", CHAT, State.NONE),
    ("only a request", {**CHAT, "gen_ai.request.model": "m", "gen_ai.input.messages": TEXT}, State.NONE),
]


@pytest.mark.parametrize(("attributes", "state"), [case[1:] for case in STATES], ids=[case[0] for case in STATES])
def test_the_state_of_a_completion(attributes: Attributes, state: CompletionState) -> None:
    span = read_span(span_view(attributes))

    assert span.completion is state
    assert (Problem.COMPLETION_HIDDEN in span.problems) != state.is_readable


@pytest.mark.parametrize(
    "reason", ["tool_calls", "tool_call", "tool_use", "tool-calls", "function_call", "toolUse", "TOOL_CALLS"]
)
@pytest.mark.parametrize(
    "key", ["gen_ai.response.finish_reasons", "llm.finish_reason", "anthropic.message.stop_reason"]
)
def test_a_tool_finish_without_a_call_is_hidden_whatever_its_spelling(reason: str, key: str) -> None:
    span = read_span(span_view({**CHAT, key: reason, "ai.response.text": "Done."}))

    assert span.completion is CompletionState.HIDDEN


@pytest.mark.parametrize("value", [["tool_calls"], '["tool_calls"]', "tool_calls"], ids=["array", "json", "text"])
def test_finish_reasons_are_read_as_array_json_or_text(value: list[str] | str) -> None:
    span = read_span(span_view({**CHAT, "gen_ai.response.finish_reasons": value}))  # type: ignore[dict-item]

    assert span.finish_reasons == ("tool_calls",)


def test_a_finish_reason_inside_the_message_counts() -> None:
    messages = '[{"role":"assistant","parts":[{"type":"text","content":"x"}],"finish_reason":"tool_call"}]'

    assert read_span(span_view({**CHAT, "gen_ai.output.messages": messages})).completion is CompletionState.HIDDEN


@pytest.mark.parametrize("attributes", [CHAT, {**CHAT, "gen_ai.output.messages": "[]"}], ids=["no field", "empty"])
def test_a_model_that_failed_before_it_answered_hides_nothing(attributes: Attributes) -> None:
    span = read_span(span_view(attributes, status=SpanStatus.ERROR))

    assert (span.completion, span.problems) == (CompletionState.NONE, ())


def test_llamaindex_preparing_a_request_is_no_answer() -> None:
    history = json.dumps({"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "old"}}]}]})

    span = read_span(span_view({**OI, "output.value": history}, name="OpenAI._prepare_chat_with_tools"))

    assert (span.completion, span.embedded_calls) == (CompletionState.NONE, ())


def test_haystacks_generator_without_content_tracing_is_hidden() -> None:
    assert read_span(span_view(name="haystack.agent.step.llm")).completion is CompletionState.HIDDEN


def test_traceloops_haystack_completion_is_lost() -> None:
    attributes: Attributes = {"llm.request.type": "chat", "gen_ai.completion.0.content": "replies"}

    assert read_span(span_view(attributes)).completion is CompletionState.HIDDEN


def test_a_pending_model_span_has_no_answer_to_hide() -> None:
    attributes: Attributes = {**CHAT, "logfire.span_type": "pending_span", "gen_ai.response.model": "null"}

    assert read_span(span_view(attributes)).completion is CompletionState.NONE


def test_a_cut_field_does_not_matter_once_another_tells_the_calls() -> None:
    attributes: Attributes = {**CHAT, "gen_ai.output.messages": CUT, "gen_ai.completion.0.function_call.name": "search"}

    assert read_span(span_view(attributes)).completion is CompletionState.READ


@pytest.mark.parametrize(
    ("output", "problem"),
    [(CUT, Problem.VALUE_UNDECODABLE), (TEXT, Problem.LIMIT_EXCEEDED)],
    ids=["cut by its producer", "longer than is read"],
)
def test_a_truncated_answer_tells_who_cut_it(output: str, problem: Problem) -> None:
    view = span_view({**CHAT, "gen_ai.output.messages": output})

    span = read_span(view, ReadOptions(limits=ReadLimits(max_length=len(CUT))))

    assert span.completion is CompletionState.TRUNCATED
    assert span.problems == (Problem.COMPLETION_HIDDEN, problem)


def test_the_response_id_is_read_for_joining_repeated_completions() -> None:
    assert read_span(span_view({**CHAT, "gen_ai.response.id": "r1"})).response_id == "r1"
    assert read_span(span_view({**CHAT, "response_id": "null"})).response_id is None


RESULTS: list[tuple[str, Attributes]] = [
    (
        "semconv",
        {"gen_ai.input.messages": '[{"role":"tool","parts":[{"type":"tool_call_response","id":"c1","response":1}]}]'},
    ),
    ("openai", {"gen_ai.input.messages": '[{"role":"tool","tool_call_id":"c1","content":"x"}]'}),
    ("anthropic", {"input.value": '{"messages":[{"content":[{"type":"tool_result","tool_use_id":"c1"}]}]}'}),
    ("bedrock", {"gen_ai.prompt": '[{"content":[{"toolResult":{"toolUseId":"c1","content":[]}}]}]'}),
    ("gemini", {"gcp.vertex.agent.llm_request": '{"contents":[{"parts":[{"function_response":{"id":"c1"}}]}]}'}),
    ("openinference", {"llm.input_messages.3.message.tool_call_id": "c1"}),
    ("traceloop", {"gen_ai.prompt.2.tool_call_id": "c1"}),
    ("responses", {"raw_input": '[{"type":"function_call_output","call_id":"c1","output":"x"}]'}),
    ("vercel", {"ai.prompt.messages": '[{"role":"tool","content":[{"type":"tool-result","toolCallId":"c1"}]}]'}),
    ("genkit", {"genkit:input": '{"messages":[{"content":[{"toolResponse":{"ref":"c1","name":"x"}}]}]}'}),
    ("haystack", {"haystack.agent.step.llm.input": '{"m":[{"tool_call_result":{"origin":{"id":"c1"}}}]}'}),
]


@pytest.mark.parametrize("attributes", [case[1] for case in RESULTS], ids=[case[0] for case in RESULTS])
def test_ids_of_results_in_the_input_are_read_only_if_asked_for(attributes: Attributes) -> None:
    view = span_view({**CHAT, **attributes})

    assert read_span(view).result_call_ids == ()
    assert read_span(view, ReadOptions(read_results=True)).result_call_ids == ("c1",)


def test_ids_of_results_in_tool_message_events_are_read() -> None:
    event: tuple[str, Attributes] = ("gen_ai.tool.message", {"id": "c1", "content": "x"})

    span = read_span(span_view(CHAT, events=[event]), ReadOptions(read_results=True))

    assert span.result_call_ids == ("c1",)


def test_ids_of_requested_calls_are_no_results() -> None:
    requests = (
        '[{"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"x"}}]},{"type":"tool_call","id":"c2"}]'
    )
    view = span_view({**CHAT, "gen_ai.input.messages": requests})

    assert read_span(view, ReadOptions(read_results=True)).result_call_ids == ()
