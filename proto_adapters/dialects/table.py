"""
The dialect table of the documentation, made from the registry. Pure.
"""

from collections.abc import Iterable, Iterator

from proto_adapters.dialects.dialect import Dialect
from proto_adapters.dialects.registry import DIALECTS


def dialect_table(dialects: Iterable[Dialect] = DIALECTS) -> str:
    """
    The dialects as Markdown: one overview table, then what is read of each and what cannot be seen.
    """
    entries = tuple(dialects)
    return "\n".join([*_overview(entries), *(line for entry in entries for line in _section(entry))])


def _overview(entries: tuple[Dialect, ...]) -> Iterator[str]:
    yield "| id | dialect | learned from | kind |"
    yield "| --- | --- | --- | --- |"
    for entry in entries:
        yield f"| `{entry.id}` | {_cell(entry.title)} | {_cell(entry.reads_from)} | {_kind_source(entry)} |"


def _kind_source(entry: Dialect) -> str:
    return f"`{entry.kind_key.key}`" if entry.kind_key else _cell(entry.kind_from)


def _section(entry: Dialect) -> Iterator[str]:
    yield ""
    yield f"### {entry.title} (`{entry.id}`)"
    yield ""
    yield f"- Recognised by: {_recognition(entry)}."
    yield f"- Kind: {_kind(entry)}."
    for label, values in _read(entry):
        if values:
            yield f"- {label}: {_codes(values)}."
    if entry.cannot_be_seen:
        yield f"- Cannot be seen: {'; '.join(entry.cannot_be_seen)}."


def _recognition(entry: Dialect) -> str:
    signs = entry.recognised_by
    parts = (
        ("scope", signs.scopes),
        ("key", signs.keys),
        ("value", tuple(f"{key} = {value}" for key, value in signs.values)),
        ("event", signs.events),
        ("`service.name`", signs.services),
    )
    return "; ".join(f"{label} {_codes(values)}" for label, values in parts if values)


def _kind(entry: Dialect) -> str:
    if entry.kind_key is None:
        return _cell(entry.kind_from)
    values = ", ".join(f"`{value}` {kind}" for value, kind in entry.kind_key.values)
    return f"`{entry.kind_key.key}`: {values}"


def _read(entry: Dialect) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield "Tool name", entry.tool_name_keys
    yield "Tool name in the span name", entry.tool_name_in_span
    yield "Call id", entry.call_id_keys
    yield "Completions", entry.completions_in
    yield "Session", entry.session_keys
    yield "Agent", entry.agent_keys


def _codes(values: tuple[str, ...]) -> str:
    return ", ".join(f"`{value}`" for value in values)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
