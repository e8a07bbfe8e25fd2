"""
Queries over the metrics of the service itself, of the replicas that are chosen.
"""

from deploy.grafana.source.panels import Query
from deploy.grafana.source.promql import level, quantile, rate

INSTANCE = 'job=~"$job",instance=~"$instance"'
RECEIVER = "toolscore_receiver"
PROCESSOR = "toolscore_processor"
EXPORTER = "toolscore_exporter"
JOURNAL = "toolscore_journal"
LOST_SPANS = "toolscore_lost_spans_total"
ITEMS = {"spans": "spans", "log_records": "log records", "metric_points": "metric points"}


def rates(*metrics: tuple[str, str], by: str = "") -> tuple[Query, ...]:
    """
    One query for each (metric, what it is called in the legend), further split by the labels *by*.
    """
    suffix = " ".join(f"{{{{{label.strip()}}}}}" for label in by.split(",") if label)
    return tuple(Query(rate(metric, INSTANCE, by), f"{name} {suffix}".strip()) for metric, name in metrics)


def of_each_signal(prefix: str, by: str) -> tuple[Query, ...]:
    """
    The three counters of one name, for spans, log records and metric points.
    """
    return rates(*((f"{prefix}_{item}_total", name) for item, name in ITEMS.items()), by=by)


def levels(*metrics: tuple[str, str], by: str = "") -> tuple[Query, ...]:
    suffix = f" {{{{{by}}}}}" if by else ""
    return tuple(Query(level(metric, INSTANCE, by), f"{name}{suffix}") for metric, name in metrics)


def quantiles(metric: str, by: str = "") -> tuple[Query, ...]:
    suffix = f" {{{{{by}}}}}" if by else ""
    shares = ((0.5, "half"), (0.99, "99 %"))
    return tuple(Query(quantile(share, metric, INSTANCE, by), f"{name}{suffix}") for share, name in shares)
