"""
When to try again: a pure schedule, and the pause between tries that a stop cuts short.

Keys, defaults and rules are exporterhelper's (`reference/collector.md` §3.1), but for `max_elapsed_time`,
which is 0 here: in hold mode an accepted span exists nowhere else, so we do not give up (design §11).
"""

import asyncio
from collections.abc import Callable

from msgspec import Struct

from service.durations import SECOND

RETRY_AFTER_CAP = 10
"""A pause asked for by downstream is honoured up to so many `max_interval`s: one answer must not park us for days."""


class RetrySettings(Struct, frozen=True, kw_only=True):
    """
    `retry_on_failure`. *max_elapsed_time_ns* 0 means for ever.
    """

    enabled: bool = True
    initial_interval_ns: int = 5 * SECOND
    randomization_factor: float = 0.5
    multiplier: float = 1.5
    max_interval_ns: int = 30 * SECOND
    max_elapsed_time_ns: int = 0


class RetrySchedule:
    """
    The delays after the failed tries of one request. Pure: time and randomness are parameters.
    """

    def __init__(self, settings: RetrySettings, random: Callable[[], float]) -> None:
        self._settings = settings
        self._random = random
        self._interval_ns = settings.initial_interval_ns

    def next_delay_ns(self, elapsed_ns: int, retry_after_ns: int | None = None) -> int | None:
        """
        How long to wait before the next try, *elapsed_ns* after the first one began; None to give up.

        It is the longer one of our own backoff and of what downstream asked for.
        """
        if not self._settings.enabled:
            return None
        longest_ns = RETRY_AFTER_CAP * self._settings.max_interval_ns
        delay_ns = max(self._backoff_ns(), min(retry_after_ns or 0, longest_ns))
        if 0 < self._settings.max_elapsed_time_ns < elapsed_ns + delay_ns:
            return None
        return delay_ns

    def _backoff_ns(self) -> int:
        settings = self._settings
        spread = settings.randomization_factor * (2 * self._random() - 1)
        interval_ns = min(self._interval_ns, settings.max_interval_ns)
        self._interval_ns = min(round(interval_ns * settings.multiplier), settings.max_interval_ns)
        return round(interval_ns * (1 + spread))


class Pause:
    """
    Waits that `end` cuts short, for all that wait now and for ever after.
    """

    def __init__(self) -> None:
        self._ended = asyncio.Event()

    @property
    def has_ended(self) -> bool:
        return self._ended.is_set()

    def end(self) -> None:
        self._ended.set()

    async def wait(self, delay_ns: int) -> None:
        """
        Wait *delay_ns*, or until `end`.
        """
        try:
            async with asyncio.timeout(delay_ns / SECOND):
                await self._ended.wait()
        except TimeoutError:
            return
