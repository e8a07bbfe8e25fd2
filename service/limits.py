"""
The memory limiter: how much memory the whole process takes, against a soft and a hard limit.

The Collector's `memory_limiter` by name and keys: the soft limit is `limit_mib - spike_limit_mib`. Reading the memory
of the process costs a system call, so it is read at most once per `check_interval`.
"""

import resource
from collections.abc import Callable
from pathlib import Path

from service.clock import Clock

STATM = Path("/proc/self/statm")
KIBIBYTE = 1024


def resident_bytes() -> int:
    """
    Resident memory of this process; where the system does not tell, the most that it ever was.
    """
    try:
        return int(STATM.read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIBIBYTE


class MemoryLimiter:
    """
    Says how far the process is over its soft limit and whether it is over its hard one, as of the last check.
    """

    def __init__(
        self,
        *,
        limit_bytes: int,
        spike_limit_bytes: int,
        check_interval_ns: int,
        clock: Clock,
        read: Callable[[], int] = resident_bytes,
    ) -> None:
        self._limit_bytes = limit_bytes
        self._soft_limit_bytes = limit_bytes - spike_limit_bytes
        self._check_interval_ns = check_interval_ns
        self._clock = clock
        self._read = read
        self._checked_ns: int | None = None
        self._told_ns: int | None = None
        self._used_bytes = 0

    @property
    def is_over_hard_limit(self) -> bool:
        return self._used() > self._limit_bytes

    def new_excess_bytes(self) -> int:
        """
        Bytes over the soft limit, told once for each check: what gives way on it shows at the next check only.
        """
        excess = self._used() - self._soft_limit_bytes
        if excess <= 0 or self._told_ns == self._checked_ns:
            return 0
        self._told_ns = self._checked_ns
        return excess

    def _used(self) -> int:
        now_ns = self._clock.monotonic_ns()
        if self._checked_ns is None or now_ns - self._checked_ns >= self._check_interval_ns:
            self._checked_ns = now_ns
            self._used_bytes = self._read()
        return self._used_bytes


class Unlimited:
    """
    No memory limiter is configured.
    """

    is_over_hard_limit = False

    def new_excess_bytes(self) -> int:
        return 0
