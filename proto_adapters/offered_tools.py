"""
Names of the tools a model could choose. Pure. Used only to tell apart names that a producer melted into one.

Offered tools are never calls.
"""

from collections.abc import Iterator
from typing import Final

from proto_adapters.attribute_values import clean_name, decoded
from proto_adapters.canonical import AttributeValue
from proto_adapters.dialects.detection import SpanFacts

_MAX_OFFERED: Final = 2000
_LISTS: Final = ("gen_ai.tool.definitions", "mlflow.chat.tools", "ai.prompt.tools", "tools")
_FLATTENED: Final = ("llm.tools.", "llm.request.functions.", "gen_ai.request.functions.")


def offered_tools(facts: SpanFacts) -> frozenset[str]:
    """
    The names of the tools that the request of this LLM span offered.
    """
    names = {name for value in _definitions(facts) for name in _names_of(value)}
    return frozenset(names) if len(names) <= _MAX_OFFERED else frozenset()


def _definitions(facts: SpanFacts) -> Iterator[AttributeValue]:
    for key in _LISTS:
        value = decoded(facts.value(key))
        yield from value if isinstance(value, list) else ()
    for key in facts.keys:
        if key.startswith(_FLATTENED):
            value = facts.value(key)
            yield {"name": value} if key.endswith("name") else decoded(value)


def _names_of(definition: AttributeValue) -> Iterator[str]:
    structure = decoded(definition, 1)
    if not isinstance(structure, dict):
        return
    function = structure.get("function")
    for holder in (structure, function if isinstance(function, dict) else {}):
        name = clean_name(holder.get("name"))
        if name is not None:
            yield name
