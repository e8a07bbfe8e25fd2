"""
Counters, histograms and levels, and how long and how many of their series live.
"""

import pytest
from opentelemetry.sdk.metrics.export import Gauge, HistogramDataPoint, Metric, NumberDataPoint, Sum

from service.telemetry.meter import MAX_EXEMPLARS, Counter, Histogram, Level, Limits, SeenOn
from service.telemetry.specs import CounterSpec, HistogramSpec, LevelKind, LevelSpec

SPANS = CounterSpec("spans", "{span}", "Spans.", ("reason",))
SCORE = HistogramSpec("score", "1", "Scores.", (0, 0.5, 1), ("name",))

ROOMY = Limits(max_series=100, idle_ns=None)


def numbers(metric: Metric | None) -> list[NumberDataPoint]:
    assert metric is not None
    return [point for point in metric.data.data_points if isinstance(point, NumberDataPoint)]


def distributions(metric: Metric | None) -> list[HistogramDataPoint]:
    assert metric is not None
    return [point for point in metric.data.data_points if isinstance(point, HistogramDataPoint)]


def totals(counter: Counter, now_ns: int = 100) -> dict[object, float]:
    return {tuple((point.attributes or {}).items()): point.value for point in numbers(counter.collect(now_ns))}


def test_amounts_of_equal_labels_add_up() -> None:
    counter = Counter(SPANS, ROOMY, started_ns=0)

    counter.add(2, ("late",))
    counter.add(1, ("lost",))
    counter.add(3, ("late",))

    assert {(("reason", "late"),): 5, (("reason", "lost"),): 1} == totals(counter)


def test_an_empty_label_is_an_absent_attribute() -> None:
    counter = Counter(SPANS, ROOMY, started_ns=0, extra_keys=("tenant",))

    counter.add(1, ("", "a"))

    assert {(("tenant", "a"),): 1} == totals(counter)


def test_a_counter_without_labels_is_told_before_it_counts() -> None:
    counter = Counter(CounterSpec("lost", "{span}", "Lost."), ROOMY, started_ns=0)

    assert {(): 0} == totals(counter)


def test_series_over_the_limit_share_one_overflow_series() -> None:
    counter = Counter(SPANS, Limits(max_series=2, idle_ns=None), started_ns=0)

    for reason in "abcd":
        counter.add(1, (reason,))
    counter.add(1, ("a",))

    overflow: object = (("otel.metric.overflow", True),)
    assert {(("reason", "a"),): 2, (("reason", "b"),): 1, overflow: 2} == totals(counter)


def test_distributions_over_the_limit_share_one_overflow_series() -> None:
    histogram = Histogram(SCORE, Limits(max_series=1, idle_ns=None), started_ns=0)

    for name in "abc":
        histogram.record(1, (name,))

    points = distributions(histogram.collect(1))
    assert [({"name": "a"}, 1), ({"otel.metric.overflow": True}, 2)] == [(one.attributes, one.count) for one in points]


@pytest.mark.parametrize(
    ("value", "buckets"),
    [(0, [1, 0, 0, 0]), (0.2, [0, 1, 0, 0]), (0.5, [0, 1, 0, 0]), (1.0, [0, 0, 1, 0]), (1.5, [0, 0, 0, 1])],
    ids=str,
)
def test_an_upper_bound_belongs_to_its_bucket(value: float, buckets: list[int]) -> None:
    histogram = Histogram(SCORE, ROOMY, started_ns=0)

    histogram.record(value, ("accuracy",))

    assert [buckets] == [point.bucket_counts for point in distributions(histogram.collect(1))]


def test_a_distribution_tells_count_sum_and_range() -> None:
    histogram = Histogram(SCORE, ROOMY, started_ns=0)

    for value in (0.25, 1.0, 0.5):
        histogram.record(value, ("accuracy",))

    (point,) = distributions(histogram.collect(1))
    assert (3, 1.75, 0.25, 1.0) == (point.count, point.sum, point.min, point.max)


def test_the_latest_exemplars_are_kept_over_collections() -> None:
    histogram = Histogram(SCORE, ROOMY, started_ns=0)
    for span_id in range(1, 8):
        histogram.record(1, ("accuracy",), SeenOn(span_id, b"\x09" * 16, bytes([span_id])))

    first = distributions(histogram.collect(1))
    second = distributions(histogram.collect(2))

    assert [3, 4, 5, 6, 7] == [exemplar.span_id for exemplar in first[0].exemplars]
    assert first[0].exemplars == second[0].exemplars
    assert MAX_EXEMPLARS == len(first[0].exemplars)


def test_a_series_that_nothing_changes_expires() -> None:
    counter = Counter(SPANS, Limits(max_series=100, idle_ns=1_000), started_ns=0)
    counter.add(1, ("idle",))
    counter.add(1, ("busy",))
    counter.collect(100)
    counter.add(1, ("busy",))
    counter.collect(1_099)

    assert [(("reason", "busy"),)] == list(totals(counter, now_ns=1_100))


def test_a_series_that_comes_back_starts_anew() -> None:
    """
    Its start is the last collection without it, so that no reader takes its small value for a fall.
    """
    counter = Counter(SPANS, Limits(max_series=100, idle_ns=1_000), started_ns=0)
    counter.add(5, ("late",))
    assert [0] == [point.start_time_unix_nano for point in numbers(counter.collect(100))]
    assert counter.collect(2_000) is None

    counter.add(1, ("late",))

    assert [(1, 2_000)] == [(point.value, point.start_time_unix_nano) for point in numbers(counter.collect(3_000))]


def test_expired_series_make_room_under_the_limit() -> None:
    counter = Counter(SPANS, Limits(max_series=1, idle_ns=1_000), started_ns=0)
    counter.add(1, ("old",))
    counter.collect(100)
    counter.collect(1_100)

    counter.add(1, ("new",))

    assert [(("reason", "new"),)] == list(totals(counter, now_ns=1_200))


@pytest.mark.parametrize(
    ("kind", "data", "is_monotonic"),
    [
        ("observable_counter", Sum, True),
        ("observable_up_down_counter", Sum, False),
        ("observable_gauge", Gauge, None),
    ],
)
def test_a_level_is_read_when_collected(kind: LevelKind, data: type, is_monotonic: bool | None) -> None:  # noqa: FBT001
    held = [1]
    level = Level(LevelSpec("held", "By", "Held.", kind), started_ns=0)
    level.observe(lambda: held[0])
    held[0] = 2

    metric = level.collect(5)

    assert [2] == [point.value for point in numbers(metric)]
    assert metric is not None
    assert isinstance(metric.data, data)
    assert is_monotonic == getattr(metric.data, "is_monotonic", None)


def test_a_level_that_is_not_known_has_no_point() -> None:
    level = Level(LevelSpec("memory", "By", "Memory.", "observable_gauge"), started_ns=0)
    level.observe(lambda: None)

    assert level.collect(5) is None


def test_a_second_observer_replaces_the_first() -> None:
    level = Level(LevelSpec("size", "By", "Size.", "observable_gauge", ("exporter",)), started_ns=0)
    level.observe(lambda: 1, ("a",))
    level.observe(lambda: 2, ("a",))
    level.observe(lambda: 3, ("b",))

    assert [2, 3] == [point.value for point in numbers(level.collect(5))]
