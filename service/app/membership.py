"""
Membership: whether the set of replicas changed, as the DNS name of a headless service tells.

Traces that are open while it changes are `membership_changed`: some of their spans may have gone to another replica. A
name that cannot be resolved for a moment is no change.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from service.durations import SECOND
from service.telemetry.recorder import Gauge, Recorder, Reloadable

_logger = logging.getLogger(__name__)

Resolve = Callable[[str], Awaitable[frozenset[str]]]


async def resolve_addresses(hostname: str) -> frozenset[str]:
    """
    The addresses of *hostname*. Raises `OSError`.
    """
    found = await asyncio.get_running_loop().getaddrinfo(hostname, None)
    return frozenset(str(address[4][0]) for address in found)


class Membership:
    """
    Watches one name.
    """

    def __init__(
        self,
        hostname: str,
        *,
        interval_ns: int,
        changed: Callable[[], None],
        recorder: Recorder,
        resolve: Resolve = resolve_addresses,
    ) -> None:
        self._hostname = hostname
        self._interval_s = interval_ns / SECOND
        self._changed = changed
        self._recorder = recorder
        self._resolve = resolve
        self._replicas: frozenset[str] = frozenset()
        recorder.observe(Gauge.REPLICAS, lambda: len(self._replicas))

    async def watch(self) -> None:
        """
        Look at the name until cancelled.
        """
        while True:
            await self.look()
            await asyncio.sleep(self._interval_s)

    async def look(self) -> None:
        """
        Look at the name once, and tell of a change.
        """
        try:
            replicas = await self._resolve(self._hostname)
        except OSError:
            self._recorder.reloaded(Reloadable.MEMBERSHIP, succeeded=False)
            return
        if self._replicas and replicas != self._replicas:
            _logger.warning("the set of replicas changed from %d to %d", len(self._replicas), len(replicas))
            self._recorder.reloaded(Reloadable.MEMBERSHIP, succeeded=True)
            self._changed()
        self._replicas = replicas
