"""
What the metrics about agents tell of evaluations, and what they never tell.
"""

import msgspec
import pytest
from doubles import ManualClock
from every_count import SPAN_ID, SUBJECT, TRACE_ID, a_score, a_verdict, metrics_of, points_of, values_of
from opentelemetry.sdk.metrics.export import HistogramDataPoint

from service.evaluation import Verdict
from service.evidence import Coverage, CoverageReason
from service.telemetry.otel_recorder import OtelRecorder
from service.telemetry.score_metrics import MAX_VALUE_LENGTH

BASE = {
    ("gen_ai.evaluation.name", "tool_selection_accuracy"),
    ("expectation", "refund"),
    ("partition", "trace"),
    ("service.name", "shop-agent"),
    ("gen_ai.agent.name", "refund"),
}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def recorder(clock: ManualClock) -> OtelRecorder:
    return OtelRecorder(clock)


def score_points(recorder: OtelRecorder) -> list[HistogramDataPoint]:
    points = points_of(recorder.collect(), "gen_ai.evaluation.score")
    return [point for point in points if isinstance(point, HistogramDataPoint)]


def test_a_score_is_counted_and_enters_the_histogram(recorder: OtelRecorder) -> None:
    recorder.scored(a_score(0.5), SUBJECT, enters_histogram=True)

    counted = values_of(recorder.collect(), "toolscore.evaluations")
    assert {frozenset(BASE | {("outcome", "scored"), ("coverage", "complete")}): 1} == counted
    (point,) = score_points(recorder)
    assert BASE == set((point.attributes or {}).items())
    assert (1, 0.5) == (point.count, point.sum)


def test_what_has_no_number_never_enters_the_histogram(recorder: OtelRecorder) -> None:
    subject = msgspec.structs.replace(SUBJECT, coverage=Coverage((CoverageReason.NO_ROOT,)))

    recorder.scored(a_score(None), subject, enters_histogram=True)
    recorder.scored(a_verdict(Verdict.UNDETERMINED), subject, enters_histogram=True)
    recorder.entered_late(a_verdict(Verdict.UNDETERMINED), subject)

    assert [] == score_points(recorder)
    outcomes = {
        (labels["outcome"], labels["coverage"], labels["reason"])
        for labels in (dict(series) for series in values_of(recorder.collect(), "toolscore.evaluations"))
    }
    assert {("not_scored", "partial", "partial_coverage"), ("undetermined", "partial", "overlapping")} == outcomes


def test_a_score_whose_bounds_are_open_is_counted_only(recorder: OtelRecorder) -> None:
    recorder.scored(a_score(0.5), SUBJECT, enters_histogram=False)

    assert [] == score_points(recorder)
    assert [1] == list(values_of(recorder.collect(), "toolscore.evaluations").values())


def test_a_score_that_becomes_exact_by_revision_enters_without_being_counted_again(recorder: OtelRecorder) -> None:
    recorder.entered_late(a_score(1.0), SUBJECT)

    assert [1] == [point.count for point in score_points(recorder)]
    assert {} == values_of(recorder.collect(), "toolscore.evaluations")


def test_an_exemplar_carries_the_ids_of_the_scored_trace(recorder: OtelRecorder, clock: ManualClock) -> None:
    recorder.scored(a_score(0.5), SUBJECT, enters_histogram=True)

    (exemplar,) = score_points(recorder)[0].exemplars
    assert (int.from_bytes(TRACE_ID, "big"), int.from_bytes(SPAN_ID, "big")) == (exemplar.trace_id, exemplar.span_id)
    assert (0.5, clock.now_ns()) == (exemplar.value, exemplar.time_unix_nano)


def test_no_id_is_ever_a_dimension(recorder: OtelRecorder) -> None:
    recorder.scored(a_score(0.5), SUBJECT, enters_histogram=True)

    values = [
        str(value)
        for _, metric in metrics_of(recorder.collect())
        for point in metric.data.data_points
        for value in (point.attributes or {}).values()
    ]
    assert [] == [value for value in values if TRACE_ID.hex() in value or SPAN_ID.hex() in value]


def test_missing_tools_are_counted_by_name_where_there_is_a_number(recorder: OtelRecorder) -> None:
    recorder.scored(a_score(0.0, missing=("lookup_order", "issue_refund")), SUBJECT, enters_histogram=True)
    recorder.scored(a_score(None, missing=("lookup_order",)), SUBJECT, enters_histogram=False)

    assert {
        frozenset(BASE | {("gen_ai.tool.name", "lookup_order")}): 1,
        frozenset(BASE | {("gen_ai.tool.name", "issue_refund")}): 1,
    } == values_of(recorder.collect(), "toolscore.missing_tools")


def test_configured_dimensions_are_labels_in_any_order_and_may_be_absent(clock: ManualClock) -> None:
    recorder = OtelRecorder(clock, dimensions=("tenant", "region"))
    subject = msgspec.structs.replace(SUBJECT, dimensions=(("region", "eu"), ("tenant", "acme")))

    recorder.scored(a_score(), subject, enters_histogram=True)
    recorder.scored(a_score(), SUBJECT, enters_histogram=True)

    labels = [set((point.attributes or {}).items()) for point in score_points(recorder)]
    assert [BASE | {("tenant", "acme"), ("region", "eu")}, BASE] == labels


def test_label_sets_over_the_cap_go_to_the_overflow_series(clock: ManualClock) -> None:
    recorder = OtelRecorder(clock, max_series=3)

    for number in range(10):
        subject = msgspec.structs.replace(SUBJECT, agent_name=f"agent-{number}")
        recorder.scored(a_score(missing=()), subject, enters_histogram=True)

    for name in ("gen_ai.evaluation.score", "toolscore.evaluations"):
        values = values_of(recorder.collect(), name)
        assert (4, 10) == (len(values), sum(values.values()))
        assert 7 == values[frozenset({("otel.metric.overflow", True)})]


def test_a_name_that_a_sender_made_huge_is_cut(recorder: OtelRecorder) -> None:
    subject = msgspec.structs.replace(SUBJECT, agent_name="a" * 1_000_000, service_name="s" * 1_000_000)

    recorder.scored(a_score(), subject, enters_histogram=True)

    values = (score_points(recorder)[0].attributes or {}).values()
    assert MAX_VALUE_LENGTH == max(len(str(value)) for value in values)


def test_a_name_that_is_no_text_does_not_break_the_outputs(recorder: OtelRecorder) -> None:
    subject = msgspec.structs.replace(SUBJECT, agent_name="caf\u00e9 \ud800")

    recorder.scored(a_score(), subject, enters_histogram=True)

    assert "café ?" == (score_points(recorder)[0].attributes or {})["gen_ai.agent.name"]


@pytest.mark.parametrize(
    ("before", "after", "overturned"),
    [
        (Verdict.TRUE, Verdict.FALSE, True),
        (Verdict.FALSE, Verdict.TRUE, True),
        (Verdict.UNDETERMINED, Verdict.TRUE, False),
        (Verdict.FALSE, Verdict.UNDETERMINED, False),
        (Verdict.TRUE, Verdict.TRUE, False),
    ],
)
def test_a_verdict_is_overturned_only_by_its_opposite(
    recorder: OtelRecorder, before: Verdict, after: Verdict, *, overturned: bool
) -> None:
    recorder.revised(a_verdict(before), a_verdict(after))

    labels = frozenset({("gen_ai.evaluation.name", "lookup_before_refund"), ("from", before), ("to", after)})
    assert {labels: 1} == values_of(recorder.collect(), "toolscore.revisions")
    assert ({labels: 1} if overturned else {}) == values_of(recorder.collect(), "toolscore.overturned_verdicts")


def test_score_series_expire_and_counts_of_the_service_stay(clock: ManualClock) -> None:
    recorder = OtelRecorder(clock, idle_ns=1_000)
    recorder.scored(a_score(), SUBJECT, enters_histogram=True)
    recorder.spans_read({"genai": 1})
    recorder.collect()

    clock.advance(1_000)

    assert [] == score_points(recorder)
    assert [1] == list(values_of(recorder.collect(), "toolscore.dialects.spans").values())


def test_a_clock_that_was_set_back_gives_no_negative_duration(recorder: OtelRecorder) -> None:
    recorder.scoring_took(-5)

    (point,) = points_of(recorder.collect(), "toolscore.scorer.duration")
    assert isinstance(point, HistogramDataPoint)
    assert 0 == point.sum
