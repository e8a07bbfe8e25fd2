"""
Tools as a condition names them: a name, and optionally a rule for the arguments of the call.

Configuration values only.
"""

import json
import re
from copy import deepcopy
from enum import StrEnum
from functools import cached_property
from typing import Annotated

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

ToolName = Annotated[str, Field(min_length=1, max_length=1024, pattern=r"\S")]

UNESCAPED_DOT = re.compile(r"(?<!\\)\.")


class ConfigValue(BaseModel):
    """
    Base of all values that a user writes here.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, serialize_by_alias=True)

    @cached_property
    def canonical_json(self) -> str:
        """The value in one form, list order kept: what identifiers are made of."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))


class ArgumentMatch(StrEnum):
    """
    How the arguments of a call are compared with those a condition lists. The direction is part of the rule.
    """

    EXACT = "exact"
    """The call has these arguments and no others."""
    SUBSET = "subset"
    """The arguments of the call lie within those listed."""
    SUPERSET = "superset"
    """The arguments listed lie within those of the call."""
    IGNORE = "ignore"


class ToolRequirement(ConfigValue):
    """
    A tool by name, and optionally by arguments.
    """

    name: ToolName = Field(description="Name of the tool.")
    arguments: dict[str, JsonValue] | None = Field(
        default=None,
        description="Arguments to compare. A dot in a key descends (`customer.id`); `\\.` is a dot of the key itself.",
    )
    argument_match: ArgumentMatch = Field(
        default=ArgumentMatch.EXACT,
        description="`exact`, `subset` (actual within listed), `superset` (listed within actual) or `ignore`.",
    )

    @model_validator(mode="after")
    def _check_argument_paths(self) -> "ToolRequirement":
        if self.arguments is not None:
            expand_paths(self.arguments)
        return self

    @model_serializer(mode="wrap")
    def _omit_defaults(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        fields: dict[str, object] = handler(self)
        defaults = {name: field.default for name, field in type(self).model_fields.items()}
        return {name: value for name, value in fields.items() if value != defaults[name]}

    @property
    def reads_arguments(self) -> bool:
        return self.arguments is not None and self.argument_match is not ArgumentMatch.IGNORE


def _accept_bare_name(value: object) -> object:
    return {"name": value} if isinstance(value, str) else value


Tool = Annotated[ToolRequirement, BeforeValidator(_accept_bare_name, json_schema_input_type=ToolName | ToolRequirement)]
"""A tool as a user writes it: a bare string is a name."""


def expand_paths(arguments: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """
    Nested arguments of dotted keys: `{"a.b": 1}` is `{"a": {"b": 1}}`. Raises `ValueError` if two keys collide.
    """
    expanded: dict[str, JsonValue] = {}
    for path, value in arguments.items():
        *parents, last = (step.replace("\\.", ".") for step in UNESCAPED_DOT.split(path))
        place = expanded
        for step in parents:
            place = _descend(place, step, path)
        if last in place:
            message = f"arguments.{path} is given twice"
            raise ValueError(message)
        place[last] = deepcopy(value)
    return expanded


def _descend(place: dict[str, JsonValue], step: str, path: str) -> dict[str, JsonValue]:
    inner = place.setdefault(step, {})
    if isinstance(inner, dict):
        return inner
    message = f"arguments.{path} descends into a value that another key sets"
    raise ValueError(message)
