"""
Calls and text of a completion that producers wrote as flattened attributes, one key for each part. Pure.

`llm.output_messages.N.message.tool_calls.M.tool_call.*` (OpenInference), the same below `gen_ai.output.messages`
(Future AGI), and `gen_ai.completion.N.tool_calls.M.*` or `.function_call.*` (Traceloop, LiteLLM). Indexes are sorted
as numbers and may have gaps. Reference §5.4.
"""

from collections.abc import Iterable
from typing import Final

from proto_adapters.attribute_values import index_of, text_of
from proto_adapters.call_collector import CallCollector
from proto_adapters.canonical import Attributes, AttributeValue

Fields = dict[str, AttributeValue]
Messages = dict[int, "FlatMessage"]

HAYSTACK_LOST: Final = "replies"
"""What Traceloop's Haystack instrumentation writes in place of the answer."""


class FlatMessage:
    """
    One output message, put together from its keys.
    """

    __slots__ = ("calls", "content_calls", "fields", "texts")

    def __init__(self) -> None:
        self.fields: Fields = {}
        self.calls: dict[int, Fields] = {}
        self.content_calls: dict[int, Fields] = {}
        self.texts: list[AttributeValue] = []


def gather(attributes: Attributes, keys: Iterable[str], prefix: str) -> Messages:
    """
    The messages below *prefix* (which ends with a dot), by index.
    """
    messages: Messages = {}
    for key in keys:
        if key.startswith(prefix):
            head, _, path = key[len(prefix) :].partition(".")
            index = index_of(head)
            if index is not None and path:
                if index not in messages:
                    messages[index] = FlatMessage()
                _place(messages[index], path.removeprefix("message.").split(".", 4), attributes.get(key))
    return messages


def _place(message: FlatMessage, parts: list[str], value: AttributeValue) -> None:
    head, position = parts[0], index_of(parts[1]) if len(parts) > 1 else None
    if head == "tool_calls" and position is not None:
        message.calls.setdefault(position, {})[_leaf(parts[2:])] = value
    elif head == "contents" and position is not None:
        _place_content(message, position, parts[2:], value)
    else:
        message.fields[".".join(parts)] = value


def _place_content(message: FlatMessage, position: int, path: list[str], value: AttributeValue) -> None:
    if path and path[0] == "tool_call":
        message.content_calls.setdefault(position, {})[_leaf(path)] = value
    elif path and path[-1].endswith("text"):
        message.texts.append(value)


def _leaf(path: list[str]) -> str:
    """
    `name`, `arguments` or `id`, whatever stands before it (`tool_call.function.`).
    """
    return path[-1].rpartition(".")[2] if path else ""


def read_messages(messages: Messages, collector: CallCollector, *, is_one_message: bool = False) -> None:
    """
    Tell *collector* the calls and the text of flattened *messages*.

    With *is_one_message* the index counts calls of one message (LiteLLM), not choices.
    """
    for index in sorted(messages):
        message = messages[index]
        collector.candidate = 0 if is_one_message else index
        collector.note_finish(message.fields.get("finish_reason"))
        # A call stands a second time among the contents (Anthropic); without an id nothing would tell it is the same.
        calls = message.calls or message.content_calls
        for position in sorted(calls):
            call = calls[position]
            collector.note_call(call.get("name"), call.get("id"), call.get("arguments"))
        _read_legacy_call(message.fields, collector)
        for text in (message.fields.get("content"), *message.texts):
            if type(text) is str and text_of(text) is not None and text != HAYSTACK_LOST:
                collector.note_text(text)


_LEGACY_CALLS: Final = (
    ("function_call.name", "function_call.arguments"),
    ("function_call_name", "function_call_arguments_json"),
)


def _read_legacy_call(fields: Fields, collector: CallCollector) -> None:
    for name, arguments in _LEGACY_CALLS:
        if name in fields:
            collector.note_call(fields[name], None, fields.get(arguments))
