"""
The committed dashboards, and what they ask Prometheus for.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from service.telemetry.metadata import load_metadata
from service.telemetry.prometheus_names import metric_name

Json = dict[str, Any]
FOLDER = Path(__file__).parents[1] / "deploy" / "grafana" / "dashboards"
NAMES = tuple(sorted(file.stem for file in FOLDER.glob("*.json")))
SELECTED = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)\{")
PARTS_OF_HISTOGRAMS = ("_bucket", "_sum", "_count")


@dataclass(frozen=True)
class Target:
    """
    One query of one panel.
    """

    dashboard: str
    panel: str
    letter: str
    expr: str

    @property
    def id(self) -> str:
        return f"{self.dashboard}/{self.panel}/{self.letter}"


def dashboard(name: str) -> Json:
    content: Json = json.loads((FOLDER / f"{name}.json").read_text())
    return content


def panels(name: str) -> Iterator[Json]:
    """
    Every panel of a dashboard that shows something; rows are only headings.
    """
    for panel in dashboard(name)["panels"]:
        yield from panel.get("panels", []) if panel["type"] == "row" else [panel]


def targets(name: str) -> Iterator[Target]:
    for panel in panels(name):
        for target in panel["targets"]:
            yield Target(name, panel["title"], target["refId"], target["expr"])


def metrics_in(text: str) -> set[str]:
    """
    The metrics that a PromQL expression selects, of a histogram the histogram.
    """
    known = metrics_by_name()
    return {_whole(name, known) for name in SELECTED.findall(text)}


def _whole(name: str, known: dict[str, str]) -> str:
    base = next((name.removesuffix(part) for part in PARTS_OF_HISTOGRAMS if name.endswith(part)), name)
    return base if known.get(base) == "histogram" else name


def metrics_by_name() -> dict[str, str]:
    """
    The kind of every metric of the service, by its name in Prometheus.
    """
    return {metric_name(name, metric.unit, metric.kind): metric.kind for _, name, metric in load_metadata().expanded()}
