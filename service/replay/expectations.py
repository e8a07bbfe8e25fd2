"""
Which expectation a recorded trace gets, and why: as plain values for tables and JSON lines.
"""

from collections.abc import Iterator

from msgspec import Struct

from service.evaluation import ExpectedSource, Reason
from service.replay.scoring import ReplayRules
from service.replay.traces import RecordedTrace, assess_all
from service.scoring.assessment import Assessment
from service.scoring.policies import EntryFit, Fit


class ExplainedEntry(Struct, frozen=True):
    """
    One policy held against one occurrence.
    """

    name: str
    fit: Fit
    why: str


class ExplainedExpectation(Struct, frozen=True, kw_only=True):
    """
    What is expected of one occurrence, and where that comes from.
    """

    file: str
    occurrence: str
    service_name: str
    agent_name: str | None
    root_span_name: str
    is_eligible: bool
    """It has a TOOL or an LLM span; of others nothing is expected."""
    entries: list[ExplainedEntry]
    expectation: str | None
    expected_source: ExpectedSource | None
    expected_tools: list[str] | None
    conditions: list[str]
    failure: Reason | None

    @property
    def is_resolved(self) -> bool:
        return self.expected_tools is not None or bool(self.conditions)


def explain_expectations(trace: RecordedTrace, rules: ReplayRules, *, file: str) -> Iterator[ExplainedExpectation]:
    """
    The expectation of each occurrence of *trace*.
    """
    for assessment, _ in assess_all(trace, rules.assessor, rules.condition):
        yield _explained(assessment, rules, file)


def _explained(assessment: Assessment, rules: ReplayRules, file: str) -> ExplainedExpectation:
    facts, resolution = assessment.facts, assessment.resolution
    expected, conditions = resolution.expected, resolution.conditions
    return ExplainedExpectation(
        file=file,
        occurrence=assessment.occurrence,
        service_name=facts.service_name,
        agent_name=facts.agent_name,
        root_span_name=facts.root_span_name,
        is_eligible=assessment.is_eligible,
        entries=[ExplainedEntry(fit.name, fit.fit, _why(fit)) for fit in rules.assessor.explain_expectation(facts)],
        expectation=resolution.expectation or (conditions.expectation if conditions else None),
        expected_source=resolution.expected_source or (ExpectedSource.POLICY if conditions else None),
        expected_tools=list(expected.names) if expected else None,
        conditions=[condition.evaluation_name for condition in conditions.conditions] if conditions else [],
        failure=resolution.failure,
    )


def _why(fit: EntryFit) -> str:
    match fit.fit:
        case Fit.FITS:
            return "everything it asks for fits"
        case Fit.OTHER_PARTITION:
            return "it is for another partition"
        case Fit.WAITS_FOR_ROOT:
            return "it reads the root, which was not received: nothing is expected until it is"
        case Fit.DIFFERS:
            value = "is absent" if fit.value is None else f"is {fit.value}"
            return f"{fit.key} {value}, it wants {' or '.join(fit.patterns)}"
