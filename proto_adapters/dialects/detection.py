"""
Which dialects a span is written in: tables made once from the registry, and the marks of one span. Pure.

A mark is one bit of an integer: the low bits are dialects in the order of the registry, the high bits say what sorts
of keys are there. Keys, scopes and services are looked up through bounded memos, since producers repeat them.
"""

from functools import lru_cache, reduce
from operator import or_
from typing import Final

from msgspec import Struct

from proto_adapters.attribute_values import text_of
from proto_adapters.canonical import Attributes, AttributeValue, SpanView
from proto_adapters.dialects.dialect import Dialect, NameRule, matches
from proto_adapters.dialects.registry import DIALECTS

MAX_KEYS: Final = 16384
_MAX_SCOPES: Final = 4096
_MAX_KEY_SETS: Final = 4096
_MAX_KEYS_LENGTH: Final = 8192
"""Characters of all keys of a set; more are not remembered."""
_MAX_KEY_LENGTH: Final = 512
"""Longer keys are nobody's; they would only fill the memo."""

DIALECT_BITS: Final = {dialect.id: 1 << position for position, dialect in enumerate(DIALECTS)}
ALL_DIALECTS: Final = (1 << len(DIALECTS)) - 1

LOOKS_LIKE_GENAI: Final = 1 << 64
TELLS_A_MODEL: Final = 1 << 65
HAS_COMPLETION: Final = 1 << 66
HAS_OPENINFERENCE_OUTPUT: Final = 1 << 67
HAS_FLATTENED_COMPLETION: Final = 1 << 68
HAS_FLATTENED_OUTPUT: Final = 1 << 69
HAS_ANSWER_SIGN: Final = 1 << 70
HAS_FLATTENED_INPUT: Final = 1 << 71
MOVED_AWAY: Final = 1 << 72

_FEATURES: Final[tuple[tuple[str, int], ...]] = (
    ("gen_ai.request.", TELLS_A_MODEL),
    ("gen_ai.response.", TELLS_A_MODEL | HAS_ANSWER_SIGN),
    ("gen_ai.usage.", TELLS_A_MODEL | HAS_ANSWER_SIGN),
    ("gen_ai.completion", TELLS_A_MODEL | HAS_COMPLETION | HAS_ANSWER_SIGN),
    ("gen_ai.completion.", HAS_FLATTENED_COMPLETION),
    ("gen_ai.output.messages", TELLS_A_MODEL),
    ("gen_ai.output.messages.", HAS_FLATTENED_OUTPUT),
    ("gen_ai.output.messages_ref", MOVED_AWAY),
    ("gen_ai.server.time_to_first_token", HAS_ANSWER_SIGN),
    ("gen_ai.client.operation.time_to_first_chunk", HAS_ANSWER_SIGN),
    ("llm.output_messages", TELLS_A_MODEL | HAS_COMPLETION),
    ("llm.output_messages.", HAS_OPENINFERENCE_OUTPUT),
    ("llm.model", TELLS_A_MODEL),
    ("llm.request.type", TELLS_A_MODEL),
    ("llm.finish_reason", HAS_ANSWER_SIGN),
    ("llm.response.", HAS_ANSWER_SIGN),
    ("llm.token_count.", HAS_ANSWER_SIGN),
    ("llm.usage.", TELLS_A_MODEL | HAS_ANSWER_SIGN),
    ("ai.response.", HAS_ANSWER_SIGN),
    ("ai.usage.", HAS_ANSWER_SIGN),
    ("ai.model.", TELLS_A_MODEL),
    ("anthropic.message.", HAS_ANSWER_SIGN),
    ("langfuse.observation.usage_details", HAS_ANSWER_SIGN),
    ("mlflow.chat.tokenUsage", HAS_ANSWER_SIGN),
    ("mastra.completion_start_time", HAS_ANSWER_SIGN),
    ("langsmith.usage_metadata", HAS_ANSWER_SIGN),
    ("output_tokens", HAS_ANSWER_SIGN),
    ("stop_reason", HAS_ANSWER_SIGN),
    ("response_id", HAS_ANSWER_SIGN),
    ("llm.input_messages.", HAS_FLATTENED_INPUT),
    ("gen_ai.prompt.", HAS_FLATTENED_INPUT),
    ("gen_ai.input.messages.", HAS_FLATTENED_INPUT),
)

_GENAI_HEADS: Final = frozenset(
    {"gen_ai", "genai", "llm", "ai", "openai", "anthropic", "openinference", "traceloop", "mcp", "langchain"}
    | {"tool", "tool_call", "tool_name", "tool_use_id"}
)
_CONTEXT_KEYS: Final = frozenset({"gen_ai.conversation.id", "gen_ai.agent.name", "gen_ai.agent.id"})
"""Keys that applications and baggage put on spans of any sort."""

_EXACT_KEYS: Final[dict[str, int]] = {}
_KEY_PREFIXES: Final[list[tuple[str, int]]] = []
_VALUES: Final[dict[str, list[tuple[str, int]]]] = {}
_EVENTS: Final[dict[str, int]] = {}
for _dialect in DIALECTS:
    _bit = DIALECT_BITS[_dialect.id]
    for _key in _dialect.recognised_by.keys:
        if _key.endswith("*"):
            _KEY_PREFIXES.append((_key[:-1], _bit))
        else:
            _EXACT_KEYS[_key] = _EXACT_KEYS.get(_key, 0) | _bit
    for _key, _value in _dialect.recognised_by.values:
        _VALUES.setdefault(_key, []).append((_value, _bit))
    for _event in _dialect.recognised_by.events:
        _EVENTS[_event] = _EVENTS.get(_event, 0) | _bit

_VALUE_KEYS: Final = frozenset(_VALUES)
_MESSAGES: Final = DIALECT_BITS["otel_genai_messages"]
_CHOICES: Final = DIALECT_BITS["otel_genai_choice_events"]
_OWN_SPAN_NAMES: Final = {name: DIALECT_BITS[name] for name in ("haystack", "claude_code")}
"""Products that write under the application's tracer, and sometimes no attribute at all."""
_OWN_SPAN_HEADS: Final = tuple(f"{name}." for name in _OWN_SPAN_NAMES)


class ScopeRules(Struct, frozen=True):
    """
    What the name of a scope tells: dialects that own it, and their rules for span names.
    """

    marks: int
    wrappers: tuple[tuple[str, Dialect], ...]
    names: tuple[tuple[NameRule, Dialect], ...]

    def wrapper(self, name: str) -> Dialect | None:
        """
        The dialect to which a span of this name is a mere wrapper.
        """
        return next((dialect for pattern, dialect in self.wrappers if _is_wrapper(pattern, name)), None)


def _is_wrapper(pattern: str, name: str) -> bool:
    head, star, tail = pattern.partition("*")
    return name.startswith(head) and name.endswith(tail) and (bool(star) or name == pattern)


@lru_cache(_MAX_SCOPES)
def scope_rules(scope: str) -> ScopeRules:
    """
    The rules of one scope name.
    """
    owners = [dialect for dialect in DIALECTS if any(matches(own, scope) for own in dialect.recognised_by.scopes)]
    return ScopeRules(
        marks=sum(DIALECT_BITS[dialect.id] for dialect in owners),
        wrappers=tuple((pattern, dialect) for dialect in owners for pattern in dialect.wrappers),
        names=tuple((rule, dialect) for dialect in owners for rule in dialect.span_names),
    )


@lru_cache(_MAX_SCOPES)
def _service_marks(service: str) -> int:
    return sum(
        DIALECT_BITS[dialect.id]
        for dialect in DIALECTS
        if any(matches(own, service) for own in dialect.recognised_by.services)
    )


_UNMARKED: Final[set[str]] = set()
"""Keys that mark nothing, as they were met. Applications add any number of them; few sets of other keys are left."""
_KEY_SETS: Final[dict[frozenset[str], int]] = {}
"""Sets of keys, without those, and what they mark together."""


def _marks_of_keys(keys: frozenset[str]) -> int:
    """
    What the keys of a span mark together.

    Looked up as a whole: a dictionary look-up for each key cost as much as protobuf's parse of half a span.
    """
    marking = keys - _UNMARKED
    marks = _KEY_SETS.get(marking)
    return _learn(marking) if marks is None else marks


def _learn(keys: frozenset[str]) -> int:
    """
    Work out what *keys* mark, and remember it unless they take too much room. Both memos start anew when full.
    """
    marks_of = {key: _key_marks(key) if len(key) <= _MAX_KEY_LENGTH else 0 for key in keys}
    marks = reduce(or_, marks_of.values(), 0)
    if sum(map(len, keys)) <= _MAX_KEYS_LENGTH:
        _make_room(_UNMARKED, MAX_KEYS)
        _UNMARKED.update(key for key, own in marks_of.items() if not own)
        _make_room(_KEY_SETS, _MAX_KEY_SETS)
        _KEY_SETS[keys - _UNMARKED] = marks
    return marks


def remembered_keys() -> int:
    """
    How many keys are known to mark nothing.
    """
    return len(_UNMARKED)


def forget_keys() -> None:
    """
    Work out what keys mark anew.
    """
    _UNMARKED.clear()
    _KEY_SETS.clear()


def _make_room(memo: set[str] | dict[frozenset[str], int], size: int) -> None:
    if len(memo) >= size:
        memo.clear()


@lru_cache(MAX_KEYS)
def _key_marks(key: str) -> int:
    marks = _EXACT_KEYS.get(key, 0)
    for prefix, bit in _KEY_PREFIXES:
        if key.startswith(prefix):
            marks |= bit
    for prefix, feature in _FEATURES:
        if key.startswith(prefix):
            marks |= feature
    if not marks & ALL_DIALECTS and key not in _CONTEXT_KEYS and key.partition(".")[0] in _GENAI_HEADS:
        marks |= LOOKS_LIKE_GENAI
    return marks


class SpanFacts(Struct, frozen=True, eq=False):
    """
    A span as the rules look at it: its view, the set of its keys, its marks and the rules of its scope.
    """

    view: SpanView
    attributes: Attributes
    keys: frozenset[str]
    marks: int
    scope: str
    rules: ScopeRules

    def text(self, key: str) -> str | None:
        """
        The text at *key*; `None` for other types and placeholders.
        """
        return text_of(self.attributes.get(key)) if key in self.keys else None

    def value(self, key: str) -> AttributeValue:
        return self.attributes.get(key) if key in self.keys else None

    def is_dialect(self, dialect_id: str) -> bool:
        return bool(self.marks & DIALECT_BITS[dialect_id])


def facts_of(view: SpanView) -> SpanFacts:
    """
    The facts of one span.
    """
    attributes, origin = view.attributes, view.origin
    keys = frozenset(attributes) if view.keys is None else view.keys
    rules = scope_rules(origin.scope_name)
    marks = rules.marks | _marks_of_keys(keys)
    if origin.service_name:
        marks |= _service_marks(origin.service_name)
    for event in view.events:
        marks |= _EVENTS.get(event.name, 0)
    if view.name.startswith(_OWN_SPAN_HEADS):
        marks |= _OWN_SPAN_NAMES[view.name.partition(".")[0]]
    if not keys.isdisjoint(_VALUE_KEYS):
        marks |= _value_marks(attributes, keys)
    if marks & _MESSAGES and marks & _CHOICES:
        marks &= ~_era_to_drop(keys)
    return SpanFacts(view, attributes, keys, marks, origin.scope_name, rules)


def _value_marks(attributes: Attributes, keys: frozenset[str]) -> int:
    marks = 0
    for key in keys & _VALUE_KEYS:
        text = text_of(attributes.get(key))
        if text is not None:
            marks |= _marks_of_value(key, text[:_MAX_KEY_LENGTH])
    return marks


@lru_cache(_MAX_SCOPES)
def _marks_of_value(key: str, text: str) -> int:
    return sum(bit for pattern, bit in _VALUES[key] if matches(pattern, text))


_NEWER_KEYS: Final = frozenset({"gen_ai.provider.name", "gen_ai.output.messages", "gen_ai.output.messages_ref"})


def _era_to_drop(keys: frozenset[str]) -> int:
    """
    `gen_ai.system` alone is the older era; with any newer key beside it (kept for old readers) the newer one.
    """
    return _CHOICES if not keys.isdisjoint(_NEWER_KEYS) or "gen_ai.system" not in keys else _MESSAGES


def dialect_ids(marks: int, first: str | None = None) -> tuple[str, ...]:
    """
    Ids of the dialects in *marks*, the one that gave the kind first.
    """
    ids = _ids_of(marks & ALL_DIALECTS)
    if first is None or (ids and ids[0] == first):
        return ids
    return (first, *(other for other in ids if other != first))


@lru_cache(_MAX_SCOPES)
def _ids_of(marks: int) -> tuple[str, ...]:
    return tuple(dialect.id for position, dialect in enumerate(DIALECTS) if marks >> position & 1)
