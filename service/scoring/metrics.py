"""
The metrics beside tool selection accuracy, as evaluations.

Pure. A number is given if the evidence settles it; recall, which can only rise, also as a lower bound. Otherwise the
result is `not_scored` and its bounds say what is left open.
"""

from collections.abc import Callable, Mapping

from proto_adapters.canonical import ToolCall
from service.conditions import NameMatching
from service.config.metrics import Metric
from service.evaluation import Bounds, Evaluation, Reason, Status
from service.evidence import ToolEvidence
from service.scoring import formulas
from service.scoring.absence import absence_gap
from service.scoring.calls import NameIndex, find_calls
from service.scoring.expectations import ExpectedTools, Resolution
from service.scoring.formulas import ANYTHING, Observed
from service.scoring.identity import metric_identifier
from service.scoring.leaves import counted_calls
from service.scoring.settings import ScoringSettings

METRIC_VERSION = "1"

AGAINST_REQUIRED: Mapping[Metric, Callable[[Observed], Bounds]] = {
    Metric.MULTISET_PRECISION: formulas.multiset_precision,
    Metric.MULTISET_RECALL: formulas.multiset_recall,
    Metric.MULTISET_F1: formulas.multiset_f1,
    Metric.EXACT_MATCH: formulas.exact_match,
    Metric.IN_ORDER_MATCH: formulas.in_order_match,
    Metric.ANY_ORDER_MATCH: formulas.any_order_match,
}
OF_THE_CALLS: Mapping[Metric, Callable[[Observed], Bounds | None]] = {
    Metric.REDUNDANCY: formulas.redundancy,
    Metric.TOOL_SUCCESS_RATE: formulas.tool_success_rate,
    Metric.RETRIES_RECOVERED: formulas.retries_recovered,
}
OF_AN_ORDER = frozenset({Metric.EXACT_MATCH, Metric.IN_ORDER_MATCH})
UNDEFINED_WITHOUT_CALLS = frozenset({Metric.MULTISET_PRECISION, *OF_THE_CALLS})


def score_metrics(evidence: ToolEvidence, resolution: Resolution, settings: ScoringSettings) -> list[Evaluation]:
    """
    The evaluations of the metrics that are switched on and apply to the occurrence.
    """
    if not settings.metrics or (resolution.expected is None and resolution.conditions is None):
        return []
    gap = _gap(evidence, settings)
    observed = _observe(evidence, resolution.expected, gap, settings)
    scored = (_score(metric, observed, resolution, gap, settings) for metric in settings.metrics)
    return [evaluation for evaluation in scored if evaluation is not None]


def _gap(evidence: ToolEvidence, settings: ScoringSettings) -> Reason | None:
    """
    Why calls may be unseen. Whether completeness was inferred matters to a false only, not to a number.
    """
    gap = absence_gap(evidence, settings, embedded_calls_count=settings.count_embedded_calls)
    return None if gap is Reason.INFERRED_COVERAGE else gap


def _observe(
    evidence: ToolEvidence, expected: ExpectedTools | None, gap: Reason | None, settings: ScoringSettings
) -> Observed:
    required = expected.tools if expected else ()
    index = NameIndex(
        [tool.name for tool in required], NameMatching.NORMALIZED, with_aliases=settings.tool_name_aliases
    )

    def counts(call: ToolCall) -> bool:
        return not call.control_tool or bool(index.positions_of_call(call, with_joined=False))

    calls = tuple(call for call in counted_calls(evidence, settings) if counts(call))
    return Observed(
        required=required,
        calls=calls,
        found=tuple(find_calls(required, calls, NameMatching.NORMALIZED, with_aliases=settings.tool_name_aliases)),
        may_be_more=gap is not None,
        tolerance_ns=settings.clock_skew_tolerance_ns,
    )


def _score(
    metric: Metric, observed: Observed, resolution: Resolution, gap: Reason | None, settings: ScoringSettings
) -> Evaluation | None:
    expected = resolution.expected
    if metric in AGAINST_REQUIRED and expected is None:
        return None
    bounds = _bounds(metric, observed)
    if bounds is None:
        return None
    reason = _why_no_number(
        metric, observed, bounds, gap, no_calls_are_zero=bool(expected and expected.no_calls_are_zero)
    )
    return Evaluation(
        name=metric.value,
        type=metric.value,
        version=METRIC_VERSION,
        identifier=_identifier(metric, resolution, settings),
        status=Status.SCORED if reason is None else Status.NOT_SCORED,
        score=bounds.lower if reason is None else None,
        reason=reason,
        bounds=bounds,
        expected=expected.names if expected else (),
        called=tuple(sorted({call.name for call in observed.calls})),
        expectation=resolution.expectation,
        expected_source=resolution.expected_source,
    )


def _identifier(metric: Metric, resolution: Resolution, settings: ScoringSettings) -> str:
    tolerance_ns = settings.clock_skew_tolerance_ns if metric in OF_AN_ORDER else None
    return metric_identifier(metric.value, METRIC_VERSION, resolution, settings, tolerance_ns=tolerance_ns)


def _bounds(metric: Metric, observed: Observed) -> Bounds | None:
    if not observed.calls and metric in UNDEFINED_WITHOUT_CALLS:
        return None if metric is Metric.RETRIES_RECOVERED else ANYTHING
    if metric in AGAINST_REQUIRED:
        return AGAINST_REQUIRED[metric](observed)
    return OF_THE_CALLS[metric](observed)


def _why_no_number(
    metric: Metric, observed: Observed, bounds: Bounds, gap: Reason | None, *, no_calls_are_zero: bool
) -> Reason | None:
    if not observed.calls and gap is not Reason.NO_TOOL_EVIDENCE and gap is not Reason.NO_EXECUTION_SPANS:
        if metric in UNDEFINED_WITHOUT_CALLS or not no_calls_are_zero:
            return Reason.NO_TOOL_CALLS_OBSERVED
        return gap
    if bounds.is_exact or _is_lower_bound(metric, bounds, gap):
        return None
    if gap is not None:
        return gap
    matched = observed.matched
    return Reason.OVERLAPPING if metric in OF_AN_ORDER and matched.is_exact else Reason.NO_TOOL_EVIDENCE


def _is_lower_bound(metric: Metric, bounds: Bounds, gap: Reason | None) -> bool:
    """
    A recall from partial evidence can only rise: it is given, as tool selection accuracy is.
    """
    if metric is not Metric.MULTISET_RECALL or gap is None:
        return False
    return bounds.lower > 0 or gap not in {Reason.NO_TOOL_EVIDENCE, Reason.NO_EXECUTION_SPANS}
