"""
Prometheus' own parsers of its two text formats, with types.
"""

from collections.abc import Callable, Iterable
from typing import cast

from prometheus_client import Metric, parser
from prometheus_client.openmetrics import parser as openmetrics_parser

Parser = Callable[[str], Iterable[Metric]]


def read_openmetrics(text: str) -> list[Metric]:
    return list(cast("Parser", openmetrics_parser.text_string_to_metric_families)(text))


def read_plain(text: str) -> list[Metric]:
    return list(cast("Parser", parser.text_string_to_metric_families)(text))
