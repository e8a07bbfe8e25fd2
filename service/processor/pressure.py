"""
Pressure: what gives way when memory is short, and in which order (design §5).

The evidence of closed traces goes first (it only serves revisions), then decision delays end, then span bytes leave
early, then open traces are evicted with a score. Each step needs room in the outbox; without it requests are refused.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

from service.buffer.trace_buffer import BufferedTrace, TraceBuffer
from service.buffer.waiting_logs import WaitingLogs
from service.evidence import Trigger
from service.processor.acknowledging import Acknowledgements
from service.processor.closing import Closer
from service.processor.outbox import Outbox
from service.processor.sessions import NO_SESSIONS, SessionTracker
from service.processor.settings import ProcessorSettings
from service.telemetry.recorder import Recorder

RELIEF_SHARE = 0.9
"""Relief goes on to this share of the soft limit, so that it need not come with every request."""


class MemoryLevel(Protocol):
    """
    What the memory limiter says of the whole process.
    """

    @property
    def is_over_hard_limit(self) -> bool: ...

    def new_excess_bytes(self) -> int: ...


class Pressure:
    """
    Keeps the memory of the buffer under its limits.
    """

    def __init__(
        self,
        settings: ProcessorSettings,
        *,
        buffer: TraceBuffer,
        logs: WaitingLogs,
        closer: Closer,
        spans: Outbox,
        memory: MemoryLevel,
        recorder: Recorder,
        sessions: SessionTracker = NO_SESSIONS,
        acknowledgements: Acknowledgements,
    ) -> None:
        self._settings = settings
        self._buffer = buffer
        self._logs = logs
        self._closer = closer
        self._spans = spans
        self._memory = memory
        self._recorder = recorder
        self._sessions = sessions
        self._acknowledgements = acknowledgements
        self._arriving_bytes = 0

    @property
    def size(self) -> int:
        """Bytes held: traces, sessions, logs that wait for one, and what waits for room in a full outlet."""
        return self._evidence_size + self._spans.size + self._acknowledgements.blocked_bytes + self._arriving_bytes

    @contextmanager
    def arriving(self, size: int) -> Iterator[None]:
        """
        A request of *size* bytes is in our hands and in no trace yet.
        """
        self._arriving_bytes += size
        try:
            yield
        finally:
            self._arriving_bytes -= size

    @property
    def _evidence_size(self) -> int:
        return self._buffer.size + self._logs.size + self._sessions.size

    def has_room_for(self, size: int) -> bool:
        """
        Whether *size* more bytes fit, with what is still on its way to a full outlet.
        """
        return self.size + size <= self._settings.max_buffer_bytes and not self._memory.is_over_hard_limit

    def might_take(self, size: int) -> bool:
        """
        Whether *size* more bytes fit, or room can be made for them.
        """
        can_relieve = self._spans.has_room and not self._memory.is_over_hard_limit
        return self.has_room_for(size) or can_relieve

    @property
    def is_over_limit(self) -> bool:
        """
        Whether more is held than should be and none of it can leave: senders are refused, or soon will be.
        """
        is_stuck = self.size > self._settings.soft_limit_bytes and not self._spans.has_room
        return is_stuck or self._memory.is_over_hard_limit

    async def relieve(self, incoming: int = 0) -> None:
        """
        Bring memory back under the soft limit, as far as what is released can leave.
        """
        goal = self._goal(incoming)
        if self._evidence_size <= goal:
            return
        self._forget_closed(goal)
        if self._settings.hold:
            await self._each(self._with_root(), self._end_delay, goal)
            await self._each(self._with_bytes(), self._release_early, goal)
        self._evict_sessions(goal)
        await self._each(self._buffer.open_traces(), self.evict, goal)

    def _goal(self, incoming: int) -> float:
        """
        What may stay held. What has left it for the outbox cannot be relieved again.
        """
        held = self._evidence_size
        soft_limit = self._settings.soft_limit_bytes - incoming
        share = RELIEF_SHARE * self._settings.soft_limit_bytes - incoming if held > soft_limit else held
        return min(share, held - self._memory.new_excess_bytes())

    def _forget_closed(self, goal: float) -> None:
        for trace in self._buffer.settled_traces():
            if self._evidence_size <= goal:
                return
            self._closer.forget(trace)
        while self._evidence_size > goal and self._sessions.forget_kept():
            pass

    def _evict_sessions(self, goal: float) -> None:
        """
        Open sessions end before open traces do: of a session that is cut the traces were scored all the same.
        """
        while self._evidence_size > goal and self._spans.has_room and self._sessions.evict_oldest():
            pass

    async def _each(
        self, traces: Iterable[BufferedTrace], step: Callable[[BufferedTrace], Awaitable[None]], goal: float
    ) -> None:
        for trace in traces:
            if self._evidence_size <= goal or not self._spans.has_room:
                break
            if trace.is_open and not trace.is_closing and self._buffer.holds(trace):
                await step(trace)
        self._spans.flush()

    def _with_root(self) -> Iterable[BufferedTrace]:
        return (trace for trace in self._buffer.open_traces() if trace.has_root)

    def _with_bytes(self) -> Iterable[BufferedTrace]:
        return (trace for trace in self._buffer.open_traces() if trace.held_count or trace.waiting)

    async def _end_delay(self, trace: BufferedTrace) -> None:
        await self._closer.close(trace, Trigger.ROOT_SPAN)

    async def _release_early(self, trace: BufferedTrace) -> None:
        if not trace.released_early:
            trace.released_early = True
            self._recorder.released_early()
        await self._closer.release_early(trace)

    async def evict(self, trace: BufferedTrace) -> None:
        """
        Close *trace* for good to make room.
        """
        self._recorder.evicted()
        if self._settings.score_on_eviction:
            await self._closer.close(trace, Trigger.EVICTION)
        else:
            self._closer.evict_unscored(trace)
