"""
GenAI log records as completions of LLM spans: dialects reference §5.4, last paragraph.
"""

import json

import pytest
from dialect_views import log_view
from msgspec.structs import replace

from proto_adapters.canonical import Attributes, AttributeValue, CompletionState
from proto_adapters.span_read import read_log

CALL: AttributeValue = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
CHOICE: dict[str, AttributeValue] = {
    "index": 0,
    "finish_reason": "tool_calls",
    "message": {"role": "assistant", "tool_calls": [CALL]},
}
MESSAGES: AttributeValue = [{"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "search"}]}]
ADOT_BODY: AttributeValue = {
    "input": {"messages": [{"role": "user", "content": "x"}]},
    "output": {"messages": [{"role": "assistant", "content": '[{"toolUse":{"name":"search","toolUseId":"c1"}}]'}]},
}
DETAILS = "gen_ai.client.inference.operation.details"

RECORDS: list[tuple[str, str, Attributes, AttributeValue]] = [
    ("choice", "gen_ai.choice", {}, CHOICE),
    ("choice as json", "gen_ai.choice", {}, json.dumps(CHOICE)),
    ("name in an attribute", "", {"event.name": "gen_ai.choice"}, CHOICE),
    ("calls beside the message", "gen_ai.choice", {}, {"index": 0, "message": {}, "tool_calls": [CALL]}),
    ("details, structured", DETAILS, {"gen_ai.output.messages": MESSAGES}, None),
    ("details, json", DETAILS, {"gen_ai.output.messages": json.dumps(MESSAGES)}, None),
    ("details in the body", DETAILS, {}, {"gen_ai.output.messages": MESSAGES}),
    ("adot", "strands.telemetry.tracer", {}, ADOT_BODY),
    ("adot, name in an attribute", "", {"event.name": "strands.telemetry.tracer"}, ADOT_BODY),
]


@pytest.mark.parametrize(("name", "attributes", "body"), [c[1:] for c in RECORDS], ids=[c[0] for c in RECORDS])
def test_a_record_tells_the_calls_of_its_completion(name: str, attributes: Attributes, body: AttributeValue) -> None:
    completion = read_log(log_view(body, event_name=name, attributes=attributes, scope="strands.telemetry.tracer"))

    assert completion is not None
    assert [(call.name, call.call_id) for call in completion.embedded_calls] == [("search", "c1")]
    assert completion.completion is CompletionState.READ


OTHERS: list[tuple[str, AttributeValue]] = [
    ("gen_ai.user.message", {"content": "x"}),
    ("gen_ai.assistant.message", {"tool_calls": [CALL]}),
    ("gen_ai.tool.message", {"content": "x"}),
    ("codex.tool_result", {"_": ""}),
    ("claude_code.tool_result", None),
    ("", "text"),
    ("app.event", {"output": {"messages": MESSAGES}}),
]


@pytest.mark.parametrize(("name", "body"), OTHERS, ids=[case[0] or "nameless" for case in OTHERS])
def test_other_records_tell_nothing(name: str, body: AttributeValue) -> None:
    assert read_log(log_view(body, event_name=name)) is None


@pytest.mark.parametrize("field", ["trace_id", "span_id"])
@pytest.mark.parametrize("missing", [b"", b"\0" * 8])
def test_a_record_of_no_span_tells_nothing(field: str, missing: bytes) -> None:
    assert read_log(replace(log_view(CHOICE, event_name="gen_ai.choice"), **{field: missing})) is None


STATES: list[tuple[str, str, Attributes, AttributeValue, CompletionState]] = [
    ("text", "gen_ai.choice", {}, {"message": {"content": "Done."}}, CompletionState.READ),
    ("no content", "gen_ai.choice", {}, {"index": 0, "message": {}}, CompletionState.HIDDEN),
    ("tool finish", "gen_ai.choice", {}, {"finish_reason": "tool_calls", "message": {}}, CompletionState.HIDDEN),
    ("details without messages", DETAILS, {"gen_ai.response.id": "r"}, None, CompletionState.HIDDEN),
    ("moved", DETAILS, {"gen_ai.output.messages_ref": "s3://x"}, None, CompletionState.REFERENCED),
    ("cut", DETAILS, {"gen_ai.output.messages": '[{"role":"assis'}, None, CompletionState.TRUNCATED),
]


@pytest.mark.parametrize(
    ("name", "attributes", "body", "state"), [case[1:] for case in STATES], ids=[case[0] for case in STATES]
)
def test_a_record_whose_answer_cannot_be_read_says_so(
    name: str, attributes: Attributes, body: AttributeValue, state: CompletionState
) -> None:
    completion = read_log(log_view(body, event_name=name, attributes=attributes))

    assert completion is not None
    assert completion.completion is state


def test_the_index_of_a_choice_is_its_candidate() -> None:
    completion = read_log(log_view({**CHOICE, "index": 2}, event_name="gen_ai.choice"))

    assert completion is not None
    assert completion.embedded_calls[0].candidate == 2


def test_equal_records_have_equal_digests_and_others_not() -> None:
    first = read_log(log_view(CHOICE, event_name="gen_ai.choice"))
    again = read_log(log_view(dict(reversed(CHOICE.items())), event_name="gen_ai.choice"))
    other = read_log(log_view({**CHOICE, "index": 1}, event_name="gen_ai.choice"))

    assert first is not None
    assert again is not None
    assert other is not None
    assert first.digest == again.digest != other.digest
    assert len(first.digest) == 16
