"""
What a TOOL span tells of its call: name, id, arguments, and the MCP request behind it. Pure.

Reference §5.3, names by the rules N1 to N3 of §6.
"""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from xxhash import xxh3_128_digest

from proto_adapters.attribute_values import clean_call_id, clean_name, decoded, identifier_of, text_of
from proto_adapters.canonical import AttributeValue
from proto_adapters.dialects.detection import DIALECT_BITS, SpanFacts
from proto_adapters.dialects.dialect import WHOLE_NAME, inside
from proto_adapters.dialects.openinference import tool_name_in_span as openinference_tool_name
from proto_adapters.dialects.registry import DIALECTS
from proto_adapters.span_fields import SPAN_NAME
from proto_adapters.span_kind import KindDecision, beeai_tool_name

# ---- tool name ----


class ToolName(Struct, frozen=True):
    """
    The name of a tool, as it was written, and the key it was read from.
    """

    name: str | None = None
    raw: str | None = None
    key: str | None = None
    conflict: str | None = None
    """Both names, where two keys tell different ones: no call then (decision D21)."""
    unreadable_key: str | None = None
    """A key of a name whose value is no text."""


NameReader = Callable[[SpanFacts], str | None]

_DECORATOR_SCOPES: Final = ("traceloop.tracer", "@traceloop/node-server-sdk")


def _entity_name(facts: SpanFacts) -> str | None:
    """
    Traceloop's entity name; its decorators write the function's qualified name, of which the last part is the tool's.
    """
    if facts.text("traceloop.span.kind") != "tool":
        return None
    name = facts.text("traceloop.entity.name")
    if name is not None and facts.scope in _DECORATOR_SCOPES:
        return name.rpartition(".<locals>.")[2].rpartition(".")[2]
    return name


def _component_key(facts: SpanFacts) -> str | None:
    """
    FastMCP's component key: `tool:x@version`.
    """
    key = facts.text("fastmcp.component.key")
    if key is None or not key.startswith("tool:"):
        return None
    return key.removeprefix("tool:").rpartition("@")[0].strip() or key.removeprefix("tool:").strip()


def _only_if(dialect_id: str, key: str) -> NameReader:
    bit = DIALECT_BITS[dialect_id]
    return lambda facts: facts.text(key) if facts.marks & bit else None


def _plain(key: str) -> NameReader:
    return lambda facts: facts.text(key)


def _logfire_name(facts: SpanFacts) -> str | None:
    return facts.text("name") if facts.scope == "logfire.openai_agents" else None


def _logfire_request(facts: SpanFacts) -> str | None:
    """
    The tool's name in the JSON-RPC request that Logfire's MCP integration writes.
    """
    request = decoded(facts.value("request")) if facts.scope.startswith("logfire") else None
    parameters = request.get("params") if isinstance(request, dict) else None
    return text_of(parameters.get("name")) if isinstance(parameters, dict) else None


TOOL_NAME_READERS: Final[tuple[tuple[str, NameReader], ...]] = (
    ("tool.name", _plain("tool.name")),
    ("gen_ai.tool.name", _plain("gen_ai.tool.name")),
    ("ai.toolCall.name", _plain("ai.toolCall.name")),
    ("spring.ai.tool.definition.name", _plain("spring.ai.tool.definition.name")),
    ("traceloop.entity.name", _entity_name),
    ("haystack.tool.name", _plain("haystack.tool.name")),
    ("genkit:name", _plain("genkit:name")),
    ("tool_name", _plain("tool_name")),
    ("name", _logfire_name),
    ("mcp.tool.name", _plain("mcp.tool.name")),
    ("lk.function_tool.name", _plain("lk.function_tool.name")),
    ("langsmith.trace.name", _plain("langsmith.trace.name")),
    ("fastmcp.component.key", _component_key),
    ("n8n.node.name", _plain("n8n.node.name")),
    ("tool_call.function.name", _plain("tool_call.function.name")),
    ("operation.name", _only_if("agentops", "operation.name")),
    ("request", _logfire_request),
)
_TOOL_NAME_KEYS: Final = frozenset(key for key, _ in TOOL_NAME_READERS)
_CONVENTIONAL_KEYS: Final = ("tool.name", "gen_ai.tool.name")
"""Keys that hold the name of a tool and nothing else, whoever wrote the span."""


def read_tool_name(facts: SpanFacts, decision: KindDecision) -> ToolName:
    """
    The name of the tool of a TOOL span.
    """
    if facts.keys.isdisjoint(_TOOL_NAME_KEYS):
        return _name_in_span(facts, decision)
    for key, reader in TOOL_NAME_READERS:
        if key in facts.keys and (raw := reader(facts)) is not None and (name := clean_name(raw)) is not None:
            return _checked(facts, ToolName(name, facts.text(key), key))
    unreadable = next((key for key in _CONVENTIONAL_KEYS if _is_no_text(facts, key)), None)
    return replace(_name_in_span(facts, decision), unreadable_key=unreadable)


def _is_no_text(facts: SpanFacts, key: str) -> bool:
    return key in facts.keys and not isinstance(facts.value(key), str | None)


def _checked(facts: SpanFacts, found: ToolName) -> ToolName:
    """
    *found*, or a conflict if `tool.name` and `gen_ai.tool.name` tell different names.
    """
    if found.key != "tool.name" or "gen_ai.tool.name" not in facts.keys:
        return found
    other = clean_name(facts.value("gen_ai.tool.name"))
    if other is None or other == found.name:
        return found
    return ToolName(None, found.raw, found.key, f"tool.name is {found.name!r}, gen_ai.tool.name is {other!r}")


def _name_in_span(facts: SpanFacts, decision: KindDecision) -> ToolName:
    """
    The name by the affixes of the span's dialects (rule N2). A name that is lost is not looked for (C12).
    """
    if decision.rule == "C12":
        return ToolName()
    for template in _templates(facts, decision):
        for text in _span_texts(facts):
            name = clean_name(inside(template, text.strip()))
            if name is not None:
                return ToolName(name, text, SPAN_NAME if text == facts.view.name else "logfire.msg")
    if (name := beeai_tool_name(facts.view.name)) is not None and "beeai" in facts.scope:
        return ToolName(name, facts.view.name, SPAN_NAME)
    return ToolName()


def _span_texts(facts: SpanFacts) -> tuple[str, ...]:
    """
    The span name, or Logfire's message where the span name is only the template of it.
    """
    message = facts.text("logfire.msg")
    name = facts.view.name
    if message is None:
        return () if "{" in name and facts.scope.startswith("logfire") else (name,)
    return (message,) if "{" in name else (name, message)


def _templates(facts: SpanFacts, decision: KindDecision) -> tuple[str, ...]:
    """
    Affixes first, the whole span name last: a decorated name must not pass as a plain one.
    """
    found: list[str] = []
    for dialect in DIALECTS:
        if facts.marks & DIALECT_BITS[dialect.id]:
            own = dialect.id == decision.dialect
            found += [form for form in dialect.tool_name_in_span if own or form != WHOLE_NAME]
    if decision.dialect == "openinference":
        found += openinference_tool_name(facts.scope)
    if facts.scope.startswith("logfire"):
        found.append("Function: {}")
    return tuple(sorted(dict.fromkeys(found), key=WHOLE_NAME.__eq__))


# ---- identifiers ----

CALL_ID_KEYS: Final = (
    "gen_ai.tool.call.id",
    "gen_ai.tool.call_id",
    "tool_call.id",
    "tool.call_id",
    "tool.id",
    "ai.toolCall.id",
    "spring.ai.tool.call.id",
    "tool_use_id",
    "call_id",
    "lk.function_tool.id",
    "tool.call.id",
)
_CALL_ID_SET: Final = frozenset(CALL_ID_KEYS)


def read_call_id(facts: SpanFacts, name: str | None) -> str | None:
    """
    The id of the call of a TOOL span.
    """
    if facts.keys.isdisjoint(_CALL_ID_SET):
        return None
    for key in CALL_ID_KEYS:
        if key in facts.keys and (key != "call_id" or "tool_name" in facts.keys):
            call_id = clean_call_id(facts.value(key), name or "")
            if call_id is not None:
                return call_id
    return None


# ---- arguments ----

ARGUMENT_KEYS: Final = (
    "gen_ai.tool.call.arguments",
    "tool_arguments",
    "ai.toolCall.args",
    "spring.ai.tool.call.arguments",
    "gcp.vertex.agent.tool_call_args",
    "haystack.agent.step.tool.input",
    "mlflow.spanInputs",
    "langfuse.observation.input",
    "genkit:input",
    "lmnr.span.input",
    "lk.function_tool.arguments",
    "braintrust.input_json",
    "agentops.tool.input",
    "tool.arguments",
    "gen_ai.tool.args",
    "traceloop.entity.input",
    "tool_call.function.arguments",
    "tool.parameters",
    "arguments",
    "input",
    "input.value",
    "gen_ai.prompt",
)
_ARGUMENT_SET: Final = frozenset(ARGUMENT_KEYS)


def read_arguments(facts: SpanFacts) -> dict[str, AttributeValue] | None:
    """
    The arguments of the call of a TOOL span, unwrapped; `None` if none are told as an object.
    """
    if facts.keys.isdisjoint(_ARGUMENT_SET):
        return None
    for key in ARGUMENT_KEYS:
        if key in facts.keys:
            value = decoded(facts.value(key))
            if isinstance(value, dict) and not _is_schema(value):
                return _unwrapped(value)
    return None


def _is_schema(value: Mapping[str, AttributeValue]) -> bool:
    """
    Whether *value* describes parameters: some instrumentors write the tool's schema where others write arguments.
    """
    return value.get("type") == "object" or isinstance(value.get("properties"), dict) or "def" in value


_WRAPPED_IN: Final = ("kwargs", "tool_input", "inputs", "arguments", "args")


def _unwrapped(value: dict[str, AttributeValue]) -> dict[str, AttributeValue] | None:
    """
    Arguments without the envelope of a decorator (`args`, `kwargs`) or a callback (`inputs` beside `input_str`).
    """
    if "input_str" in value or {"args", "kwargs"} & value.keys() or {"params"} == value.keys():
        for key in _WRAPPED_IN:
            inner = decoded(value.get(key), 1)
            if isinstance(inner, dict) and inner:
                return inner
        return None
    return value


_in_key_order = msgspec.json.Encoder(order="deterministic")


def arguments_digest(arguments: dict[str, AttributeValue] | None) -> bytes | None:
    """
    A digest that is equal for equal arguments, whatever the order of their keys.
    """
    if arguments is None:
        return None
    try:
        canonical = _in_key_order.encode(arguments)
    except (TypeError, ValueError, RecursionError):
        return None
    return xxh3_128_digest(canonical)


# ---- MCP ----

_MCP_SERVER_KEYS: Final = (
    "mcp.server.name",
    "litellm.mcp.server.name",
    "anthropic.mcp.server.name",
    "fastmcp.server.name",
    "mcp_server",
)
_REQUEST_ID_KEYS: Final = ("jsonrpc.request.id", "rpc.jsonrpc.request_id")
MCP_KEYS: Final = frozenset({*_MCP_SERVER_KEYS, *_REQUEST_ID_KEYS, "mcp.session.id", "mcp.method.name"})


def first_identifier(facts: SpanFacts, keys: tuple[str, ...]) -> str | None:
    """
    The first usable identifier at *keys*.
    """
    return next((found for key in keys if (found := identifier_of(facts.value(key))) is not None), None)


def read_mcp_server(facts: SpanFacts) -> str | None:
    return first_identifier(facts, _MCP_SERVER_KEYS)


def read_mcp_request_id(facts: SpanFacts) -> str | None:
    return first_identifier(facts, _REQUEST_ID_KEYS)
