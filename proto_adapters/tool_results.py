"""
Ids of tool calls whose results stand in the input of an LLM span. Pure.

Read only for the order of embedded calls (design §6.2): a call precedes another if its result was known when the other
was asked for. Takes ids of results, never of calls.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from proto_adapters.attribute_values import MAX_JSON_DECODES, clean_call_id, decoded, looks_like_json
from proto_adapters.call_collector import DEFAULT_LIMITS, ReadLimits
from proto_adapters.canonical import AttributeValue
from proto_adapters.dialects.detection import HAS_FLATTENED_INPUT, SpanFacts

INPUT_KEYS: Final = (
    "gen_ai.input.messages",
    "llm.input_messages",
    "gen_ai.prompt",
    "ai.prompt.messages",
    "gcp.vertex.agent.llm_request",
    "langfuse.observation.input",
    "mlflow.spanInputs",
    "genkit:input",
    "haystack.agent.step.llm.input",
    "haystack.component.input",
    "events",
    "raw_input",
    "request_data",
    "braintrust.input_json",
    "lmnr.span.input",
    "lk.chat_ctx",
    "traceloop.entity.input",
    "input.value",
)
_INPUT_EVENTS: Final = frozenset({"gen_ai.tool.message", "gen_ai.client.inference.operation.details"})
_FLATTENED_LEAVES: Final = (".tool_call_id", ".tool_result.id")
_FLATTENED_PREFIXES: Final = ("llm.input_messages.", "gen_ai.prompt.", "gen_ai.input.messages.")
_TYPED: Final[Mapping[str, str]] = {
    "tool_call_response": "id",
    "server_tool_call_response": "id",
    "tool_result": "tool_use_id",
    "mcp_tool_result": "tool_use_id",
    "web_search_tool_result": "tool_use_id",
    "function_call_output": "call_id",
    "custom_tool_call_output": "call_id",
    "tool-result": "toolCallId",
    "toolResult": "toolUseId",
}
_WRAPPED: Final[Mapping[str, str]] = {
    "toolResult": "toolUseId",
    "functionResponse": "id",
    "function_response": "id",
    "toolResponse": "ref",
}


def read_result_ids(facts: SpanFacts, limits: ReadLimits = DEFAULT_LIMITS) -> tuple[str, ...]:
    """
    The ids of results in the input of the span, each once, in the order they stand there.
    """
    found: dict[str, None] = {}
    for key in INPUT_KEYS:
        if key in facts.keys:
            found.update(dict.fromkeys(_ids_in(facts.value(key), limits, 0, MAX_JSON_DECODES)))
    if facts.marks & HAS_FLATTENED_INPUT:
        found.update(dict.fromkeys(_flattened_ids(facts)))
    for event in facts.view.events:
        if event.name in _INPUT_EVENTS:
            body = {key: value for key, value in event.attributes.items() if key != "gen_ai.output.messages"}
            if event.name == "gen_ai.tool.message":
                found.update(dict.fromkeys(_valid(body.get("id"))))
            found.update(dict.fromkeys(_ids_in(body, limits, 0, MAX_JSON_DECODES)))
    return tuple(found)


def _flattened_ids(facts: SpanFacts) -> Iterator[str]:
    for key in sorted(facts.keys):
        if key.startswith(_FLATTENED_PREFIXES) and key.endswith(_FLATTENED_LEAVES):
            yield from _valid(facts.value(key))


def _ids_in(value: AttributeValue, limits: ReadLimits, depth: int, decodes: int) -> Iterator[str]:
    if depth > limits.max_depth:
        return
    if type(value) is str:
        if decodes > 0 and looks_like_json(value) and len(value) <= limits.max_length:
            structure = decoded(value, 1)
            if structure is not value:
                yield from _ids_in(structure, limits, depth + 1, decodes - 1)
    elif isinstance(value, dict):
        yield from _ids_of(value)
        for inner in value.values():
            yield from _ids_in(inner, limits, depth + 1, decodes)
    elif isinstance(value, list):
        for inner in value:
            yield from _ids_in(inner, limits, depth + 1, decodes)


def _ids_of(node: Mapping[str, AttributeValue]) -> Iterator[str]:
    kind = node.get("type")
    if type(kind) is str and kind in _TYPED:
        yield from _valid(node.get(_TYPED[kind]))
    elif node.get("role") == "tool" and "id" in node and "tool_call_id" not in node:
        yield from _valid(node.get("id"))
    # A message that answers a call, whatever its form; call requests have an `id` of their own.
    if "tool_kwargs" not in node and node.get("block_type") != "tool_call":
        yield from _valid(node.get("tool_call_id"))
    for key, id_key in _WRAPPED.items():
        inner = node.get(key)
        if isinstance(inner, dict):
            yield from _valid(inner.get(id_key))
    result = node.get("tool_call_result")
    origin = result.get("origin") if isinstance(result, dict) else None
    if isinstance(origin, dict):
        yield from _valid(origin.get("id"))


def _valid(value: AttributeValue) -> Iterator[str]:
    call_id = clean_call_id(value)
    if call_id is not None:
        yield call_id
