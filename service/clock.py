"""
Time, as a parameter.

Two readings: `now_ns` is wall time (Unix nanoseconds), for what is written into telemetry; `monotonic_ns` never goes
back, for deadlines. Nothing else in the service reads a clock.
"""

import time
from typing import Protocol


class Clock(Protocol):
    def now_ns(self) -> int: ...

    def monotonic_ns(self) -> int: ...


class SystemClock:
    def now_ns(self) -> int:
        return time.time_ns()

    def monotonic_ns(self) -> int:
        return time.monotonic_ns()
