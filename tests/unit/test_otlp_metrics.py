"""
Metrics as OTLP requests: which, since when, and with which exemplars.
"""

import pytest
from doubles import ManualClock
from every_count import SPAN_ID, SUBJECT, TRACE_ID, a_score, drive
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, Metric

from service.telemetry.metadata import load_metadata
from service.telemetry.otel_recorder import OtelRecorder
from service.telemetry.otlp_metrics import MetricsRequest, OtlpMetrics, Selection

SECOND = 1_000_000_000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def recorder(clock: ManualClock) -> OtelRecorder:
    return OtelRecorder(clock, resource={"service.name": "toolscore", "service.instance.id": "a"}, version="1.2.3")


def decode(request: MetricsRequest | None) -> dict[str, Metric]:
    assert request is not None
    message = ExportMetricsServiceRequest.FromString(request.payload)
    return {
        metric.name: metric
        for resource in message.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }


def test_only_score_metrics_are_sent_by_default(recorder: OtelRecorder) -> None:
    drive(recorder)

    scores, *_ = load_metadata().sections
    assert set(scores.metrics) == set(decode(OtlpMetrics().encode(recorder.collect())))


def test_all_metrics_are_sent_if_wanted(recorder: OtelRecorder, clock: ManualClock) -> None:
    clock.advance(SECOND)
    drive(recorder)

    described = {name for _, name, _ in load_metadata().expanded()}
    assert described == set(decode(OtlpMetrics(Selection.ALL).encode(recorder.collect())))


def test_nothing_is_sent_where_nothing_was_counted(clock: ManualClock) -> None:
    assert OtlpMetrics().encode(OtelRecorder(clock).collect()) is None


def test_a_request_says_how_many_points_it_holds(recorder: OtelRecorder) -> None:
    recorder.scored(a_score(), SUBJECT, enters_histogram=True)

    request = OtlpMetrics().encode(recorder.collect())

    assert request is not None
    assert request.point_count == sum(
        len(metric.sum.data_points) + len(metric.histogram.data_points) for metric in decode(request).values()
    )
    assert 3 == request.point_count


def test_resource_and_scope_name_the_service(recorder: OtelRecorder) -> None:
    recorder.scored(a_score(), SUBJECT, enters_histogram=True)

    request = OtlpMetrics().encode(recorder.collect())

    assert request is not None
    (resource,) = ExportMetricsServiceRequest.FromString(request.payload).resource_metrics
    names = {attribute.key: attribute.value.string_value for attribute in resource.resource.attributes}
    assert {"service.name": "toolscore", "service.instance.id": "a"} == names
    assert [("toolscore.scores", "1.2.3")] == [(one.scope.name, one.scope.version) for one in resource.scope_metrics]


def test_a_score_point_carries_buckets_and_the_scored_trace(recorder: OtelRecorder) -> None:
    recorder.scored(a_score(0.5), SUBJECT, enters_histogram=True)

    metric = decode(OtlpMetrics().encode(recorder.collect()))["gen_ai.evaluation.score"]

    (point,) = metric.histogram.data_points
    assert "1" == metric.unit
    assert [number / 10 for number in range(11)] == list(point.explicit_bounds)
    assert [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0] == list(point.bucket_counts)
    assert [(TRACE_ID, SPAN_ID, 0.5)] == [(one.trace_id, one.span_id, one.as_double) for one in point.exemplars]


def test_cumulative_is_the_default_and_reading_changes_nothing(recorder: OtelRecorder, clock: ManualClock) -> None:
    otlp = OtlpMetrics()
    recorder.scored(a_score(), SUBJECT, enters_histogram=True)
    first = decode(otlp.encode(recorder.collect()))
    clock.advance(SECOND)

    second = decode(otlp.encode(recorder.collect()))

    for name in ("toolscore.evaluations", "gen_ai.evaluation.score"):
        assert _starts(first[name]) == _starts(second[name])
    assert (
        AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
        == second["toolscore.evaluations"].sum.aggregation_temporality
    )
    assert [1] == [point.as_int for point in second["toolscore.evaluations"].sum.data_points]
    assert [1] == [len(point.exemplars) for point in second["gen_ai.evaluation.score"].histogram.data_points]


def test_a_delta_holds_what_came_since_the_last(recorder: OtelRecorder, clock: ManualClock) -> None:
    otlp = OtlpMetrics(delta=True)
    recorder.scored(a_score(0.5), SUBJECT, enters_histogram=True)
    decode(otlp.encode(recorder.collect()))
    last_ns = clock.now_ns()
    clock.advance(SECOND)
    recorder.scored(a_score(1.0), SUBJECT, enters_histogram=True)
    recorder.scored(a_score(1.0), SUBJECT, enters_histogram=True)

    metrics = decode(otlp.encode(recorder.collect()))

    (number,) = metrics["toolscore.evaluations"].sum.data_points
    (scores,) = metrics["gen_ai.evaluation.score"].histogram.data_points
    assert (
        AggregationTemporality.AGGREGATION_TEMPORALITY_DELTA
        == metrics["toolscore.evaluations"].sum.aggregation_temporality
    )
    assert (2, last_ns) == (number.as_int, number.start_time_unix_nano)
    assert (2, 2.0, last_ns) == (scores.count, scores.sum, scores.start_time_unix_nano)
    assert [1.0, 1.0] == [exemplar.as_double for exemplar in scores.exemplars]
    assert not scores.HasField("min")
    assert not scores.HasField("max")


def test_a_still_series_has_no_delta(recorder: OtelRecorder, clock: ManualClock) -> None:
    otlp = OtlpMetrics(delta=True)
    recorder.scored(a_score(), SUBJECT, enters_histogram=True)
    otlp.encode(recorder.collect())
    clock.advance(SECOND)

    assert otlp.encode(recorder.collect()) is None


def test_levels_stay_cumulative_in_a_delta(recorder: OtelRecorder) -> None:
    drive(recorder)
    otlp = OtlpMetrics(Selection.ALL, delta=True)
    otlp.encode(recorder.collect())

    metric = decode(otlp.encode(recorder.collect()))["toolscore.processor.buffer_size"]

    assert [7] == [point.as_int for point in metric.sum.data_points]
    assert AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE == metric.sum.aggregation_temporality


def test_a_series_that_expired_and_came_back_is_a_whole_delta(clock: ManualClock) -> None:
    recorder = OtelRecorder(clock, idle_ns=SECOND)
    otlp = OtlpMetrics(delta=True)
    for _ in range(5):
        recorder.scored(a_score(), SUBJECT, enters_histogram=False)
    otlp.encode(recorder.collect())
    clock.advance(SECOND)
    otlp.encode(recorder.collect())

    recorder.scored(a_score(), SUBJECT, enters_histogram=False)

    metrics = decode(otlp.encode(recorder.collect()))
    assert [1] == [point.as_int for point in metrics["toolscore.evaluations"].sum.data_points]


def _starts(metric: Metric) -> list[int]:
    numbers = [point.start_time_unix_nano for point in metric.sum.data_points]
    return numbers + [point.start_time_unix_nano for point in metric.histogram.data_points]
