"""
The `expectations` block: what is required of live traffic, as a list of entries like a routing table.

The first entry whose `match` fits an occurrence gives its expected tools and its conditions (design §7).
"""

from enum import StrEnum
from itertools import combinations
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from service.conditions import Condition, LeafCondition, Tool, walk
from service.config.values import AttributeKey, Block, Name, Switch
from service.evaluation import ExpectedSource
from service.evidence import Partition

RESERVED_NAMES = frozenset(source.value for source in ExpectedSource)
"""What an expectation is called that comes from elsewhere than an entry."""


class PolicyPartition(StrEnum):
    """
    What kind of occurrence an entry is for.
    """

    TRACE = "trace"
    SESSION = "session"
    BOTH = "both"

    def covers(self, partition: Partition) -> bool:
        return self is PolicyPartition.BOTH or self.value == partition.value

    def covers_all_of(self, other: "PolicyPartition") -> bool:
        return self in {PolicyPartition.BOTH, other}


def _one_or_many(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Patterns = Annotated[
    tuple[Annotated[str, Field(max_length=1024)], ...],
    BeforeValidator(_one_or_many, json_schema_input_type=str | list[str]),
    Field(min_length=1),
]
"""One or several alternatives; `*` in them stands for any text."""


class ExpectationMatch(Block):
    """
    Which occurrences an entry is for: all given keys must fit. An empty match fits every occurrence.
    """

    service_name: Patterns | None = Field(default=None, description="`service.name` of the root's resource.")
    resource: dict[AttributeKey, Patterns] = Field(default={}, description="Resource attributes of the root.")
    attributes: dict[AttributeKey, Patterns] = Field(default={}, description="Attributes of the root span.")
    root_span_name: Patterns | None = Field(default=None, description="Name of the root span.")
    agent_name: Patterns | None = Field(default=None, description="Agent name of the outermost AGENT span.")

    @property
    def demands(self) -> frozenset[tuple[str, str, frozenset[str]]]:
        """All that has to fit: the key, the attribute if it is one, the alternatives."""
        single = {
            "service_name": self.service_name,
            "root_span_name": self.root_span_name,
            "agent_name": self.agent_name,
        }
        by_attribute = {"resource": self.resource, "attributes": self.attributes}
        return frozenset(
            [(key, "", frozenset(patterns)) for key, patterns in single.items() if patterns is not None]
            + [
                (key, attribute, frozenset(patterns))
                for key, attributes in by_attribute.items()
                for attribute, patterns in attributes.items()
            ]
        )


class ExpectationConfig(Block):
    """
    One entry: for which occurrences, and what is required of them.
    """

    name: Name = Field(description="Name of the expectation in every result.")
    match: ExpectationMatch = Field(default=ExpectationMatch(), description="Which occurrences; empty fits all.")
    partition: PolicyPartition = Field(
        default=PolicyPartition.TRACE, description="What the entry is for: `trace`, `session` or `both`."
    )
    expected_tools: tuple[Tool, ...] | None = Field(
        default=None, min_length=1, description="Required tools, as strings or `{name: …}`."
    )
    conditions: tuple[Condition, ...] = Field(default=(), description="Conditions; each is an evaluation of its own.")
    treat_no_calls_as_zero: Switch = Field(
        default=False,
        description="Score an occurrence without any observed tool call 0.0 when its evidence is complete.",
    )

    @property
    def evaluation_names(self) -> tuple[str, ...]:
        """Names of all evaluations that the conditions give, the nodes of trees included."""
        return tuple(node.evaluation_name for condition in self.conditions for node in walk(condition))

    @property
    def reads_arguments(self) -> bool:
        """Calls are compared by their arguments, so that these must be kept."""
        leaves = (node for condition in self.conditions for node in walk(condition) if isinstance(node, LeafCondition))
        required = (*(self.expected_tools or ()), *(tool for leaf in leaves for tool in leaf.requirements))
        return any(tool.reads_arguments for tool in required)

    @model_validator(mode="after")
    def _check_entry(self) -> "ExpectationConfig":
        if self.name in RESERVED_NAMES:
            message = f"name: {self.name!r} is what results say that no entry gave"
            raise ValueError(message)
        if not self.expected_tools and not self.conditions:
            raise ValueError("expected_tools or conditions must be given")
        names = self.evaluation_names
        if repeated := {name for name in names if names.count(name) > 1}:
            message = f"conditions: {', '.join(sorted(repeated))} names more than one condition; give each a name"
            raise ValueError(message)
        return self


def _check_entries(entries: tuple[ExpectationConfig, ...]) -> tuple[ExpectationConfig, ...]:
    names = [entry.name for entry in entries]
    if repeated := {name for name in names if names.count(name) > 1}:
        message = f"{', '.join(sorted(repeated))} names more than one entry"
        raise ValueError(message)
    demands = [(entry, entry.match.demands) for entry in entries]
    for (first, asked), (later, asked_later) in combinations(demands, 2):
        if asked <= asked_later and first.partition.covers_all_of(later.partition):
            message = f"{later.name} can never decide: whatever it fits, {first.name} fits too and stands before it"
            raise ValueError(message)
    return entries


Expectations = Annotated[tuple[ExpectationConfig, ...], AfterValidator(_check_entries)]
