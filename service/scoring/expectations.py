"""
Where an expectation comes from: annotation, attribute, policy, run (design §7).

Pure. Expected tools and conditions resolve independently, for each occurrence, and the first source that says something
wins. A policy that reads the root waits for it: until then nothing is resolved.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from proto_adapters.canonical import NO_ATTRIBUTES, Attributes, AttributeValue
from service.conditions import Condition, ToolRequirement
from service.config.expectations import ExpectationConfig
from service.config.tool_selection_accuracy import ToolSelectionAccuracyConfig
from service.evaluation import ExpectedSource, Reason
from service.evidence import Partition
from service.scoring.annotations import EXPECTED_TOOLS_COLUMN, AnnotationInvalid, read_tool_names
from service.scoring.policies import EntryFit, Fit, MatchValues, Policies

MEMO_SIZE = 1_024
"""Lists of names whose requirements are remembered; annotations may hold any number of them."""


class OccurrenceFacts(Struct, frozen=True, kw_only=True):
    """
    What of an occurrence decides its expectation.
    """

    partition: Partition = Partition.TRACE
    occurrence: str = ""
    """Trace id in lower-case hex, or the bare session id."""
    service_name: str = ""
    has_root: bool = True
    root_span_name: str = ""
    root_attributes: Attributes = NO_ATTRIBUTES
    resource_attributes: Attributes = NO_ATTRIBUTES
    has_agent: bool = False
    agent_name: str | None = None
    """Name of the outermost AGENT span."""
    attribute_value: AttributeValue = None
    """Value of `expected_tools_attribute`, if that is configured and any span has it."""
    annotation: Mapping[str, str] | None = None
    """What the occurrence was annotated with when its evidence was stored; comes before every other source."""


class ExpectedTools(Struct, frozen=True):
    """
    Resolved tools with their provenance.
    """

    tools: tuple[ToolRequirement, ...]
    source: ExpectedSource
    expectation: str
    no_calls_are_zero: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(tool.name for tool in self.tools)

    @property
    def is_own(self) -> bool:
        """They belong to this occurrence alone."""
        return self.source in {ExpectedSource.ANNOTATION, ExpectedSource.ATTRIBUTE}


class ResolvedConditions(Struct, frozen=True):
    """
    The conditions of the policy that fits.
    """

    conditions: tuple[Condition, ...]
    expectation: str


class Resolution(Struct, frozen=True, kw_only=True):
    """
    What is expected of one occurrence.
    """

    expected: ExpectedTools | None = None
    conditions: ResolvedConditions | None = None
    failure: Reason | None = None
    """The source that would have won cannot be read."""
    failed_source: ExpectedSource | None = None
    is_pending: bool = False
    """A policy has to wait for the root: what is not resolved yet is not unresolved."""
    treat_no_calls_as_zero: bool = False

    @property
    def expectation(self) -> str | None:
        return self.expected.expectation if self.expected else self.failed_source

    @property
    def expected_source(self) -> ExpectedSource | None:
        return self.expected.source if self.expected else self.failed_source


class Resolver:
    """
    Resolves the expectation of occurrences under one configuration.
    """

    def __init__(
        self,
        selection: ToolSelectionAccuracyConfig | None = None,
        entries: Sequence[ExpectationConfig] = (),
        annotations: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        """
        *annotations* come before those of the *selection* block; the mapping may change between calls.
        """
        self._selection = selection or ToolSelectionAccuracyConfig()
        self._annotations = annotations if annotations is not None else {}
        self._policies = Policies(entries)

    def resolve(self, facts: OccurrenceFacts) -> Resolution:
        """
        The expectation of the occurrence that *facts* tell of.
        """
        entry, fit = self._policies.find(self._match_values(facts))
        resolution = Resolution(
            conditions=ResolvedConditions(entry.conditions, entry.name) if entry and entry.conditions else None,
            is_pending=fit is Fit.WAITS_FOR_ROOT,
            treat_no_calls_as_zero=self._selection.treat_no_calls_as_zero,
        )
        return self._with_expected_tools(resolution, facts, entry)

    def explain(self, facts: OccurrenceFacts) -> tuple[EntryFit, ...]:
        """
        How each entry stands to the occurrence, up to the one that decides.
        """
        return self._policies.explain(self._match_values(facts))

    def is_settled(self, facts: OccurrenceFacts, *, root_is_agent: bool) -> bool:
        """
        Whether no span that is still to come can make another policy decide, whether one fits or none.
        """
        keys = self._policies.keys_read(self._match_values(facts))
        return not keys or (facts.has_root and (root_is_agent or "agent_name" not in keys))

    def _match_values(self, facts: OccurrenceFacts) -> MatchValues:
        return MatchValues(
            partition=facts.partition,
            has_root=facts.has_root,
            has_agent=facts.has_agent,
            service_name=facts.service_name,
            root_span_name=facts.root_span_name,
            agent_name=facts.agent_name,
            root_attributes=self._policies.root_texts(facts.root_attributes),
            resource_attributes=self._policies.resource_texts(facts.resource_attributes),
        )

    def _with_expected_tools(
        self, resolution: Resolution, facts: OccurrenceFacts, entry: ExpectationConfig | None
    ) -> Resolution:
        for source, value in self._own_values(facts):
            try:
                names = read_tool_names(value)
            except AnnotationInvalid:
                return replace(resolution, failure=Reason.ANNOTATION_INVALID, failed_source=source)
            if names is not None:
                flag = self._selection.treat_no_calls_as_zero
                return replace(resolution, expected=_expect(names, source, no_calls_are_zero=flag))
        return replace(resolution, expected=self._configured_tools(entry, is_pending=resolution.is_pending))

    def _own_values(self, facts: OccurrenceFacts) -> Iterator[tuple[ExpectedSource, AttributeValue]]:
        """
        What the occurrence itself is annotated with, best source first.
        """
        yield ExpectedSource.ANNOTATION, (facts.annotation or {}).get(EXPECTED_TOOLS_COLUMN)
        for annotations in (self._annotations, self._selection.annotations or {}):
            yield ExpectedSource.ANNOTATION, annotations.get(facts.occurrence, {}).get(EXPECTED_TOOLS_COLUMN)
        yield ExpectedSource.ATTRIBUTE, facts.attribute_value

    def _configured_tools(self, entry: ExpectationConfig | None, *, is_pending: bool) -> ExpectedTools | None:
        if is_pending:
            return None
        if entry is not None and entry.expected_tools is not None:
            return ExpectedTools(entry.expected_tools, ExpectedSource.POLICY, entry.name, entry.treat_no_calls_as_zero)
        if self._selection.expected_tools is not None:
            return _expect(self._selection.expected_tools, ExpectedSource.RUN)
        return None


def _expect(names: Iterable[str], source: ExpectedSource, *, no_calls_are_zero: bool = False) -> ExpectedTools:
    return ExpectedTools(_requirements(tuple(names)), source, source.value, no_calls_are_zero)


@lru_cache(maxsize=MEMO_SIZE)
def _requirements(names: tuple[str, ...]) -> tuple[ToolRequirement, ...]:
    """
    Every trace of a run has the same; making the models anew for each took as long as scoring a small trace.
    """
    return tuple(ToolRequirement.model_construct(name=name) for name in names)
