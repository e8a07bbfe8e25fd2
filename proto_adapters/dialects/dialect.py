"""
What a dialect is: mostly data, told once, from which detection tables and the documentation are made.

A dialect never reads a span by itself: `span_kind`, `span_fields` and `completion` do, led by this data. Pure.
"""

from collections.abc import Callable, Mapping
from typing import Final, Literal

from msgspec import Struct

from proto_adapters.attribute_values import decoded, text_of
from proto_adapters.canonical import AttributeValue, SpanKind

ANY_TEXT: Final = "*"
WHOLE_NAME: Final = "{}"
"""The template of a span name that is itself the name of the tool or agent."""


class Recognition(Struct, frozen=True):
    """
    How a span of the dialect is known: any one of these is enough. A trailing or leading `*` stands for any text.
    """

    scopes: tuple[str, ...] = ()
    """Instrumentation scopes that only this dialect has; span names may decide inside them."""
    keys: tuple[str, ...] = ()
    """Attribute keys, whole or as a prefix."""
    values: tuple[tuple[str, str], ...] = ()
    """Attribute keys with the value that makes them a sign."""
    events: tuple[str, ...] = ()
    """Names of span events."""
    services: tuple[str, ...] = ()
    """`service.name` of the resource."""


class NameRule(Struct, frozen=True):
    """
    A span name, or the beginning or end of one, that tells the kind inside a scope of the dialect (step K8).
    """

    pattern: str
    kind: SpanKind
    handoff: bool = False


class KindKey(Struct, frozen=True):
    """
    The attribute in which a dialect itself tells the kind (steps K2 to K4).

    `kind_of` gives `None` for values outside the dialect's table: the next rule then decides.
    """

    key: str
    kind_of: Callable[[AttributeValue], SpanKind | None]
    values: tuple[tuple[str, str], ...] = ()
    """For the documentation: value and kind."""
    handoff_values: frozenset[str] = frozenset()


class Dialect(Struct, frozen=True, kw_only=True):
    """
    One way of writing GenAI work as spans.
    """

    id: str
    title: str
    reads_from: str
    """What the entry was learned from: source, recording, documentation."""
    recognised_by: Recognition
    kind_key: KindKey | None = None
    kind_from: str = ""
    """For the documentation, where no `kind_key` tells it."""
    operations: Mapping[str, SpanKind] = {}
    """Values of `gen_ai.operation.name` that only this dialect has."""
    span_names: tuple[NameRule, ...] = ()
    wrappers: tuple[str, ...] = ()
    """Span names inside its scopes that are no work of their own, whatever they are marked as (rules X5, X6, X8)."""
    tool_name_keys: tuple[str, ...] = ()
    tool_name_in_span: tuple[str, ...] = ()
    """Where the tool's name stands in the span name, as `execute_tool {}`; `{}` is the whole name."""
    call_id_keys: tuple[str, ...] = ()
    completions_in: tuple[str, ...] = ()
    session_keys: tuple[str, ...] = ()
    agent_keys: tuple[str, ...] = ()
    agent_in_span: tuple[str, ...] = ()
    intervals: Literal["real", "synthetic", "zero_length", "provider"] = "real"
    """Intervals that cannot establish an order: rebuilt after the run, zero-length ones, those of provider tools."""
    cannot_be_seen: tuple[str, ...] = ()


def kinds(key: str, table: Mapping[str, SpanKind], *, handoffs: tuple[str, ...] = ()) -> KindKey:
    """
    A kind key whose values, in any case, stand in *table*.
    """
    lowered = {value.lower(): kind for value, kind in table.items()}

    def kind_of(value: AttributeValue) -> SpanKind | None:
        text = text_of(value)
        return None if text is None else lowered.get(text.strip().lower())

    return KindKey(key, kind_of, _as_text(table), frozenset(handoffs))


def quoted_kinds(key: str, table: Mapping[str, SpanKind]) -> KindKey:
    """
    As `kinds`, for values in JSON quotes.
    """
    plain = kinds(key, table)
    return KindKey(key, lambda value: plain.kind_of(decoded(value)), plain.values)


def inner_kinds(key: str, field: str, table: Mapping[str, SpanKind]) -> KindKey:
    """
    As `kinds`, for a value that stands in *field* of a JSON object.
    """
    plain = kinds(key, table)

    def kind_of(value: AttributeValue) -> SpanKind | None:
        structure = decoded(value)
        return plain.kind_of(structure.get(field)) if isinstance(structure, dict) else None

    return KindKey(key, kind_of, plain.values)


def _as_text(table: Mapping[str, SpanKind]) -> tuple[tuple[str, str], ...]:
    return tuple((value, kind.value) for value, kind in table.items())


def matches(pattern: str, text: str) -> bool:
    """
    Whether *text* is *pattern*, in which a leading or trailing `*` stands for any text.
    """
    if pattern.startswith(ANY_TEXT) and pattern.endswith(ANY_TEXT):
        return pattern.strip(ANY_TEXT) in text
    if pattern.endswith(ANY_TEXT):
        return text.startswith(pattern[:-1])
    if pattern.startswith(ANY_TEXT):
        return text.endswith(pattern[1:])
    return text == pattern


def inside(template: str, name: str) -> str | None:
    """
    What stands at `{}` of *template* in *name*, or `None` if *name* is not of that form.
    """
    head, _, tail = template.partition("{}")
    if len(name) <= len(head) + len(tail) or not name.startswith(head) or not name.endswith(tail):
        return None
    return name[len(head) : len(name) - len(tail)]
