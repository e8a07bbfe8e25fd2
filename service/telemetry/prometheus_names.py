"""
Names in Prometheus for metrics and attributes of OpenTelemetry.

Pure. Source: OpenTelemetry specification, "Prometheus and OpenMetrics compatibility".
"""

import re
from functools import cache

UNITS = {"s": "seconds", "By": "bytes", "1": "ratio"}
"""Of the units that `service/metadata.yaml` uses; annotations in braces are dropped."""

_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_:]+")
_NOT_IN_LABELS = re.compile(r"[^a-zA-Z0-9_]")


def family_name(name: str, unit: str, kind: str) -> str:
    """
    The name of the metric family: with its unit, without the `_total` of counters.
    """
    plain = _NOT_IN_NAMES.sub("_", name)
    word = unit_word(unit, kind)
    return plain if not word or plain.endswith(f"_{word}") else f"{plain}_{word}"


def metric_name(name: str, unit: str, kind: str) -> str:
    """
    The name of the samples (of a histogram: less `_bucket`, `_sum`, `_count`).
    """
    family = family_name(name, unit, kind)
    return f"{family}_total" if is_counter(kind) else family


def unit_word(unit: str, kind: str) -> str:
    """
    The unit as Prometheus spells it; a dimensionless one is spelt on gauges only.
    """
    if unit == "1" and not is_gauge(kind):
        return ""
    return UNITS.get(unit, "")


def is_counter(kind: str) -> bool:
    return kind in {"counter", "observable_counter"}


def is_gauge(kind: str) -> bool:
    return kind == "gauge" or (kind.startswith("observable_") and not is_counter(kind))


@cache
def label_name(key: str) -> str:
    """
    The label for an attribute key. Kept for each key: keys come from the metadata and the configuration only.
    """
    plain = _NOT_IN_LABELS.sub("_", key)
    return f"key_{plain}" if plain[:1].isdigit() else plain
