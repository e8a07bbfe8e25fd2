"""
Metrics as text: OpenMetrics 1.0 with exemplars, or the plain format 0.0.4 without.

Pure. Sources: OpenMetrics 1.0; OpenTelemetry specification, "Prometheus and OpenMetrics compatibility". Own code since
the SDK's exporter for Prometheus writes no exemplars (reference/checks.md §3).
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence

from opentelemetry.sdk.metrics import Exemplar
from opentelemetry.sdk.metrics.export import (
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    Sum,
)

from service.telemetry.prometheus_names import family_name, label_name, unit_word

OPENMETRICS_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PLAIN_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Labels = Mapping[str, object]


def wants_openmetrics(accept: str) -> bool:
    """
    Whether the Accept header asks for OpenMetrics; Prometheus names it whenever it can read it.
    """
    return any(part.strip().startswith("application/openmetrics-text") for part in accept.split(","))


def expose(collected: MetricsData, *, openmetrics: bool) -> str:
    """
    All metrics as text, and the resource as `target_info`.
    """
    lines: list[str] = []
    for resource in collected.resource_metrics:
        lines += _target_info(resource.resource.attributes, openmetrics=openmetrics)
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                lines += _family(metric, openmetrics=openmetrics)
    if openmetrics:
        lines.append("# EOF")
    return "\n".join(lines) + "\n"


def _target_info(attributes: Labels, *, openmetrics: bool) -> Iterator[str]:
    family, kind = ("target", "info") if openmetrics else ("target_info", "gauge")
    yield f"# HELP {family} Resource of the service."
    yield f"# TYPE {family} {kind}"
    yield f"target_info{_labels(attributes)} 1"


def _family(metric: Metric, *, openmetrics: bool) -> Iterator[str]:
    kind = _kind(metric)
    unit = metric.unit or ""
    family = family_name(metric.name, unit, kind)
    sample = f"{family}_total" if kind == "counter" else family
    title = family if openmetrics else sample
    yield f"# HELP {title} {_escape_help(metric.description or '', openmetrics=openmetrics)}"
    yield f"# TYPE {title} {kind}"
    if openmetrics and (word := unit_word(unit, kind)):
        yield f"# UNIT {family} {word}"
    if isinstance(metric.data, Histogram):
        for point in metric.data.data_points:
            yield from _distribution(family, point, with_exemplars=openmetrics)
    elif isinstance(metric.data, Sum | Gauge):
        for number in metric.data.data_points:
            yield f"{sample}{_labels(number.attributes or {})} {number.value}"


def _kind(metric: Metric) -> str:
    if isinstance(metric.data, Histogram):
        return "histogram"
    return "counter" if isinstance(metric.data, Sum) and metric.data.is_monotonic else "gauge"


def _distribution(family: str, point: HistogramDataPoint, *, with_exemplars: bool) -> Iterator[str]:
    labels = _pairs(point.attributes or {})
    start = f"{family}_bucket{{{labels}," if labels else f"{family}_bucket{{"
    exemplars = _by_bucket(point.exemplars, point.explicit_bounds) if with_exemplars else {}
    seen = 0
    for index, (count, bound) in enumerate(zip(point.bucket_counts, _spelt(point.explicit_bounds), strict=True)):
        seen += count
        yield f'{start}le="{bound}"}} {seen}{_exemplar(exemplars.get(index))}'
    braces = f"{{{labels}}}" if labels else ""
    yield f"{family}_sum{braces} {point.sum}"
    yield f"{family}_count{braces} {point.count}"


def _spelt(bounds: Sequence[float]) -> list[str]:
    """
    The canonical spelling, `1.0` and not `1`, in both formats, so that a series does not change with the format.
    """
    return [*(str(float(bound)) for bound in bounds), "+Inf"]


def _by_bucket(exemplars: Sequence[Exemplar], bounds: Sequence[float]) -> dict[int, Exemplar]:
    """
    The latest exemplar of each bucket: the format has room for one.
    """
    return {bisect_left(bounds, one.value): one for one in exemplars}


def _exemplar(exemplar: Exemplar | None) -> str:
    if exemplar is None or exemplar.trace_id is None or exemplar.span_id is None:
        return ""
    seconds, nanoseconds = divmod(exemplar.time_unix_nano, 1_000_000_000)
    ids = f'trace_id="{exemplar.trace_id:032x}",span_id="{exemplar.span_id:016x}"'
    return f" # {{{ids}}} {exemplar.value} {seconds}.{nanoseconds:09d}"


def _labels(attributes: Labels) -> str:
    pairs = _pairs(attributes)
    return f"{{{pairs}}}" if pairs else ""


def _pairs(attributes: Labels) -> str:
    return ",".join(f'{name}="{_escape(value)}"' for name, value in _joined(attributes.items()).items())


def _joined(attributes: Iterable[tuple[str, object]]) -> dict[str, str]:
    """
    Values whose keys become the same label name are joined, as the specification demands.
    """
    joined: dict[str, str] = {}
    for key, value in sorted(attributes):
        name = label_name(key)
        text = str(value).lower() if isinstance(value, bool) else str(value)
        joined[name] = f"{joined[name]};{text}" if name in joined else text
    return joined


def _escape(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _escape_help(text: str, *, openmetrics: bool) -> str:
    return _escape(text) if openmetrics else text.replace("\\", r"\\").replace("\n", r"\n")
