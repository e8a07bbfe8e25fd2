"""
The options of the configuration as rows for a table, read from its JSON Schema. Pure.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

Schema = Mapping[str, Any]


class Option(NamedTuple):
    """
    One key.
    """

    path: str
    kind: str
    default: str
    description: str


def definition(schema: Schema, name: str) -> Schema:
    found: Schema = schema["$defs"][name]
    return found


def block_of(schema: Schema, field: Schema) -> Schema | None:
    """
    The block that a key holds; `None` if it holds a value, a list or one of several blocks.
    """
    alternatives = [place for place in field.get("anyOf", [field]) if place.get("type") != "null"]
    if len(alternatives) != 1 or "$ref" not in alternatives[0]:
        return None
    block = definition(schema, alternatives[0]["$ref"].removeprefix("#/$defs/"))
    return block if "properties" in block else None


def options_of(schema: Schema, block: Schema, prefix: str = "") -> Iterator[Option]:
    """
    The keys of *block* in their order, those of the blocks in it included.
    """
    for key, field in block.get("properties", {}).items():
        inner = block_of(schema, field)
        if inner is None:
            yield _option(schema, prefix + key, field, is_required=key in block.get("required", ()))
        else:
            yield from options_of(schema, inner, f"{prefix}{key}::")


def _option(schema: Schema, path: str, field: Schema, *, is_required: bool) -> Option:
    default = "required" if is_required else _default(field.get("default"))
    return Option(path, kind_of(schema, field), default, field.get("description", ""))


def _default(value: object) -> str:
    if value is None or value in ([], {}):
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def kind_of(schema: Schema, field: Schema) -> str:
    """
    What may stand after a key, in a few words.
    """
    if "$ref" in field:
        target = definition(schema, field["$ref"].removeprefix("#/$defs/"))
        return "block" if "properties" in target else kind_of(schema, target)
    if "discriminator" in field:
        return "condition"
    alternatives = [*field.get("anyOf", ()), *field.get("oneOf", ())]
    if alternatives:
        kinds = [kind_of(schema, place) for place in alternatives if place.get("type") != "null"]
        return " or ".join(dict.fromkeys(kind for kind in kinds if kind))
    return _simple_kind(schema, field)


def _simple_kind(schema: Schema, field: Schema) -> str:
    if "enum" in field:
        return ", ".join(json.dumps(value) if value == "" else str(value) for value in field["enum"])
    if "const" in field:
        return str(field["const"]) if field["const"] != 0 else ""
    if "(ns|us" in field.get("pattern", ""):
        return "duration"
    if field.get("type") == "array":
        return f"list of {kind_of(schema, field.get('items', {}))}"
    if field.get("type") == "object":
        values = field.get("additionalProperties")
        return f"map to {kind_of(schema, values)}" if isinstance(values, dict) else "map"
    return {"integer": "integer", "number": "number", "boolean": "true, false", "string": "text"}.get(
        str(field.get("type")), "any"
    )
