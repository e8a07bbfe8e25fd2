"""
Conditions: what an expectation asks of the tool calls of one occurrence, answered true, false or undetermined.

Configuration values only: frozen, `extra="forbid"`, registered under their `condition_type`. How they are answered is
the business of `service.scoring`.
"""

from service.conditions.leaves import (
    CONDITION_VERSION,
    CallCount,
    LeafCondition,
    NameMatching,
    ToolCallCount,
    ToolsCalled,
    ToolsCalledInOrder,
    ToolsCalledInPartialOrder,
    ToolsNotCalled,
)
from service.conditions.registry import CONDITION_TYPES, condition_registry, parse_condition
from service.conditions.tools import ArgumentMatch, Tool, ToolRequirement
from service.conditions.trees import (
    MAX_TREE_DEPTH,
    AllOf,
    AnyOf,
    Condition,
    Leaf,
    Majority,
    Not,
    TreeCondition,
    walk,
)

__all__ = [
    "CONDITION_TYPES",
    "CONDITION_VERSION",
    "MAX_TREE_DEPTH",
    "AllOf",
    "AnyOf",
    "ArgumentMatch",
    "CallCount",
    "Condition",
    "Leaf",
    "LeafCondition",
    "Majority",
    "NameMatching",
    "Not",
    "Tool",
    "ToolCallCount",
    "ToolRequirement",
    "ToolsCalled",
    "ToolsCalledInOrder",
    "ToolsCalledInPartialOrder",
    "ToolsNotCalled",
    "TreeCondition",
    "condition_registry",
    "parse_condition",
    "walk",
]
