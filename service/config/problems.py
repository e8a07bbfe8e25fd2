"""
From pydantic's errors to `path: message` lines for the person who wrote the configuration.

A path is written as in the Collector's documentation: `processors::tool_scoring::expectations[0]::name`. A message
never quotes a value, which may be a secret.
"""

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from pydantic_core import ErrorDetails

from service.config.expansion import Location
from service.config.yaml_reader import Value

Problem = tuple[str, str]
TOP = "(top level)"

_PLAIN_WORDS = {
    "missing": "is required",
    "string_type": "should be text",
    "bool_type": "should be true or false",
    "int_type": "should be a whole number",
    "float_type": "should be a number",
    "tuple_type": "should be a list",
    "dict_type": "should be a block of keys",
    "model_type": "should be a block of keys",
    "model_attributes_type": "should be a block of keys",
    "union_tag_not_found": "should have a condition_type",
}
_LENGTH = re.compile(
    r"^(?:Tuple|List|Set|Dictionary) (should have at (?:least|most) \d+ items?) after validation, not \d+$"
)
_MAX_KEY = 100


def path_text(location: Location) -> str:
    """
    `("exporters", "otlp", "headers", 0)` as `exporters::otlp::headers[0]`.
    """
    text = ""
    for step in location:
        text += f"[{step}]" if isinstance(step, int) else f"::{_shown(step)}"
    return text.removeprefix("::") or TOP


def _shown(key: str) -> str:
    shown = key if key.isprintable() else ascii(key)[1:-1]
    return shown if len(shown) <= _MAX_KEY else shown[:_MAX_KEY] + "…"


def problems_of(errors: Iterable[ErrorDetails], tree: Value, schema: Mapping[str, Any]) -> list[Problem]:
    """
    One problem for each mistake in *tree*; *schema* is the JSON Schema that knows the right keys.
    """
    found = [(_without_tags(error, tree), error) for error in errors]
    return [
        (path_text(location), _message(location, error, schema))
        for location, error in found
        if not _follows_from_another(location, error, found)
    ]


def _follows_from_another(location: Location, error: ErrorDetails, found: list[tuple[Location, ErrorDetails]]) -> bool:
    """
    A list of broken items is also reported as too short.
    """
    return error["type"] == "too_short" and any(
        len(other) > len(location) and other[: len(location)] == location for other, _ in found
    )


def _without_tags(error: ErrorDetails, tree: Value) -> Location:
    """
    The location without the names of alternatives, which pydantic puts between the keys that the user wrote.
    """
    steps: list[str | int] = []
    place: Value = tree
    last = len(error["loc"]) - 1
    for index, step in enumerate(error["loc"]):
        if _is_in(place, step):
            place = _entered(place, step)
            steps.append(step)
        elif index == last and error["type"] == "missing":
            steps.append(step)
    return tuple(steps)


def _is_in(place: Value, step: str | int) -> bool:
    if isinstance(step, int):
        return isinstance(place, list) and step < len(place)
    return isinstance(place, dict) and step in place


def _entered(place: Value, step: str | int) -> Value:
    if isinstance(place, list) and isinstance(step, int):
        return place[step]
    return place[step] if isinstance(place, dict) and isinstance(step, str) else None


def _message(location: Location, error: ErrorDetails, schema: Mapping[str, Any]) -> str:
    if error["type"] == "extra_forbidden":
        return "unknown key" + suggestion(str(location[-1]), known_keys(schema, location[:-1]))
    if error["type"] in _PLAIN_WORDS:
        return _PLAIN_WORDS[error["type"]]
    if error["type"] == "union_tag_invalid":
        expected = error.get("ctx", {}).get("expected_tags", "")
        return f"unknown condition_type; known are {expected}"
    return _LENGTH.sub(r"\1", error["msg"].removeprefix("Value error, ").replace("Input should", "should"))


def suggestion(key: str, known: Iterable[str]) -> str:
    """
    `; did you mean …?` with the known key nearest to *key*, or nothing.
    """
    nearest = get_close_matches(key[:_MAX_KEY], sorted(known), n=1)
    return f"; did you mean {nearest[0]}?" if nearest else ""


def known_keys(schema: Mapping[str, Any], location: Location) -> frozenset[str]:
    """
    The keys that the block at *location* may have.
    """
    places = _resolved([schema], schema)
    for step in location:
        places = _resolved([inner for place in places for inner in _inner(place, step)], schema)
    return frozenset(key for place in places for key in place.get("properties", {}))


def _inner(place: Mapping[str, Any], step: str | int) -> list[Mapping[str, Any]]:
    """
    The schemas that one step further down may mean.
    """
    if isinstance(step, int):
        return [place["items"]] if isinstance(place.get("items"), dict) else []
    if step in place.get("properties", {}):
        return [place["properties"][step]]
    matching = [inner for pattern, inner in place.get("patternProperties", {}).items() if re.search(pattern, step)]
    others = place.get("additionalProperties")
    return matching or ([others] if isinstance(others, dict) else [])


def _resolved(places: Iterable[Mapping[str, Any]], schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """
    *places* with references followed and alternatives spread out.
    """
    flat: list[Mapping[str, Any]] = []
    for place in places:
        if "$ref" in place:
            flat += _resolved([schema["$defs"][place["$ref"].removeprefix("#/$defs/")]], schema)
        alternatives = [*place.get("anyOf", ()), *place.get("oneOf", ())]
        flat += _resolved(alternatives, schema) if alternatives else [place]
    return flat
