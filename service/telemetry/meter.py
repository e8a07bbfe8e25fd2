"""
Counters, histograms and levels: what is recorded between two collections, and the SDK's data points made from it.

The types of the points, and all that happens to them later, are the OpenTelemetry SDK's. Recording is not: a call of
an SDK instrument costs 4 to 12 µs, one of these 0.1 to 0.5 µs, and a scored trace makes a dozen
(`service/docs/decisions/0001-metrics-are-counted-in-dicts.md`).

No lock: one event loop records and collects. No clock: time is a parameter of `Meter.collect`.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol, TypeVar

from opentelemetry.sdk.metrics import Exemplar
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    HistogramDataPoint,
    Metric,
    NumberDataPoint,
    Sum,
)
from opentelemetry.sdk.metrics.export import Histogram as HistogramData

from service.telemetry.lifetimes import Labels, Lifetimes
from service.telemetry.specs import CounterSpec, HistogramSpec, LevelSpec

MAX_EXEMPLARS = 5
"""Of one series; as the Collector's spanmetrics connector keeps them."""
OVERFLOW: Final[Labels] = ("otel.metric.overflow",)
CUMULATIVE = AggregationTemporality.CUMULATIVE


class Limits(NamedTuple):
    """
    How many series one metric may have, and how long a series stays that nothing changes (`None`: for ever).
    """

    max_series: int
    idle_ns: int | None


class SeenOn(NamedTuple):
    """
    The span that a value was seen on: an exemplar less the value. Ids become numbers when they are collected.
    """

    time_ns: int
    trace_id: bytes
    span_id: bytes


class Instrument(Protocol):
    def collect(self, now_ns: int) -> Metric | None:
        """
        The metric as of *now_ns*, or nothing if it has no series.
        """
        ...


AnyInstrument = TypeVar("AnyInstrument", bound=Instrument)


class Counter:
    """
    A sum for each distinct tuple of label values, in the order of its keys. An empty value is an absent attribute.
    """

    def __init__(self, spec: CounterSpec, limits: Limits, started_ns: int, extra_keys: tuple[str, ...] = ()) -> None:
        self._spec = spec
        self._keys = spec.attributes + extra_keys
        self._limits = limits
        # Without labels there is one series, and it is told from the start: a rate cannot see a first value.
        self._totals: dict[Labels, int] = {} if self._keys else {(): 0}
        self._lifetimes = Lifetimes(started_ns, limits.idle_ns)

    def add(self, amount: int = 1, labels: Labels = ()) -> None:
        totals = self._totals
        if labels in totals:
            totals[labels] += amount
        elif len(totals) < self._limits.max_series:
            totals[labels] = amount
        else:
            totals[OVERFLOW] = totals.get(OVERFLOW, 0) + amount

    def collect(self, now_ns: int) -> Metric | None:
        self._lifetimes.expire(self._totals, int, now_ns)
        points = [
            NumberDataPoint(
                attributes=_attributes_of(self._keys, labels),
                start_time_unix_nano=self._lifetimes.start_ns(labels),
                time_unix_nano=now_ns,
                value=total,
            )
            for labels, total in self._totals.items()
        ]
        data = Sum(points, aggregation_temporality=CUMULATIVE, is_monotonic=True)
        return Metric(self._spec.name, self._spec.description, self._spec.unit, data) if points else None


class Distribution:
    """
    One series of a histogram.
    """

    __slots__ = ("buckets", "count", "exemplars", "maximum", "minimum", "total")

    def __init__(self, bucket_count: int) -> None:
        self.buckets = [0] * bucket_count
        self.count = 0
        self.total = 0.0
        self.minimum = float("inf")
        self.maximum = float("-inf")
        self.exemplars: deque[tuple[float, SeenOn]] = deque(maxlen=MAX_EXEMPLARS)


class Histogram:
    """
    A distribution for each distinct tuple of label values. The latest exemplars stay until newer ones take their place.
    """

    def __init__(self, spec: HistogramSpec, limits: Limits, started_ns: int, extra_keys: tuple[str, ...] = ()) -> None:
        self._spec = spec
        self._keys = spec.attributes + extra_keys
        self._limits = limits
        self._series: dict[Labels, Distribution] = {}
        self._lifetimes = Lifetimes(started_ns, limits.idle_ns)

    def record(self, value: float, labels: Labels = (), seen_on: SeenOn | None = None) -> None:
        series = self._series.get(labels)
        if series is None:
            series = self._new_series(labels)
        series.buckets[bisect_left(self._spec.buckets, value)] += 1
        series.count += 1
        series.total += value
        series.minimum = min(series.minimum, value)
        series.maximum = max(series.maximum, value)
        if seen_on is not None:
            series.exemplars.append((value, seen_on))

    def _new_series(self, labels: Labels) -> Distribution:
        if len(self._series) >= self._limits.max_series:
            labels = OVERFLOW
        return self._series.setdefault(labels, Distribution(len(self._spec.buckets) + 1))

    def collect(self, now_ns: int) -> Metric | None:
        self._lifetimes.expire(self._series, _count_of, now_ns)
        points = [self._point(labels, series, now_ns) for labels, series in self._series.items()]
        data = HistogramData(points, aggregation_temporality=CUMULATIVE)
        return Metric(self._spec.name, self._spec.description, self._spec.unit, data) if points else None

    def _point(self, labels: Labels, series: Distribution, now_ns: int) -> HistogramDataPoint:
        return HistogramDataPoint(
            attributes=_attributes_of(self._keys, labels),
            start_time_unix_nano=self._lifetimes.start_ns(labels),
            time_unix_nano=now_ns,
            count=series.count,
            sum=series.total,
            bucket_counts=list(series.buckets),
            explicit_bounds=self._spec.buckets,
            min=series.minimum,
            max=series.maximum,
            exemplars=[_exemplar(value, seen_on) for value, seen_on in series.exemplars],
        )


class Level:
    """
    Values that are read when they are collected. A callback that knows no value gives `None` and has no point.
    """

    def __init__(self, spec: LevelSpec, started_ns: int) -> None:
        self._spec = spec
        self._started_ns = started_ns
        self._readers: dict[Labels, Callable[[], float | None]] = {}

    def observe(self, read: Callable[[], float | None], labels: Labels = ()) -> None:
        self._readers[labels] = read

    def collect(self, now_ns: int) -> Metric | None:
        points = [
            NumberDataPoint(
                attributes=_attributes_of(self._spec.attributes, labels),
                start_time_unix_nano=self._started_ns,
                time_unix_nano=now_ns,
                value=value,
            )
            for labels, read in self._readers.items()
            if (value := read()) is not None
        ]
        return Metric(self._spec.name, self._spec.description, self._spec.unit, self._data(points)) if points else None

    def _data(self, points: list[NumberDataPoint]) -> Sum | Gauge:
        if self._spec.kind == "observable_gauge":
            return Gauge(points)
        is_monotonic = self._spec.kind == "observable_counter"
        return Sum(points, aggregation_temporality=CUMULATIVE, is_monotonic=is_monotonic)


class Meter:
    """
    The instruments of one instrumentation scope.
    """

    def __init__(self, limits: Limits, started_ns: int) -> None:
        self._limits = limits
        self._started_ns = started_ns
        self._instruments: list[Instrument] = []

    def counter(self, spec: CounterSpec, extra_keys: tuple[str, ...] = ()) -> Counter:
        return self._added(Counter(spec, self._limits, self._started_ns, extra_keys))

    def histogram(self, spec: HistogramSpec, extra_keys: tuple[str, ...] = ()) -> Histogram:
        return self._added(Histogram(spec, self._limits, self._started_ns, extra_keys))

    def level(self, spec: LevelSpec) -> Level:
        return self._added(Level(spec, self._started_ns))

    def _added(self, instrument: AnyInstrument) -> AnyInstrument:
        self._instruments.append(instrument)
        return instrument

    def collect(self, now_ns: int) -> list[Metric]:
        metrics = (instrument.collect(now_ns) for instrument in self._instruments)
        return [metric for metric in metrics if metric is not None]


def _attributes_of(keys: tuple[str, ...], labels: Labels) -> dict[str, str | bool]:
    if labels is OVERFLOW:
        return {OVERFLOW[0]: True}
    return {key: str(value) for key, value in zip(keys, labels, strict=True) if value}


def _exemplar(value: float, seen_on: SeenOn) -> Exemplar:
    trace_id, span_id = int.from_bytes(seen_on.trace_id, "big"), int.from_bytes(seen_on.span_id, "big")
    return Exemplar({}, value, seen_on.time_ns, span_id, trace_id)


def _count_of(series: Distribution) -> int:
    return series.count
