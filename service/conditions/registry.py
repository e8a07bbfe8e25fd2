"""
The condition types, by `condition_type`.

One explicit list (the members of `Condition`); nothing registers itself.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import get_args

from pydantic import TypeAdapter

from service.conditions.leaves import NamedCondition
from service.conditions.trees import Condition


def condition_registry(types: Iterable[type[NamedCondition]]) -> Mapping[str, type[NamedCondition]]:
    """
    The *types* by their `condition_type`. Raises `TypeError` for a type without one, `ValueError` for a type twice.
    """
    registry: dict[str, type[NamedCondition]] = {}
    for condition in types:
        name = _type_name(condition)
        if name in registry:
            message = f"condition_type {name!r} is already registered"
            raise ValueError(message)
        registry[name] = condition
    return MappingProxyType(registry)


def _type_name(condition: type[NamedCondition]) -> str:
    field = condition.model_fields["condition_type"]
    if get_args(field.annotation) != (field.default,):
        message = f"{condition.__name__}.condition_type must be a literal with that literal as its default"
        raise TypeError(message)
    return str(field.default)


CONDITION_TYPES = condition_registry(get_args(get_args(Condition)[0]))

_ANY_CONDITION: TypeAdapter[Condition] = TypeAdapter(Condition)


def parse_condition(document: object) -> Condition:
    """
    The condition that a JSON or YAML *document* describes. Raises `pydantic.ValidationError`.
    """
    return _ANY_CONDITION.validate_python(document)
