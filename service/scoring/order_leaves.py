"""
Leaf conditions that read the order of calls: `tools_called_in_order`, `tools_called_in_partial_order`.

Pure. Calls become attempts here: an end may be as late as the resolution of its clock allows (design §6.2), and a call
that is no order evidence counts as unfinished.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from service.conditions import ToolsCalledInOrder, ToolsCalledInPartialOrder
from service.evaluation import Reason, Verdict
from service.evidence import ToolEvidence
from service.scoring import order, partial_order
from service.scoring.absence import absence_gap
from service.scoring.calls import FoundCalls, attempt_of, find_calls
from service.scoring.embedded_order import embedded_order_verdict
from service.scoring.findings import Finding, names_called, names_missing
from service.scoring.leaves import counted_calls
from service.scoring.order import Acquisition, Attempt, order_verdict
from service.scoring.partial_order import partial_order_verdict
from service.scoring.settings import ScoringSettings

OrderCondition = ToolsCalledInOrder | ToolsCalledInPartialOrder

WITHHOLD_FALSE = frozenset({Reason.REQUESTS_UNLINKED, Reason.INFERRED_COVERAGE})
"""Gaps under which all that was sent was seen: they take away a false, nothing else."""


class _Answer(NamedTuple):
    """
    A verdict on an order, and the listed tool that no uncontradicted choice of calls reaches, if that is known.
    """

    verdict: Verdict
    unreachable: int | None = None


def find_tools_called_in_order(condition: OrderCondition, evidence: ToolEvidence, settings: ScoringSettings) -> Finding:
    """
    True if the order is established, false if complete evidence rules it out.
    """
    embedded = settings.order_from_embedded_calls and bool(evidence.embedded_calls) and not evidence.calls
    gap = absence_gap(evidence, settings, embedded_calls_count=settings.order_from_embedded_calls)
    calls = evidence.embedded_calls if embedded else counted_calls(evidence, settings)
    found = find_calls(condition.tools, calls, condition.name_matching, with_aliases=settings.tool_name_aliases)
    answer = (
        _answer_from_completions(condition, found, gap)
        if embedded
        else _answer_from_intervals(condition, found, tolerance_of(condition, settings), gap)
    )
    missing = names_missing(condition.tools, found)
    return Finding(
        answer.verdict,
        _reason(answer, missing, gap) if answer.verdict is Verdict.UNDETERMINED else None,
        called=names_called(condition.tools, found),
        missing=missing,
        explanation=_explain(condition, answer, missing),
        from_embedded_calls=embedded,
    )


def tolerance_of(condition: OrderCondition, settings: ScoringSettings) -> int:
    """
    The clock skew tolerance that is used: the condition's own, else the processor's.
    """
    own = condition.clock_skew_tolerance_ns
    return settings.clock_skew_tolerance_ns if own is None else own


def pairs_of(condition: OrderCondition) -> Sequence[tuple[int, int]]:
    if isinstance(condition, ToolsCalledInPartialOrder):
        return condition.pairs
    return tuple(pairwise(range(len(condition.tools))))


def _attempts(found: FoundCalls) -> list[Attempt]:
    certain = [attempt_of(call) for call in found.certain]
    return certain + [attempt_of(call, is_certain=False) for call in found.uncertain]


def _acquisition(gap: Reason | None) -> Acquisition:
    return Acquisition.COMPLETE if gap in {None, Reason.REQUESTS_UNLINKED} else Acquisition.PARTIAL


def _answer_from_intervals(
    condition: OrderCondition, found: Sequence[FoundCalls], tolerance: int, gap: Reason | None
) -> _Answer:
    steps = [_attempts(calls) for calls in found]
    acquisition, linked = _acquisition(gap), gap is not Reason.REQUESTS_UNLINKED
    certain = [[attempt for attempt in attempts if attempt.is_certain] for attempts in steps]
    if isinstance(condition, ToolsCalledInOrder):
        return _Answer(
            order_verdict(steps, tolerance=tolerance, acquisition=acquisition, all_requests_linked=linked),
            order.first_impossible(certain, tolerance),
        )
    pairs = condition.pairs
    return _Answer(
        partial_order_verdict(steps, pairs, tolerance=tolerance, acquisition=acquisition, all_requests_linked=linked),
        partial_order.first_impossible(certain, pairs, tolerance),
    )


def _answer_from_completions(condition: OrderCondition, found: Sequence[FoundCalls], gap: Reason | None) -> _Answer:
    verdict = embedded_order_verdict(
        [calls.certain for calls in found],
        [calls.all for calls in found],
        pairs_of(condition),
        acquisition=_acquisition(gap),
        all_requests_linked=gap is not Reason.REQUESTS_UNLINKED,
    )
    return _Answer(verdict)


def _reason(answer: _Answer, missing: Sequence[str], gap: Reason | None) -> Reason:
    """
    Why there is no verdict: what evidence lacks comes first, then overlap, then what withholds a false.
    """
    if gap is not None and gap not in WITHHOLD_FALSE:
        return gap
    if not missing and answer.unreachable is None:
        return Reason.OVERLAPPING
    return gap or Reason.NO_TOOL_EVIDENCE  # the arguments of a call are not known


def _explain(condition: OrderCondition, answer: _Answer, missing: Sequence[str]) -> str:
    if answer.verdict is Verdict.TRUE:
        return ""
    if missing:
        return f"missing: {', '.join(missing)}"
    required = ", ".join(tool.name for tool in condition.tools)
    if answer.verdict is Verdict.UNDETERMINED:
        return f"no order is established: {required}"
    culprit = "" if answer.unreachable is None else f" {condition.tools[answer.unreachable].name}"
    return f"out of order:{culprit} (required: {required})"
