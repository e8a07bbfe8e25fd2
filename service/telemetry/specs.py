"""
What an instrument is: the values that `service/telemetry/instruments.py` is made of.

Values only.
"""

from typing import Literal

from msgspec import Struct

LevelKind = Literal["observable_counter", "observable_up_down_counter", "observable_gauge"]


class CounterSpec(Struct, frozen=True):
    name: str
    unit: str
    description: str
    attributes: tuple[str, ...] = ()


class HistogramSpec(Struct, frozen=True):
    name: str
    unit: str
    description: str
    buckets: tuple[float, ...]
    attributes: tuple[str, ...] = ()


class LevelSpec(Struct, frozen=True):
    """
    Read by a callback when metrics are collected.
    """

    name: str
    unit: str
    description: str
    kind: LevelKind
    attributes: tuple[str, ...] = ()
