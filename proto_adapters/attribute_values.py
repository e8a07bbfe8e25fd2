"""
Readers of single attribute values: JSON inside strings, placeholders, flags. Pure; a value of the wrong type is absent.

Producers write structures as attributes, as JSON text, or as JSON text of JSON text (reference §4, §5.3). Python
reprs are never evaluated.
"""

import unicodedata
from typing import Final

import msgspec

from proto_adapters.canonical import AttributeValue

MAX_JSON_DECODES: Final = 2
"""Some producers dump a value twice (MLflow quotes strings); nobody was seen to dump it three times."""

ABSENT_VALUES: Final = frozenset({"", "__REDACTED__", "<REDACTED>", "readacted"})
"""Texts that stand for an absent value at any key (reference §5.3)."""
_LONGEST_ABSENT: Final = max(map(len, ABSENT_VALUES))
"""Longer texts need not be hashed to see that they are none of these."""

ABSENT_NAMES: Final = ABSENT_VALUES | {
    "unknown",
    "(merged tools)",
    "mcp_list_tools",
    "tools/call",
    "execute_tool",
    "running tool",
}
ABSENT_CALL_IDS: Final = ABSENT_VALUES | {"<not specified>", "unknown", "default", "None", "null"}
ABSENT_SESSIONS: Final = ABSENT_VALUES | {"None", "null", "undefined"}

SCRUBBED_PREFIX: Final = "[Scrubbed due to"
"""Logfire's scrubber replaces a whole value by this text."""

_ERRORS: Final = (msgspec.DecodeError, RecursionError, ValueError)


def text_of(value: AttributeValue) -> str | None:
    """
    *value* as text, or `None` if it is no text or a placeholder.
    """
    if type(value) is not str or value.startswith(SCRUBBED_PREFIX):
        return None
    return None if len(value) <= _LONGEST_ABSENT and value in ABSENT_VALUES else value


def identifier_of(value: AttributeValue) -> str | None:
    """
    *value* as an identifier: text, or an integer that a producer did not turn into text.
    """
    if type(value) is int:
        return str(value)
    return text_of(value)


def flag_of(value: AttributeValue) -> bool | None:
    """
    *value* as a truth value: a boolean, or the text of one (Haystack writes "true").
    """
    if type(value) is bool:
        return value
    if type(value) is str:
        return {"true": True, "false": False}.get(value.strip().lower())
    return None


def looks_like_json(text: str) -> bool:
    """
    Whether *text* may be the JSON of an object, an array or a string.
    """
    return text.lstrip()[:1] in {"{", "[", '"'}


def decode_json(text: str) -> AttributeValue:
    """
    The value of JSON *text*; raises `ValueError` if it does not decode.
    """
    try:
        value: AttributeValue = msgspec.json.decode(text)
    except _ERRORS as error:
        raise ValueError(str(error)) from error
    return value


def decoded(value: AttributeValue, times: int = MAX_JSON_DECODES) -> AttributeValue:
    """
    *value* with JSON text decoded, at most *times* over; what does not decode stays as it is.
    """
    while times > 0 and type(value) is str and looks_like_json(value):
        try:
            value = decode_json(value)
        except ValueError:
            return value
        times -= 1
    return value


def unquoted(text: str) -> str:
    """
    *text* without the JSON quotes that MLflow puts around strings (rule N3).
    """
    if len(text) >= 2 and text[0] == text[-1] == '"':
        value = decoded(text, 1)
        if type(value) is str:
            return value
    return text


def clean_name(value: AttributeValue) -> str | None:
    """
    A tool name by the rules N1 and N3: trimmed, NFC, unquoted, or `None` for a placeholder.
    """
    if type(value) is not str:
        return None
    name = unquoted(value.strip()).strip()
    if not name.isascii():
        name = unicodedata.normalize("NFC", name)
    return None if name in ABSENT_NAMES or name.startswith(SCRUBBED_PREFIX) else name


def clean_call_id(value: AttributeValue, name: str = "") -> str | None:
    """
    A call id, or `None` for a placeholder or an id made up from the tool's *name* (`search_flights_0`).
    """
    call_id = identifier_of(value)
    if call_id is None or call_id in ABSENT_CALL_IDS:
        return None
    made_up = bool(name) and call_id.startswith(name) and call_id.startswith(f"{name}_")
    return None if made_up and call_id[len(name) + 1 :].isdigit() else call_id


def index_of(part: str) -> int | None:
    """
    The index in a flattened key, or `None`. Long digit strings are no index: nobody has a billion messages.
    """
    return int(part) if len(part) <= 9 and part.isascii() and part.isdigit() else None
