"""
Collects the calls and the text of one completion while its output fields are read. Pure.

Knows when a call stands there already (one field may tell it twice) and when a streaming producer melted several
calls into one name (reference §5.4; recordings of OpenInference's streamed chat and of BeeAI).
"""

from collections.abc import Callable
from typing import Final, Literal

from msgspec import Struct

from proto_adapters.attribute_values import clean_call_id, clean_name, decoded, looks_like_json, text_of
from proto_adapters.canonical import AttributeValue, EmbeddedCall

ExecutedBy = Literal["client", "provider"]

MAX_MELTED_NAME: Final = 1024

_ID_PREFIXES: Final = ("call_", "toolu_", "fc_")
_UNREADABLE_MARKS: Final = ("ToolCall(", "FunctionCall(", "ToolUseBlock(", "[[ ## next_tool_name ## ]]")
"""Calls told as Python reprs or as prose (openai-agents-v2, DSPy): text, but no readable answer."""


class ReadLimits(Struct, frozen=True):
    """
    How much of one value is read. What goes over a limit is reported as truncated, never as "no call".
    """

    max_depth: int = 48
    max_length: int = 8 * 1024 * 1024
    """Characters of one JSON text."""
    max_calls: int = 1000
    """More calls in one completion are no work of a model."""


DEFAULT_LIMITS: Final = ReadLimits()


def _nothing_offered() -> frozenset[str]:
    return frozenset()


class CallCollector:
    """
    What was found so far in the output of one LLM span.
    """

    __slots__ = (
        "_ids",
        "_next_index",
        "_offered",
        "calls",
        "candidate",
        "finish_reasons",
        "has_text",
        "keep_arguments",
        "limits",
        "lost_calls",
        "over_limit",
        "source",
        "truncated",
    )

    def __init__(
        self,
        *,
        keep_arguments: bool = False,
        limits: ReadLimits = DEFAULT_LIMITS,
        offered: Callable[[], frozenset[str]] = _nothing_offered,
    ) -> None:
        self.calls: list[EmbeddedCall] = []
        self.finish_reasons: list[str] = []
        self.has_text = False
        self.truncated = False
        self.over_limit = False
        """Of what is truncated, something was over `ReadLimits`; the rest was cut by its producer."""
        self.lost_calls = False
        """Calls are there that cannot be told: nameless, melted, or written as a repr."""
        self.keep_arguments = keep_arguments
        self.limits = limits
        self.source = ""
        self.candidate = 0
        self._offered = offered
        self._ids: set[str] = set()
        self._next_index: dict[int, int] = {}

    def note_text(self, text: str) -> None:
        """
        The model said *text*.
        """
        if any(map(text.__contains__, _UNREADABLE_MARKS)):
            self.lost_calls = True
        elif text.strip() and text_of(text) is not None:
            self.has_text = True

    def note_over_limit(self) -> None:
        """
        More is there than is read.
        """
        self.truncated = self.over_limit = True

    def note_finish(self, reason: AttributeValue) -> None:
        if type(reason) is str and reason:
            self.finish_reasons.append(reason)

    def note_call(
        self,
        name: AttributeValue,
        call_id: AttributeValue = None,
        arguments: AttributeValue = None,
        executed_by: ExecutedBy = "client",
    ) -> None:
        """
        The model asked for a call.
        """
        cleaned = clean_name(name)
        if cleaned is None:
            self.lost_calls = True
        elif len(self.calls) >= self.limits.max_calls:
            self.note_over_limit()
        elif _is_melted(call_id, arguments):
            self._note_melted(cleaned, call_id, executed_by)
        else:
            self._add(cleaned, clean_call_id(call_id, cleaned), arguments, executed_by)

    def _note_melted(self, name: str, call_id: AttributeValue, executed_by: ExecutedBy) -> None:
        """
        Tell melted calls apart by the names that were offered; without them nothing can be said.
        """
        names = split_melted_name(name, self._offered())
        if len(names) < 2:
            self.lost_calls = True
            return
        for part, part_id in zip(names, _split_ids(call_id, len(names)), strict=True):
            self._add(part, part_id, None, executed_by)

    def _add(self, name: str, call_id: str | None, arguments: AttributeValue, executed_by: ExecutedBy) -> None:
        if call_id is not None:
            if call_id in self._ids:
                return
            self._ids.add(call_id)
        index = self._next_index.get(self.candidate, 0)
        self._next_index[self.candidate] = index + 1
        self.calls.append(
            EmbeddedCall(
                name=name,
                call_id=call_id,
                arguments=decoded(arguments) if self.keep_arguments else None,
                candidate=self.candidate,
                index=index,
                executed_by=executed_by,
                source=self.source,
            )
        )


def _is_melted(call_id: AttributeValue, arguments: AttributeValue) -> bool:
    """
    Several ids in one, or several JSON objects glued together as the arguments.
    """
    if type(call_id) is str and max(map(call_id.count, _ID_PREFIXES)) > 1:
        return True
    if type(arguments) is str and "}{" in arguments and looks_like_json(arguments):
        return type(decoded(arguments, 1)) is str
    return False


def split_melted_name(name: str, offered: frozenset[str]) -> list[str]:
    """
    The offered names that *name* is glued together from; empty if it is not, or not in one way only.
    """
    if name in offered or len(name) > MAX_MELTED_NAME:
        return []
    found: list[str] = []
    rest = name
    while rest:
        heads = [tool for tool in offered if tool and rest.startswith(tool)]
        if not heads:
            return []
        head = max(heads, key=len)
        found.append(head)
        rest = rest[len(head) :]
    return found


def _split_ids(call_id: AttributeValue, parts: int) -> list[str | None]:
    if type(call_id) is str:
        for prefix in _ID_PREFIXES:
            pieces = [prefix + piece for piece in call_id.split(prefix) if piece]
            if len(pieces) == parts and "".join(pieces) == call_id:
                return [*pieces]
    return [None] * parts
