"""
Large traces close beside the turns of the processor, one after the other: small ones need not wait for them.

Reading and scoring fifty thousand spans takes seconds. Its slices give the loop turns, but a turn of the processor that
waited for all of them would hold up every deadline behind it.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable

from service.buffer.trace_buffer import BufferedTrace
from service.evidence import Trigger

_logger = logging.getLogger(__name__)

LARGE = 2_048
"""Spans of a trace from which on it closes beside; some tens of milliseconds of reading."""


class LargeClosings:
    """
    The large traces that are due. Owned by the processor's loop.
    """

    def __init__(self, close: Callable[[BufferedTrace, Trigger], Awaitable[None]]) -> None:
        self._close = close
        self._due: deque[tuple[BufferedTrace, Trigger]] = deque()
        self._worker: asyncio.Task[None] | None = None

    def add(self, trace: BufferedTrace, trigger: Trigger) -> None:
        """
        Close *trace* when the others before it are closed.
        """
        if all(trace is not waiting for waiting, _ in self._due):
            self._due.append((trace, trigger))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())

    async def _work(self) -> None:
        while self._due:
            trace, trigger = self._due[0]
            try:
                await self._close(trace, trigger)
            except Exception:
                # The next one must not suffer from a fault of this one.
                _logger.exception("closing a large trace failed")
            finally:
                self._due.popleft()

    async def settle(self) -> None:
        """
        Until all that is due has been closed.
        """
        if self._worker is not None:
            await self._worker
