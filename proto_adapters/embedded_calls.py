"""
Tool calls that a model asked for, found in the decoded output of an LLM span: one tolerant walker over all shapes.

Give it output fields only: what a model was told (history, offered tools) holds calls that are none of this
completion. Pure, linear in the size of the value, never raises. Shapes: reference §5.4.
"""

import re
from collections.abc import Mapping
from typing import Final

from proto_adapters.attribute_values import MAX_JSON_DECODES, decode_json, decoded, looks_like_json, text_of
from proto_adapters.call_collector import CallCollector, ExecutedBy
from proto_adapters.canonical import AttributeValue

Node = Mapping[str, AttributeValue]


REJECTED_ROLES: Final = frozenset({"user", "human", "system", "developer", "tool", "function"})
_REJECTED_TYPES: Final = frozenset(
    {
        "human",
        "user",
        "system",
        "developer",
        "tool",
        "tool_call_response",
        "server_tool_call_response",
        "tool_result",
        "mcp_tool_result",
        "tool-result",
        "toolResult",
        "function_call_output",
        "custom_tool_call_output",
        "reasoning",
        "thinking",
        "redacted_thinking",
    }
)
"""LangChain tells the role by `type`; results and reasoning are no part of an answer."""

_CONTAINERS: Final = (
    "output",
    "outputs",
    "message",
    "messages",
    "generations",
    "data",
    "kwargs",
    "response",
    "update",
    "parts",
    "blocks",
    "delta",
    "gen_ai.event.content",
)
_ALTERNATIVES: Final = ("choices", "candidates", "replies")
_TEXTS: Final = ("content", "_content", "text", "refusal")
_CALL_LISTS: Final = ("tool_calls", "toolCalls")
_PLACES: Final[Mapping[str, str]] = {
    **dict.fromkeys(_CONTAINERS + _TEXTS, "inside"),
    **dict.fromkeys(_ALTERNATIVES, "alternatives"),
    **dict.fromkeys(_CALL_LISTS, "calls"),
}
_WRAPPERS: Final = ("functionCall", "function_call", "toolUse", "toolRequest", "tool_call")
_TYPES: Final[Mapping[str, ExecutedBy]] = {
    "tool_call": "client",
    "tool-call": "client",
    "function_call": "client",
    "custom_tool_call": "client",
    "tool_use": "client",
    "toolUse": "client",
    "toolCall": "client",
    "server_tool_call": "provider",
    "server_tool_use": "provider",
    "mcp_tool_use": "provider",
    "mcp_call": "provider",
}
_NAMES: Final = ("name", "tool_name", "toolName")
_IDS: Final = ("call_id", "toolCallId", "tool_call_id", "toolUseId", "ref", "id")
_ARGUMENTS: Final = ("arguments", "args", "input", "toolInput", "tool_kwargs", "parameters")
_STRUCTURE: Final = re.compile(r"""\s*(?:\[\s*[{"]|\{\s*["'])""")
_BLOCKS: Final = re.compile(r"""\s*\[\s*\{\s*["']""")
_FINISHES: Final = ("finish_reason", "finishReason", "stop_reason", "stopReason")


def read_output(
    value: AttributeValue,
    collector: CallCollector,
    *,
    is_call_list: bool = False,
) -> None:
    """
    Tell *collector* the calls and the text of one output field; with *is_call_list* the field is a bare list of calls.
    """
    collector.candidate = 0
    if type(value) is str:
        _Walk(collector, MAX_JSON_DECODES - 1).field_text(value, is_call_list=is_call_list)
    else:
        _Walk(collector, MAX_JSON_DECODES).field(value, is_call_list=is_call_list)


class _Walk:
    """
    One walk over one output field.
    """

    __slots__ = ("collector", "decodes", "limits")

    def __init__(self, collector: CallCollector, decodes: int) -> None:
        self.collector = collector
        self.limits = collector.limits
        self.decodes = decodes

    def field_text(self, text: str, *, is_call_list: bool) -> None:
        """
        A field that is text: JSON, JSON that was cut, or the answer itself.
        """
        if text_of(text) is None:
            return
        if not looks_like_json(text):
            self.collector.note_text(text)
        elif len(text) > self.limits.max_length:
            self.collector.note_over_limit()
        else:
            self._field_json(text, is_call_list=is_call_list)

    def _field_json(self, text: str, *, is_call_list: bool) -> None:
        try:
            value = decode_json(text)
        except ValueError:
            self.undecodable(text)
            return
        if type(value) is str:
            self.decodes -= 1
            value = decoded(value, 1)
        self.field(value, is_call_list=is_call_list)

    def undecodable(self, text: str) -> None:
        """
        Text that begins like JSON and is none: a structure that was cut, or prose in brackets.
        """
        if _STRUCTURE.match(text):
            self.collector.truncated = True
        else:
            self.collector.note_text(text)

    def field(self, value: AttributeValue, *, is_call_list: bool) -> None:
        """
        A decoded field. Each message of a list is one candidate.
        """
        if isinstance(value, list) and not is_call_list:
            for position, message in enumerate(value):
                if isinstance(message, dict) and not message.keys().isdisjoint(("role", "parts", "message")):
                    self.collector.candidate = position
                self.node(message, 1)
        else:
            self.node(value, 0, is_call_list=is_call_list)

    def node(self, value: AttributeValue, depth: int, *, is_call_list: bool = False) -> None:
        if depth > self.limits.max_depth:
            self.collector.note_over_limit()
        elif isinstance(value, dict):
            self.mapping(value, depth, is_call_list=is_call_list)
        elif isinstance(value, list):
            for item in value:
                self.node(item, depth + 1, is_call_list=is_call_list)
        elif type(value) is str and not is_call_list:
            self.nested_text(value, depth)

    def nested_text(self, text: str, depth: int) -> None:
        """
        Text inside a structure: JSON of content blocks (ADOT, Strands), or what the model said.
        """
        if self.decodes > 0 and looks_like_json(text) and len(text) <= self.limits.max_length:
            value = decoded(text, 1)
            if isinstance(value, list | dict):
                self.decodes -= 1
                calls = len(self.collector.calls)
                self.node(value, depth + 1)
                self.decodes += 1
                if len(self.collector.calls) > calls:
                    return
            elif _BLOCKS.match(text):
                self.collector.truncated = True
                return
        self.collector.note_text(text)

    def mapping(self, node: Node, depth: int, *, is_call_list: bool) -> None:
        if _is_rejected(node):
            return
        if not node.keys().isdisjoint(_FINISHES):
            for key in _FINISHES:
                self.collector.note_finish(node.get(key))
        if self.call(node, is_call_list=is_call_list):
            return
        calls = len(self.collector.calls)
        for key in node:
            role = _PLACES.get(key)
            if role is not None:
                self.place(role, node[key], depth + 1)
        if calls == len(self.collector.calls) and "additional_kwargs" in node:
            self.node(node["additional_kwargs"], depth + 1)

    def place(self, role: str, value: AttributeValue, depth: int) -> None:
        """
        One member of a mapping: a list of calls, alternatives, or something with an answer inside.
        """
        if role == "calls":
            self.node(decoded(value, 1), depth, is_call_list=True)
        elif role == "alternatives":
            self.alternatives(value, depth)
        else:
            self.node(value, depth)

    def alternatives(self, value: AttributeValue, depth: int) -> None:
        for position, item in enumerate(value if isinstance(value, list) else [value]):
            self.collector.candidate = position
            self.node(item, depth + 1)

    def call(self, node: Node, *, is_call_list: bool) -> bool:
        """
        Whether *node* is a call, which is then noted.
        """
        if not node.keys().isdisjoint(_WRAPPERS) and self.wrapped_calls(node):
            if type(text := node.get("content")) is str:
                self.collector.note_text(text)
            return True
        kind = node.get("type")
        if is_call_list or node.get("block_type") == "tool_call" or (type(kind) is str and kind in _TYPES):
            self.note_call(node, _executed_by(node))
            return True
        if "toolName" in node and node.keys().isdisjoint(("result", "output")):
            self.note_call(node, "client")
            return True
        return False

    def wrapped_calls(self, node: Node) -> bool:
        """
        Whether *node* is an envelope around calls, which are then noted.
        """
        wrapped = [inner for key in _WRAPPERS if isinstance(inner := node.get(key), dict)]
        for inner in wrapped:
            self.note_call(inner, _executed_by(node))
        return bool(wrapped)

    def note_call(self, node: Node, executed_by: ExecutedBy) -> None:
        """
        Note one call: OpenAI keeps name and arguments under `function`, all others beside the id.
        """
        function = node.get("function")
        inner: Node = function if isinstance(function, dict) else node
        name = _first(inner, _NAMES)
        hosted = _hosted_name(node) if name is None else None
        if hosted is not None:
            self.collector.note_call(hosted, _first(node, _IDS), None, "provider")
        else:
            self.collector.note_call(name, _first(node, _IDS), _first(inner, _ARGUMENTS), executed_by)


def _is_rejected(node: Node) -> bool:
    role = node.get("role")
    if type(role) is str and role.lower() in REJECTED_ROLES:
        return True
    kind = node.get("type")
    if type(kind) is str and kind in _REJECTED_TYPES:
        return True
    return node.get("thought") is True


def _executed_by(node: Node) -> ExecutedBy:
    if node.get("builtin") is True or node.get("providerExecuted") is True:
        return "provider"
    kind = node.get("type")
    return _TYPES.get(kind, "client") if type(kind) is str else "client"


def _hosted_name(node: Node) -> str | None:
    """
    The type of a tool that the provider hosts (Azure: `file_search`), which is all that is told of it.
    """
    server = node.get("server_tool_call")
    if isinstance(server, dict):
        name = _first(server, ("name", "type"))
        return name if type(name) is str else None
    kind = node.get("type")
    return kind if type(kind) is str and kind != "function" and kind not in _TYPES else None


def _first(node: Node, keys: tuple[str, ...]) -> AttributeValue:
    for key in keys:
        value = node.get(key)
        if value is not None:
            return value
    return None
