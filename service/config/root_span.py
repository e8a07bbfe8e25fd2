"""
`root_span_condition`: what closes a trace (design §5).
"""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from service.config.values import AttributeKey, Block
from service.root_condition import AttributeMatch, RootCondition

RootSpanRule = Literal["parent_empty", "parent_empty_or_remote"]
MatchValue = str | bool | int


def _one_or_many(value: object) -> object:
    return value if isinstance(value, list | tuple) else [value]


class RootSpanMatch(Block):
    """
    A span is a root if the attribute has one of the values.
    """

    attribute: AttributeKey = Field(description="Key of a span attribute.")
    values: Annotated[
        tuple[MatchValue, ...],
        BeforeValidator(_one_or_many, json_schema_input_type=MatchValue | list[MatchValue]),
    ] = Field(min_length=1, description="One value or several.")


def _form(value: object) -> str:
    return "matches" if isinstance(value, list | tuple) else "rule"


RootSpanCondition = Annotated[
    Annotated[RootSpanRule, Tag("rule")] | Annotated[tuple[RootSpanMatch, ...], Field(min_length=1), Tag("matches")],
    Discriminator(_form),
]
"""A rule by name, or attribute matches of which one is enough."""


def root_condition(configured: RootSpanCondition) -> RootCondition:
    """
    The condition as the buffer evaluates it.
    """
    if isinstance(configured, str):
        return RootCondition(accept_remote_parent=configured == "parent_empty_or_remote")
    return RootCondition(attributes=tuple(AttributeMatch(match.attribute, match.values) for match in configured))
