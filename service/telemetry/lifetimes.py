"""
When each series of a metric began, and when it last changed.

Told by what collections see, so that recording reads no clock. Pure: time is a parameter.
"""

from collections.abc import Callable
from typing import TypeVar

Labels = tuple[str, ...]
S = TypeVar("S")


class _Lifetime:
    __slots__ = ("activity", "changed_ns", "start_ns")

    def __init__(self, start_ns: int, changed_ns: int, activity: int) -> None:
        self.start_ns = start_ns
        self.changed_ns = changed_ns
        self.activity = activity


class Lifetimes:
    def __init__(self, started_ns: int, idle_ns: int | None) -> None:
        self._idle_ns = idle_ns
        self._last_collection_ns = started_ns
        self._of: dict[Labels, _Lifetime] = {}

    def expire(self, series: dict[Labels, S], activity_of: Callable[[S], int], now_ns: int) -> None:
        """
        Remove from *series* what has not changed for the idle time. *activity_of* grows whenever a series is recorded.
        """
        for labels in list(series):
            if self._is_idle(labels, activity_of(series[labels]), now_ns):
                del series[labels], self._of[labels]
        self._last_collection_ns = now_ns

    def _is_idle(self, labels: Labels, activity: int, now_ns: int) -> bool:
        lifetime = self._of.get(labels)
        if lifetime is None:
            # It was recorded first at some time since the last collection; OTLP wants a start that is not later.
            self._of[labels] = _Lifetime(self._last_collection_ns, now_ns, activity)
            return False
        if lifetime.activity != activity:
            lifetime.activity, lifetime.changed_ns = activity, now_ns
        return self._idle_ns is not None and now_ns - lifetime.changed_ns >= self._idle_ns

    def start_ns(self, labels: Labels) -> int:
        return self._of[labels].start_ns
