"""
Tool selection accuracy: the share of the expected tools that were called.

Pure. Presence only: order, repeats and further tools play no part (seed 000). Never a 0.0 that means "unknown": without
evidence that calls would have been seen there is no number (design §5, §6.1).
"""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from proto_adapters.canonical import Shape
from proto_adapters.tool_names import comparison_key
from service.conditions import NameMatching
from service.evaluation import Bounds, Evaluation, Reason, Status
from service.evidence import CoverageReason, ToolEvidence
from service.scoring.calls import NameIndex
from service.scoring.expectations import ExpectedTools, Resolution
from service.scoring.identity import metric_identifier
from service.scoring.requests import requested_not_executed
from service.scoring.settings import ScoringSettings

METRIC_TYPE = "tool_selection_accuracy"
METRIC_VERSION = "2.0.0"

NO_SPAN_MISSING = frozenset(
    {
        CoverageReason.TOOL_NAME_MISSING,
        CoverageReason.TOOL_NAME_CONFLICT,
        CoverageReason.SPAN_TIME_INVALID,
        CoverageReason.COMPLETION_HIDDEN,
    }
)
"""Reasons of partial coverage under which every span of the occurrence was received all the same."""

ANYTHING = Bounds(0.0, 1.0)


class Comparison(Struct, frozen=True):
    """
    Expected names against called names. `expected` are distinct, as first written; `missing` are sorted.
    """

    expected: tuple[str, ...]
    called: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def fraction(self) -> float:
        return (len(self.expected) - len(self.missing)) / len(self.expected)


def score_selection(evidence: ToolEvidence, resolution: Resolution, settings: ScoringSettings) -> Evaluation | None:
    """
    The evaluation of one occurrence, or `None` if selection is not asked for (only conditions resolved), or not yet.
    """
    unscored = _without_number(resolution, settings)
    if not evidence.shapes:
        return unscored
    if resolution.expected is not None:
        return _score(unscored, evidence, resolution.expected, settings)
    if resolution.failure is not None:
        return replace(unscored, status=Status.FAILED, reason=resolution.failure)
    if resolution.is_pending or resolution.conditions is not None:
        return None
    return replace(unscored, status=Status.FAILED, reason=Reason.EXPECTED_TOOLS_UNRESOLVED)


def compare_names(expected: Iterable[str], called: Iterable[str], *, with_aliases: bool = False) -> Comparison:
    """
    Which of the *expected* tools were *called*, under the comparison key.
    """
    distinct = {comparison_key(name): name for name in reversed(tuple(expected))}
    names = tuple(reversed(distinct.values()))
    index = NameIndex(names, NameMatching.NORMALIZED, with_aliases=with_aliases)
    observed = {comparison_key(name): name for name in sorted(called, reverse=True)}
    seen = {position for name in observed.values() for position in index.positions_of(name)}
    missing = sorted(name for position, name in enumerate(names) if position not in seen)
    return Comparison(names, tuple(sorted(observed.values())), tuple(missing))


def _without_number(resolution: Resolution, settings: ScoringSettings) -> Evaluation:
    return Evaluation(
        name=settings.metric_name,
        type=METRIC_TYPE,
        version=METRIC_VERSION,
        identifier=metric_identifier(METRIC_TYPE, METRIC_VERSION, resolution, settings),
        status=Status.INELIGIBLE,
        expectation=resolution.expectation,
        expected_source=resolution.expected_source,
    )


def _score(
    unscored: Evaluation, evidence: ToolEvidence, expected: ExpectedTools, settings: ScoringSettings
) -> Evaluation:
    names = compare_names(expected.names, evidence.called_names, with_aliases=settings.tool_name_aliases)
    reason = why_no_number(evidence, names, no_calls_are_zero=expected.no_calls_are_zero)
    return replace(
        unscored,
        status=Status.SCORED if reason is None else Status.NOT_SCORED,
        score=names.fraction if reason is None else None,
        reason=reason,
        bounds=_bounds(evidence, names),
        expected=names.expected,
        called=names.called,
        missing=names.missing,
        requested_not_executed=requested_not_executed(evidence) if Shape.TOOL_SPANS in evidence.shapes else (),
        explanation=f"missing: {', '.join(names.missing)}" if names.missing else "",
    )


def why_no_number(evidence: ToolEvidence, names: Comparison, *, no_calls_are_zero: bool) -> Reason | None:
    """
    Why the fraction is not a score; `None` if it is one.
    """
    if names.fraction > 0:
        return None
    if not evidence.has_tool_evidence:
        return Reason.NO_TOOL_EVIDENCE
    if evidence.called_names and evidence.observed_call_count:
        return None
    if not no_calls_are_zero:
        return Reason.NO_TOOL_CALLS_OBSERVED
    return None if evidence.coverage.is_complete else Reason.PARTIAL_COVERAGE


def _bounds(evidence: ToolEvidence, names: Comparison) -> Bounds:
    """
    The range in which the fraction of complete evidence lies (design §6.1).
    """
    no_calls = not evidence.called_names or not evidence.observed_call_count
    if evidence.coverage.is_complete and evidence.all_requests_linked:
        return Bounds(names.fraction, names.fraction) if evidence.has_tool_evidence else ANYTHING
    if Shape.LLM_EMBEDDED in evidence.shapes or (no_calls and not names.fraction):
        return ANYTHING
    if not evidence.all_requests_linked or not NO_SPAN_MISSING.issuperset(evidence.coverage.reasons):
        return Bounds(names.fraction, 1.0)
    return Bounds(names.fraction, min(1.0, names.fraction + evidence.nameless_calls / len(names.expected)))
