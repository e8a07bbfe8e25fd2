"""
Trees of conditions: `all_of`, `any_of`, `majority`, `not`.

Configuration values only. The three-valued tables stand in `service.scoring.trees`.
"""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, model_validator

from service.conditions.leaves import (
    NamedCondition,
    ToolCallCount,
    ToolsCalled,
    ToolsCalledInOrder,
    ToolsCalledInPartialOrder,
    ToolsNotCalled,
)

MAX_TREE_DEPTH = 8
"""Levels of a tree, its leaves included: deeper ones are mistakes or attacks."""


class TreeCondition(NamedCondition):
    """
    Base of the conditions that read other conditions.
    """

    @property
    def children(self) -> tuple["Condition", ...]:
        raise NotImplementedError

    @property
    def depth(self) -> int:
        return 1 + max(child.depth if isinstance(child, TreeCondition) else 1 for child in self.children)

    @model_validator(mode="after")
    def _check_depth(self) -> "TreeCondition":
        if self.depth > MAX_TREE_DEPTH:
            message = f"conditions may be nested {MAX_TREE_DEPTH} levels deep at most"
            raise ValueError(message)
        return self


class ListTree(TreeCondition):
    """
    Base of the trees over a list of conditions.
    """

    conditions: tuple["Condition", ...] = Field(min_length=1, description="The conditions that are joined.")

    @property
    def children(self) -> tuple["Condition", ...]:
        return self.conditions


class AllOf(ListTree):
    """
    Every condition is true.
    """

    condition_type: Literal["all_of"] = "all_of"


class AnyOf(ListTree):
    """
    At least one condition is true.
    """

    condition_type: Literal["any_of"] = "any_of"


class Majority(ListTree):
    """
    More than half of the conditions are true.
    """

    condition_type: Literal["majority"] = "majority"


class Not(TreeCondition):
    """
    The condition is false.
    """

    condition_type: Literal["not"] = "not"
    condition: "Condition" = Field(description="The condition that is turned round.")

    @property
    def children(self) -> tuple["Condition", ...]:
        return (self.condition,)


Leaf = ToolsCalled | ToolsCalledInOrder | ToolsNotCalled | ToolCallCount | ToolsCalledInPartialOrder
Tree = AllOf | AnyOf | Majority | Not
Condition = Annotated[Leaf | Tree, Field(discriminator="condition_type")]

for _tree in (ListTree, AllOf, AnyOf, Majority, Not):
    _tree.model_rebuild()


def walk(condition: Condition) -> Iterator[Condition]:
    """
    The condition and all below it, parents first, in order.
    """
    yield condition
    if isinstance(condition, TreeCondition):
        for child in condition.children:
            yield from walk(child)
