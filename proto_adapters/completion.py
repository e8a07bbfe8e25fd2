"""
The completion of an LLM span: which output fields are read, in which order, and whether the answer could be read. Pure.

Fields are read until one yields a call; text found on the way counts as an answer (design §4, reference §5.4). Never
called for spans of another kind: agents, chains and tools repeat answers that are not theirs.
"""

from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from proto_adapters.attribute_values import decoded, text_of
from proto_adapters.call_collector import DEFAULT_LIMITS, CallCollector, ReadLimits
from proto_adapters.canonical import AttributeValue, CompletionState, EmbeddedCall, SpanStatus
from proto_adapters.dialects.detection import (
    HAS_ANSWER_SIGN,
    HAS_FLATTENED_COMPLETION,
    HAS_FLATTENED_OUTPUT,
    HAS_OPENINFERENCE_OUTPUT,
    MOVED_AWAY,
    SpanFacts,
)
from proto_adapters.dialects.logfire import SPAN_TYPE
from proto_adapters.embedded_calls import read_output
from proto_adapters.flattened_calls import gather, read_messages
from proto_adapters.offered_tools import offered_tools
from proto_adapters.standard_messages import read_standard_messages

TOOL_FINISHES: Final = frozenset({"toolcalls", "toolcall", "tooluse", "functioncall"})
"""Finish reasons that say a call was asked for, in lower case and without separators."""


class Completion(Struct, frozen=True):
    """
    What is known of the answer of one LLM span.
    """

    state: CompletionState
    calls: tuple[EmbeddedCall, ...] = ()
    finish_reasons: tuple[str, ...] = ()
    detail: str = ""
    """Why an answer cannot be read."""
    is_over_limit: bool = False
    """Of a truncated answer: it is longer, deeper or has more calls than is read."""


FieldReader = Callable[[SpanFacts, CallCollector], bool]
"""Reads one output field; False if the span does not have it."""


class OutputField(Struct, frozen=True):
    """
    One place where an answer may stand, and what a span must have for a look to be worth while: a key, keys of a sort
    (`mark`), or any event.
    """

    source: str
    read: FieldReader
    key: str = ""
    mark: int = 0


# ---- readers of one field each ----


def _attribute(key: str, *, is_call_list: bool = False) -> FieldReader:
    def read(facts: SpanFacts, collector: CallCollector) -> bool:
        if key not in facts.keys:
            return False
        read_output(facts.value(key), collector, is_call_list=is_call_list)
        return True

    return read


_MESSAGES: Final = "gen_ai.output.messages"


def _output_messages(facts: SpanFacts, collector: CallCollector) -> bool:
    """
    The convention's messages; what only resembles them is read like any other field.
    """
    value = facts.value(_MESSAGES)
    if type(value) is not str or not read_standard_messages(value, collector):
        read_output(value, collector)
    return True


def _said(key: str) -> FieldReader:
    """
    A field that holds what the model said, in whatever form, and never a call.
    """

    def read(facts: SpanFacts, collector: CallCollector) -> bool:
        value = facts.value(key)
        if type(value) is str:
            collector.note_text(value)
        return key in facts.keys

    return read


def _flattened(mark: int, prefix: str) -> FieldReader:
    def read(facts: SpanFacts, collector: CallCollector) -> bool:
        if not facts.marks & mark:
            return False
        messages = gather(facts.attributes, facts.keys, prefix)
        read_messages(messages, collector, is_one_message=facts.scope == "litellm")
        return bool(messages)

    return read


def _event(name: str, *keys: str) -> FieldReader:
    """
    The attributes at *keys* of span events.
    """

    def read(facts: SpanFacts, collector: CallCollector) -> bool:
        found = False
        for event in facts.view.events:
            for key in keys if event.name == name else ():
                if key in event.attributes:
                    found = True
                    read_output(event.attributes[key], collector)
        return found

    return read


_CHOICE_STRUCTURES: Final = ("message", "gen_ai.event.content")


def _choice_events(facts: SpanFacts, collector: CallCollector) -> bool:
    """
    Span events `gen_ai.choice`: a message as JSON text, or the body of the choice spread over attributes.
    """
    found = False
    for event in facts.view.events:
        if event.name == "gen_ai.choice":
            found = True
            body = {key: value for key, value in event.attributes.items() if key not in _CHOICE_STRUCTURES}
            for key in _CHOICE_STRUCTURES:
                if key in event.attributes:
                    read_output(event.attributes[key], collector)
            read_output(body, collector)
    return found


_read_azure_events: Final = _event("gen_ai.assistant.message", "gen_ai.event.content")


def _choices_of_events(facts: SpanFacts, collector: CallCollector) -> bool:
    """
    The attribute `events` (Pydantic AI 1, Logfire) mixes input and output: only choices are output.
    """
    if "events" not in facts.keys:
        return False
    events = decoded(facts.value("events"))
    choices = [event for event in events if _is_choice(event)] if isinstance(events, list) else []
    for choice in choices:
        read_output(choice, collector)
    return bool(choices)


def _is_choice(event: AttributeValue) -> bool:
    return isinstance(event, dict) and event.get("event.name") == "gen_ai.choice"


def _azure_messages(facts: SpanFacts, collector: CallCollector) -> bool:
    """
    `gen_ai.assistant.message` events, which are output at Azure and input everywhere else.
    """
    if not facts.is_dialect("azure_ai_foundry"):
        return False
    return _read_azure_events(facts, collector)


_READ_OUTPUT_VALUE: Final = _attribute("output.value")
_READ_ENTITY_OUTPUT: Final = _attribute("traceloop.entity.output")


def _output_value(facts: SpanFacts, collector: CallCollector) -> bool:
    """
    OpenInference's whole answer, if the messages beside it told nothing (BeeAI writes calls only here).
    """
    if not facts.is_dialect("openinference") or collector.has_text:
        return False
    return _READ_OUTPUT_VALUE(facts, collector)


def _entity_output(facts: SpanFacts, collector: CallCollector) -> bool:
    return facts.is_dialect("traceloop") and _READ_ENTITY_OUTPUT(facts, collector)


def _comma_lists(facts: SpanFacts, collector: CallCollector) -> bool:
    """
    OpenLIT's comma lists on a chat span: names, and ids if there are as many.
    """
    names = facts.text("gen_ai.tool.name")
    if names is None or not facts.is_dialect("openlit"):
        return False
    parts = [name.strip() for name in names.split(",")]
    ids = [call_id.strip() for call_id in (facts.text("gen_ai.tool.call.id") or "").split(",")]
    for position, name in enumerate(parts):
        collector.note_call(name, ids[position] if len(ids) == len(parts) else None)
    return True


def _at(key: str, *, is_call_list: bool = False) -> OutputField:
    return OutputField(key, _attribute(key, is_call_list=is_call_list), key)


def _below(mark: int, key: str) -> OutputField:
    return OutputField(key, _flattened(mark, f"{key}."), mark=mark)


_DETAILS: Final = "gen_ai.client.inference.operation.details"
_CONTENT: Final = "gen_ai.content.completion"

OUTPUT_FIELDS: Final[tuple[OutputField, ...]] = (
    OutputField(_MESSAGES, _output_messages, _MESSAGES),
    _below(HAS_FLATTENED_OUTPUT, _MESSAGES),
    OutputField(_DETAILS, _event(_DETAILS, "gen_ai.output.messages")),
    _below(HAS_OPENINFERENCE_OUTPUT, "llm.output_messages"),
    _at("llm.output_messages"),
    _below(HAS_FLATTENED_COMPLETION, "gen_ai.completion"),
    OutputField("gen_ai.choice", _choice_events),
    OutputField("events", _choices_of_events, "events"),
    _at("ai.response.toolCalls", is_call_list=True),
    _at("ai.result.toolCalls", is_call_list=True),
    _at("gcp.vertex.agent.llm_response"),
    _at("langfuse.observation.output"),
    _at("mlflow.spanOutputs"),
    _at("gen_ai.completion"),
    OutputField(_CONTENT, _event(_CONTENT, "gen_ai.completion")),
    _at("haystack.agent.step.llm.output"),
    _at("haystack.component.output"),
    _at("response"),
    _at("response_data"),
    _at("genkit:output"),
    OutputField("gen_ai.assistant.message", _azure_messages),
    _at("gen_ai.response.tool_calls", is_call_list=True),
    _at("lk.response.function_calls", is_call_list=True),
    _at("llm.function_call", is_call_list=True),
    OutputField("output.value", _output_value, "output.value"),
    OutputField("traceloop.entity.output", _entity_output, "traceloop.entity.output"),
    _at("braintrust.output_json"),
    _at("mastra.model_generation.output"),
    _at("lmnr.span.output"),
    OutputField("gen_ai.tool.name", _comma_lists, "gen_ai.tool.name"),
    OutputField("ai.response.text", _said("ai.response.text"), "ai.response.text"),
    OutputField("ai.response.object", _said("ai.response.object"), "ai.response.object"),
    OutputField("ai.result.text", _said("ai.result.text"), "ai.result.text"),
    OutputField("lk.response.text", _said("lk.response.text"), "lk.response.text"),
    OutputField("response.model_output", _said("response.model_output"), "response.model_output"),
)
"""The output fields in the order of the reference, then fields that only tell that something was said."""

_PLACES_BY_KEY: Final = {field.key: place for place, field in enumerate(OUTPUT_FIELDS) if field.key}
_PLACES_BY_MARK: Final = [(field.mark, place) for place, field in enumerate(OUTPUT_FIELDS) if field.mark]
_PLACES_OF_EVENTS: Final = [place for place, field in enumerate(OUTPUT_FIELDS) if not field.key and not field.mark]
_OUTPUT_KEYS: Final = frozenset(_PLACES_BY_KEY)
_OUTPUT_MARKS: Final = HAS_FLATTENED_COMPLETION | HAS_FLATTENED_OUTPUT | HAS_OPENINFERENCE_OUTPUT


def _fields_in(facts: SpanFacts) -> list[OutputField]:
    """
    The fields that the span may have, in their order. A span has few of them.
    """
    places = [_PLACES_BY_KEY[key] for key in facts.keys & _OUTPUT_KEYS]
    if facts.marks & _OUTPUT_MARKS:
        places += [place for mark, place in _PLACES_BY_MARK if facts.marks & mark]
    if facts.view.events:
        places += _PLACES_OF_EVENTS
    return [OUTPUT_FIELDS[place] for place in sorted(places)]


# ---- the completion ----


def read_completion(
    facts: SpanFacts,
    status: SpanStatus,
    *,
    keep_arguments: bool = False,
    limits: ReadLimits = DEFAULT_LIMITS,
) -> Completion:
    """
    The completion of a span of kind LLM.
    """
    if _is_preparation(facts):
        return Completion(CompletionState.NONE)
    collector = CallCollector(keep_arguments=keep_arguments, limits=limits, offered=lambda: offered_tools(facts))
    has_field = _read_fields(facts, collector)
    reasons = tuple(dict.fromkeys((*_finish_reasons(facts), *collector.finish_reasons)))
    state, detail = _state(facts, collector, reasons, status, has_field=has_field)
    return Completion(state, tuple(collector.calls), reasons, detail, is_over_limit=collector.over_limit)


def _read_fields(facts: SpanFacts, collector: CallCollector) -> bool:
    """
    Read output fields until one yields a call; whether any is there at all.

    What was cut or lost in earlier fields does not matter once a later one tells the calls.
    """
    has_field = truncated = lost_calls = False
    for field in _fields_in(facts):
        collector.source, collector.truncated, collector.lost_calls = field.source, False, False
        has_field = field.read(facts, collector) or has_field
        if collector.calls:
            return True
        truncated, lost_calls = truncated or collector.truncated, lost_calls or collector.lost_calls
    collector.truncated, collector.lost_calls = truncated, lost_calls
    return has_field


def _is_preparation(facts: SpanFacts) -> bool:
    """
    LlamaIndex's `_prepare_chat_with_tools` is marked LLM and asks no model; its output is the request.
    """
    return facts.view.name.endswith("._prepare_chat_with_tools")


def asks_for_a_tool(reasons: tuple[str, ...]) -> bool:
    """
    Whether a finish reason says that a call was asked for.
    """
    return any(reason.strip().lower().replace("-", "").replace("_", "") in TOOL_FINISHES for reason in reasons)


def _state(
    facts: SpanFacts,
    collector: CallCollector,
    reasons: tuple[str, ...],
    status: SpanStatus,
    *,
    has_field: bool,
) -> tuple[CompletionState, str]:
    told = told_state(collector, reasons)
    if told is not None:
        return told
    if facts.marks & MOVED_AWAY and not collector.has_text:
        return CompletionState.REFERENCED, "the messages were moved elsewhere"
    if collector.has_text:
        return CompletionState.READ, ""
    if facts.text(SPAN_TYPE) == "pending_span":
        return CompletionState.NONE, ""
    answered = bool(facts.marks & HAS_ANSWER_SIGN) or bool(reasons)
    failed = status is SpanStatus.ERROR
    if answered or ((has_field or _hides_silently(facts)) and not failed):
        return CompletionState.HIDDEN, "a model answered and no call or text can be read"
    return CompletionState.NONE, ""


def told_state(collector: CallCollector, reasons: tuple[str, ...]) -> tuple[CompletionState, str] | None:
    """
    The state that calls, or the lack of a call that must be there, tell by themselves.
    """
    if collector.truncated:
        detail = "an output value is over the limits" if collector.over_limit else "an output value does not decode"
        return CompletionState.TRUNCATED, detail
    if collector.lost_calls:
        return CompletionState.HIDDEN, "calls are there that have no name or cannot be told apart"
    if collector.calls:
        return CompletionState.READ, ""
    if asks_for_a_tool(reasons):
        return CompletionState.HIDDEN, "the finish reason tells a call and none can be read"
    return None


def _hides_silently(facts: SpanFacts) -> bool:
    """
    Haystack without content tracing leaves no sign of an answer at all on a generator that ran.
    """
    return facts.is_dialect("haystack")


_FINISH_KEYS: Final = (
    "gen_ai.response.finish_reasons",
    "gen_ai.response.finish_reason",
    "llm.finish_reason",
    "llm.response.finish_reason",
    "ai.response.finishReason",
    "ai.finishReason",
    "anthropic.message.stop_reason",
    "stop_reason",
)
_FINISH_SET: Final = frozenset(_FINISH_KEYS)


def _finish_reasons(facts: SpanFacts) -> Iterator[str]:
    """
    Finish reasons that stand as attributes: an array, the JSON of one (Agent Framework, Mastra), or one text.
    """
    present = facts.keys & _FINISH_SET
    for key in _FINISH_KEYS if present else ():
        if key in present:
            value = decoded(facts.value(key), 1)
            for reason in value if isinstance(value, list) else [value]:
                if (text := text_of(reason)) is not None:
                    yield text


_RESPONSE_ID_KEYS: Final = ("gen_ai.response.id", "ai.response.id", "llm.response.id", "response_id")


def read_response_id(facts: SpanFacts) -> str | None:
    """
    The id of the provider's response, by which spans of one completion are joined.
    """
    for key in _RESPONSE_ID_KEYS:
        if key in facts.keys:
            response_id = facts.text(key)
            if response_id not in (None, "null", "None"):
                return response_id
    return None
