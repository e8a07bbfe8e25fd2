"""
Delta temporality: what has been added since the last collection by the same reader.

Pure but for what it remembers: the points of the last collection. Levels that may fall stay cumulative, as OTLP's delta
preference has it.
"""

from dataclasses import replace

from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Histogram,
    HistogramDataPoint,
    Metric,
    NumberDataPoint,
    Sum,
)

DELTA = AggregationTemporality.DELTA

SeriesKey = tuple[str, frozenset[tuple[str, object]], int]
"""Metric, attributes, start: a series that expired and began anew is another one."""


class Deltas:
    def __init__(self) -> None:
        self._last: dict[SeriesKey, NumberDataPoint | HistogramDataPoint] = {}
        self._seen: dict[SeriesKey, NumberDataPoint | HistogramDataPoint] = {}

    def since_last(self, cumulative: list[Metric]) -> list[Metric]:
        """
        The same metrics, monotonic sums and histograms less what they were at the call before. A series that did not
        change is left out.
        """
        self._seen = {}
        metrics = [self._metric(metric) for metric in cumulative]
        self._last = self._seen
        return [metric for metric in metrics if metric.data.data_points]

    def _metric(self, metric: Metric) -> Metric:
        data = metric.data
        if isinstance(data, Sum) and data.is_monotonic:
            numbers = [self._number(metric.name, point) for point in data.data_points]
            return replace(metric, data=Sum([one for one in numbers if one.value], DELTA, is_monotonic=True))
        if isinstance(data, Histogram):
            histograms = [self._histogram(metric.name, point) for point in data.data_points]
            return replace(metric, data=Histogram([one for one in histograms if one.count], DELTA))
        return metric

    def _number(self, name: str, point: NumberDataPoint) -> NumberDataPoint:
        last = self._replace_last(name, point)
        if not isinstance(last, NumberDataPoint):
            return point
        return replace(point, start_time_unix_nano=last.time_unix_nano, value=point.value - last.value)

    def _histogram(self, name: str, point: HistogramDataPoint) -> HistogramDataPoint:
        last = self._replace_last(name, point)
        if not isinstance(last, HistogramDataPoint):
            return point
        return replace(
            point,
            start_time_unix_nano=last.time_unix_nano,
            count=point.count - last.count,
            sum=point.sum - last.sum,
            bucket_counts=[now - then for now, then in zip(point.bucket_counts, last.bucket_counts, strict=True)],
            min=None,  # type: ignore[arg-type]  # not known for the interval: left unset in OTLP
            max=None,  # type: ignore[arg-type]
            exemplars=[one for one in point.exemplars if one.time_unix_nano > last.time_unix_nano],
        )

    def _replace_last(
        self, name: str, point: NumberDataPoint | HistogramDataPoint
    ) -> NumberDataPoint | HistogramDataPoint | None:
        key = (name, frozenset((point.attributes or {}).items()), point.start_time_unix_nano)
        self._seen[key] = point
        return self._last.get(key)
