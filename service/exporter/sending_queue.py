"""
The bounded queue in front of an exporter: `sending_queue`, with exporterhelper's keys and defaults.

A request counts until it is settled, so what is in flight is bounded too. Owned by the event loop, hence no lock.
"""

import asyncio
import logging

from msgspec import Struct

from service.durations import SECOND
from service.exporter.sender import Sender, Tally
from service.pipeline import ExportRequest, SendOutcome
from service.telemetry.recorder import Gauge, Recorder

_logger = logging.getLogger(__name__)


class QueueSettings(Struct, frozen=True, kw_only=True):
    """
    `sending_queue`; the byte limit is ours, since requests differ in size by a factor of thousands.
    """

    num_consumers: int = 10
    queue_size: int = 1000
    """Requests."""
    queue_size_bytes: int = 256 * 1024 * 1024
    """A single larger request is taken by an empty queue, else it could never leave."""


class SendingQueue:
    """
    An `Outlet`: takes requests until it is full, and has its consumers send them.
    """

    def __init__(self, sender: Sender, settings: QueueSettings, recorder: Recorder, *, exporter: str) -> None:
        self._sender = sender
        self._settings = settings
        self._recorder = recorder
        self._exporter = exporter
        self._waiting: asyncio.Queue[ExportRequest] = asyncio.Queue()
        self._consumers: list[asyncio.Task[None]] = []
        self._is_closed = False
        self.size = 0
        """Requests not yet settled."""
        self.size_bytes = 0
        self.abandoned_items = 0
        """Items whose requests ended abandoned."""
        recorder.observe(Gauge.QUEUE_SIZE, lambda: self.size, exporter=exporter)
        recorder.observe(Gauge.QUEUE_CAPACITY, lambda: settings.queue_size, exporter=exporter)
        recorder.observe(Gauge.IN_FLIGHT_REQUESTS, lambda: self.in_flight, exporter=exporter)

    @property
    def in_flight(self) -> int:
        return self.size - self._waiting.qsize()

    def has_room(self, size: int) -> bool:
        """
        Whether a request of *size* bytes would be taken now. Asking is not counted as a failure to enqueue.
        """
        if self._is_closed or self.size >= self._settings.queue_size:
            return False
        return self.size == 0 or self.size_bytes + size <= self._settings.queue_size_bytes

    def offer(self, request: ExportRequest) -> bool:
        """
        Enqueue *request*; False if the queue is full or stopped (the caller keeps it).
        """
        if not self.has_room(len(request.payload)):
            self._recorder.enqueue_failed(request.signal, self._exporter, request.item_count)
            return False
        self.size += 1
        self.size_bytes += len(request.payload)
        self._waiting.put_nowait(request)
        return True

    def start(self) -> None:
        """
        Begin to send. What was offered before waits in the queue.
        """
        self._consumers = [asyncio.create_task(self._consume()) for _ in range(self._settings.num_consumers)]

    async def _consume(self) -> None:
        while True:
            request = await self._waiting.get()
            try:
                await self._settle(request)
            finally:
                self._waiting.task_done()

    async def _settle(self, request: ExportRequest) -> None:
        tally = Tally(request.item_count)
        try:
            await self._sender.deliver(request, tally)
        except Exception:
            # The consumer must live on; the request ends abandoned, and is counted so.
            _logger.exception("sending to %s failed by a defect", self._exporter)
        finally:
            self._release(request, tally)

    def _release(self, request: ExportRequest, tally: Tally) -> None:
        """Make room first, then tell: who is told may offer the next request at once."""
        self.size -= 1
        self.size_bytes -= len(request.payload)
        if tally.unsettled:
            self._sender.abandon(request.signal, tally.unsettled)
        outcome = tally.outcome
        if outcome is SendOutcome.ABANDONED:
            self.abandoned_items += tally.abandoned + tally.unsettled
        if request.done is None:
            return
        try:
            request.done(outcome, tally.rejected)
        except Exception:
            _logger.exception("telling the outcome of a request to %s failed", self._exporter)

    def hurry(self) -> None:
        """
        From now on each request gets one more try, at once; new ones are still taken.
        """
        self._sender.hurry()

    async def stop(self, deadline_ns: int) -> None:
        """
        Take nothing more, try once what is left, within *deadline_ns*; the rest is abandoned.
        """
        self._is_closed = True
        self._sender.hurry()
        if self._consumers and self.size:
            await self._drain(deadline_ns)
        for consumer in self._consumers:
            consumer.cancel()
        await asyncio.gather(*self._consumers, return_exceptions=True)
        self._abandon_waiting()
        await self._sender.close()

    async def _drain(self, deadline_ns: int) -> None:
        try:
            async with asyncio.timeout(deadline_ns / SECOND):
                await self._waiting.join()
        except TimeoutError:
            _logger.warning("%s: stopped with %d requests unsent", self._exporter, self.size)

    def _abandon_waiting(self) -> None:
        while not self._waiting.empty():
            request = self._waiting.get_nowait()
            self._release(request, Tally(request.item_count))
            self._waiting.task_done()
