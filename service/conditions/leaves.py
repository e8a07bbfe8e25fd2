"""
Leaf conditions: one question each, read from tool calls.

Configuration values only. Names of one condition are distinct under its `name_matching` (design §6.3, seed 004).
"""

from collections.abc import Iterable
from enum import StrEnum
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise, product
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_validator

from proto_adapters.tool_names import comparison_key
from service.conditions.tools import ConfigValue, Tool, ToolName, ToolRequirement
from service.durations import format_duration, parse_duration

CONDITION_VERSION = "1"
"""Version of the rules that answer conditions; part of every identifier."""

ConditionName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=128)]

Tolerance = Annotated[
    int,
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration),
    WithJsonSchema({"type": ["string", "integer"]}),
]


class NameMatching(StrEnum):
    """
    How names are compared: as they are, or without regard to case and separators (decisions D1, D2).
    """

    EXACT = "exact"
    NORMALIZED = "normalized"

    def key(self, name: str) -> str:
        return name if self is NameMatching.EXACT else comparison_key(name)


class NamedCondition(ConfigValue):
    """
    Base of leaves and trees: each is an evaluation with a name of its own.
    """

    condition_type: str
    name: ConditionName | None = Field(default=None, description="Name of the evaluation; default: condition_type.")

    @property
    def evaluation_name(self) -> str:
        return self.name or self.condition_type


class LeafCondition(NamedCondition):
    """
    Base of the conditions that read tool calls.
    """

    name_matching: NameMatching = Field(default=NameMatching.EXACT, description="`exact` or `normalized`.")

    @property
    def requirements(self) -> tuple[ToolRequirement, ...]:
        """The tools that the condition reads, in its order."""
        raise NotImplementedError

    @model_validator(mode="after")
    def _check_distinct_names(self) -> "LeafCondition":
        names = [tool.name for tool in self.requirements]
        if len({self.name_matching.key(name) for name in names}) < len(names):
            raise ValueError("tools: each tool is named once")
        return self


Tools = Annotated[tuple[Tool, ...], Field(min_length=1, description="Tools, as strings or `{name: …}`.")]


class ToolsCalled(LeafCondition):
    """
    Every listed tool was called.
    """

    condition_type: Literal["tools_called"] = "tools_called"
    tools: Tools

    @property
    def requirements(self) -> tuple[ToolRequirement, ...]:
        return self.tools


class ToolsNotCalled(LeafCondition):
    """
    No listed tool was called.
    """

    condition_type: Literal["tools_not_called"] = "tools_not_called"
    tools: Tools

    @property
    def requirements(self) -> tuple[ToolRequirement, ...]:
        return self.tools


class ToolsCalledInOrder(LeafCondition):
    """
    The listed tools were called one after the other, in this order (seed 004).
    """

    condition_type: Literal["tools_called_in_order"] = "tools_called_in_order"
    tools: tuple[Tool, ...] = Field(min_length=2, description="At least two tools, in the required order.")
    clock_skew_tolerance_ns: Tolerance | None = Field(
        default=None, alias="clock_skew_tolerance", description="Gap that proves no order; default: the processor's."
    )

    @property
    def requirements(self) -> tuple[ToolRequirement, ...]:
        return self.tools


class CallCount(ToolRequirement):
    """
    How often one tool may be called.
    """

    min: int = Field(default=0, ge=0, strict=True, description="Least number of calls.")
    max: int | None = Field(default=None, ge=0, strict=True, description="Greatest number of calls; default: no limit.")

    @model_validator(mode="after")
    def _check_bounds(self) -> "CallCount":
        if self.min == 0 and self.max is None:
            raise ValueError("min (above 0) or max must be given")
        if self.max is not None and self.max < self.min:
            raise ValueError("max must not be less than min")
        return self


class ToolCallCount(LeafCondition):
    """
    Every listed tool was called as often as its bounds allow; retries count as calls.
    """

    condition_type: Literal["tool_call_count"] = "tool_call_count"
    tools: tuple[CallCount, ...] = Field(min_length=1, description="Tools with `min`, `max` or both.")

    @property
    def requirements(self) -> tuple[ToolRequirement, ...]:
        return self.tools


class ToolsCalledInPartialOrder(LeafCondition):
    """
    All listed tools were called, in an order that has every required pair.

    `before` holds pairs; `groups` holds stages, where each tool of a stage comes before each tool of the next.
    """

    condition_type: Literal["tools_called_in_partial_order"] = "tools_called_in_partial_order"
    tools: tuple[Tool, ...] = Field(min_length=2, description="All tools that must be called.")
    before: tuple[tuple[ToolName, ToolName], ...] = Field(
        default=(), description="Pairs `[earlier, later]` of names from `tools`."
    )
    groups: tuple[Annotated[tuple[ToolName, ...], Field(min_length=1)], ...] = Field(
        default=(), description="Stages of names from `tools`; the order inside a stage is free."
    )
    clock_skew_tolerance_ns: Tolerance | None = Field(
        default=None, alias="clock_skew_tolerance", description="Gap that proves no order; default: the processor's."
    )

    @property
    def requirements(self) -> tuple[ToolRequirement, ...]:
        return self.tools

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The required pairs as positions in `tools`, sorted, each once."""
        position = {self.name_matching.key(tool.name): index for index, tool in enumerate(self.tools)}
        return tuple(sorted({(self._find(position, a), self._find(position, b)) for a, b in self._named_pairs()}))

    def _named_pairs(self) -> Iterable[tuple[str, str]]:
        yield from self.before
        for earlier, later in pairwise(self.groups):
            yield from product(earlier, later)

    def _find(self, position: dict[str, int], name: str) -> int:
        try:
            return position[self.name_matching.key(name)]
        except KeyError:
            message = f"before/groups: {name!r} is not among tools"
            raise ValueError(message) from None

    @model_validator(mode="after")
    def _check_order(self) -> "ToolsCalledInPartialOrder":
        pairs = self.pairs
        if not pairs:
            raise ValueError("before or groups must order at least one pair of tools")
        sorter = TopologicalSorter[int]()
        for earlier, later in pairs:
            sorter.add(later, earlier)
        try:
            sorter.prepare()
        except CycleError as cycle:
            names = [self.tools[index].name for index in cycle.args[1]]
            message = f"before/groups: {' before '.join(names)} is a cycle"
            raise ValueError(message) from cycle
        return self
