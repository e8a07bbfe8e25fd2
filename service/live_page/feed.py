"""
The feed: each new occurrence to every browser that watches, with a bounded queue for each.

Who reads too slowly is dropped and comes back by itself: a browser reconnects an event stream that ends.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from service.live_page.record import Summary

MAX_CLIENTS = 32
QUEUE_SIZE = 256


class Watcher:
    """
    One browser: what it has not been sent yet.
    """

    def __init__(self, size: int) -> None:
        self._queue: asyncio.Queue[Summary] = asyncio.Queue(size)
        self._ended = asyncio.Event()

    @property
    def has_ended(self) -> bool:
        return self._ended.is_set()

    def offer(self, summary: Summary) -> None:
        """
        Queue *summary*; without room the watcher ends.
        """
        try:
            self._queue.put_nowait(summary)
        except asyncio.QueueFull:
            self.end()

    def end(self) -> None:
        self._ended.set()

    async def wait(self, seconds: float) -> None:
        """
        Wait for the end, at most *seconds*.
        """
        try:
            async with asyncio.timeout(seconds):
                await self._ended.wait()
        except TimeoutError:
            return

    def take(self) -> list[Summary]:
        """
        All that is queued, oldest first.
        """
        return [self._queue.get_nowait() for _ in range(self._queue.qsize())]


class Feed:
    """
    All browsers that watch. Owned by the event loop.
    """

    def __init__(self, *, max_clients: int = MAX_CLIENTS, queue_size: int = QUEUE_SIZE) -> None:
        self._max_clients = max_clients
        self._queue_size = queue_size
        self._watchers: set[Watcher] = set()

    def __len__(self) -> int:
        return len(self._watchers)

    @property
    def is_full(self) -> bool:
        return len(self._watchers) >= self._max_clients

    def publish(self, summary: Summary) -> None:
        for watcher in self._watchers:
            watcher.offer(summary)

    @contextmanager
    def watch(self) -> Iterator[Watcher]:
        """
        A watcher that is fed while the context lasts.
        """
        watcher = Watcher(self._queue_size)
        self._watchers.add(watcher)
        try:
            yield watcher
        finally:
            self._watchers.discard(watcher)

    def end(self) -> None:
        """
        End every stream, so that the service can stop.
        """
        for watcher in self._watchers:
            watcher.end()
