"""
Reads `service/metadata.yaml`. For the generator and for tests: the running service uses what was generated.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from service.pipeline import Signal

PATH = Path(__file__).parent.parent / "metadata.yaml"

ITEM_NAMES = {Signal.TRACES: "spans", Signal.LOGS: "log_records", Signal.METRICS: "metric_points"}
ITEM_UNITS = {Signal.TRACES: "{span}", Signal.LOGS: "{log_record}", Signal.METRICS: "{data_point}"}

Kind = Literal["counter", "histogram", "observable_counter", "observable_up_down_counter", "observable_gauge"]


class MetricAttribute(Struct, frozen=True, forbid_unknown_fields=True):
    key: str
    description: str
    values: tuple[str, ...] = ()
    """Closed set; empty for names that people choose."""


class Metric(Struct, frozen=True, forbid_unknown_fields=True):
    kind: Kind
    description: str
    unit: str = ""
    attributes: tuple[str, ...] = ()
    """Ids of `metric_attributes`."""
    buckets: tuple[float, ...] = ()


class Section(Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    title: str
    description: str
    metrics: dict[str, Metric]


class OutputAttribute(Struct, frozen=True, forbid_unknown_fields=True):
    written_to: tuple[Literal["span", "event"], ...]
    type: Literal["string", "string[]", "int", "double", "boolean"]
    description: str
    values: tuple[str, ...] = ()
    values_of: str = ""
    """Id of the metric attribute that has the same closed set."""


class Metadata(Struct, frozen=True, forbid_unknown_fields=True):
    introduction: str
    metric_attributes: dict[str, MetricAttribute]
    sections: tuple[Section, ...]
    output_attributes: dict[str, OutputAttribute]

    def values_of(self, attribute: OutputAttribute) -> tuple[str, ...]:
        return self.metric_attributes[attribute.values_of].values if attribute.values_of else attribute.values

    def expanded(self) -> Iterator[tuple[Section, str, Metric]]:
        """
        Every metric by its full name; a metric of items once for each signal.
        """
        for section in self.sections:
            for name, metric in section.metrics.items():
                for full_name, one in expand(name, metric).values():
                    yield section, full_name, one


def expand(name: str, metric: Metric) -> dict[Signal | None, tuple[str, Metric]]:
    """
    The metrics that one entry stands for, by signal (`None` if it is about no signal).
    """
    if "{items}" not in name:
        return {None: (name, metric)}
    return {
        signal: (
            name.replace("{items}", items),
            msgspec.structs.replace(
                metric,
                unit=ITEM_UNITS[signal],
                description=metric.description.replace("{Items}", items.replace("_", " ").capitalize()),
            ),
        )
        for signal, items in ITEM_NAMES.items()
    }


def load_metadata(path: Path = PATH) -> Metadata:
    return msgspec.yaml.decode(path.read_bytes(), type=Metadata)
