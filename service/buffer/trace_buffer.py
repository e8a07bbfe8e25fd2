"""
The trace buffer: spans per trace until the trace is due.

Pure: no clock, no lock, no I/O. The processor's event loop is its only owner, so nothing here is guarded. Deadlines
stand in a heap and are checked again when they come up, so a span costs O(1) and a trace O(log n).
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

from proto_adapters.canonical import Origin
from service.buffer.completion import CompletionSettings, Due, due_when_open, exceeded_limit
from service.buffer.trace_evidence import TraceEvidence
from service.evidence import CoverageReason, Trigger

HELD_SPAN_BYTES = 150
"""What a held span costs beyond its own bytes (`reference/performance.md` §4)."""


@dataclass(slots=True, eq=False)
class BufferedTrace:
    """
    One trace in the buffer: the span bytes held, the evidence already read, and how it came to be where it is.

    Times are monotonic nanoseconds. `closed_ns` is `None` while the trace is open.
    """

    trace_id: bytes
    first_ns: int
    last_ns: int
    opened_at_event: int = 0
    held: dict[Origin, list[bytes]] = field(default_factory=dict)
    held_bytes: int = 0
    held_count: int = 0
    span_count: int = 0
    byte_count: int = 0
    evidence: TraceEvidence = field(default_factory=TraceEvidence)
    has_root: bool = False
    """An ended span that may be the root arrived since the trace was opened or last re-opened."""
    facts: set[CoverageReason] = field(default_factory=set)
    closed_ns: int | None = None
    closed_by: Trigger | None = None
    late_since_ns: int | None = None
    released_early: bool = False
    is_closing: bool = False
    scheduled_ns: int = 0
    counted_size: int = 0

    @property
    def is_open(self) -> bool:
        return self.closed_ns is None

    @property
    def size(self) -> int:
        """Bytes of memory: held spans and evidence."""
        return self.held_bytes + HELD_SPAN_BYTES * self.held_count + self.evidence.size

    def hold(self, origin: Origin, span: bytes) -> None:
        spans = self.held.get(origin)
        if spans is None:
            self.held[origin] = [span]
        else:
            spans.append(span)
        self.held_bytes += len(span)
        self.held_count += 1

    def take_held(self) -> dict[Origin, list[bytes]]:
        """
        The held spans; from now on none is held.
        """
        held, self.held = self.held, {}
        self.held_bytes = self.held_count = 0
        return held


class DueTrace(NamedTuple):
    trace: BufferedTrace
    trigger: Trigger | None
    """`None`: the evidence of a closed trace has been kept long enough."""


class TraceBuffer:
    """
    All traces that are open, and those closed ones whose evidence is kept.
    """

    def __init__(self, settings: CompletionSettings) -> None:
        self._settings = settings
        self._open: OrderedDict[bytes, BufferedTrace] = OrderedDict()
        self._closed: OrderedDict[bytes, BufferedTrace] = OrderedDict()
        self._deadlines: list[tuple[int, int, BufferedTrace]] = []
        self._sequence = count()
        self.size = 0
        """Bytes of memory of all traces."""

    def __len__(self) -> int:
        return len(self._open) + len(self._closed)

    @property
    def open_count(self) -> int:
        return len(self._open)

    @property
    def has_too_many(self) -> bool:
        return len(self._open) > self._settings.num_traces

    def get(self, trace_id: bytes) -> BufferedTrace | None:
        return self._open.get(trace_id) or self._closed.get(trace_id)

    def open(self, trace_id: bytes, now_ns: int) -> BufferedTrace:
        """
        Start a new trace.
        """
        trace = BufferedTrace(trace_id, first_ns=now_ns, last_ns=now_ns)
        self._open[trace_id] = trace
        self._schedule(trace)
        return trace

    def add(self, trace: BufferedTrace, origin: Origin, span: bytes, *, is_root: bool, now_ns: int) -> None:
        """
        Hold one span of *trace*. A provisionally closed trace opens again; any other closed one gets a late span.
        """
        if not trace.is_open and trace.closed_by is not None:
            if trace.closed_by.is_provisional:
                self._reopen(trace, now_ns)
            elif trace.late_since_ns is None:
                trace.late_since_ns = now_ns
                self._schedule(trace)
        trace.last_ns = now_ns
        trace.span_count += 1
        trace.byte_count += len(span)
        trace.hold(origin, span)
        if is_root and not trace.has_root:
            trace.has_root = True
            self._schedule(trace)
        self.update_size(trace)

    def touch_late(self, trace: BufferedTrace, now_ns: int) -> None:
        """
        Evidence other than a span came for a closed trace (a log record, an annotation): score it again.
        """
        if not trace.is_open and trace.late_since_ns is None:
            trace.late_since_ns = now_ns
            self._schedule(trace)

    def _reopen(self, trace: BufferedTrace, now_ns: int) -> None:
        """
        Both timers start anew (design §6.4).
        """
        del self._closed[trace.trace_id]
        self._open[trace.trace_id] = trace
        trace.first_ns = now_ns
        trace.closed_ns = trace.closed_by = None
        trace.has_root = False
        self._schedule(trace)

    def limit_of(self, trace: BufferedTrace) -> Trigger | None:
        return exceeded_limit(self._settings, span_count=trace.span_count, byte_count=trace.byte_count)

    def close(self, trace: BufferedTrace, trigger: Trigger, now_ns: int) -> None:
        """
        Mark *trace* as closed by *trigger*; its evidence is kept for another `trace_timeout`.
        """
        self._open.pop(trace.trace_id, None)
        self._closed[trace.trace_id] = trace
        self._closed.move_to_end(trace.trace_id)
        trace.closed_ns, trace.late_since_ns = now_ns, None
        trace.closed_by = trigger if trigger is not Trigger.LATE_SPAN else trace.closed_by
        self._schedule(trace)

    def remove(self, trace: BufferedTrace) -> None:
        """
        Forget *trace* and all that was kept of it.
        """
        self._open.pop(trace.trace_id, None)
        self._closed.pop(trace.trace_id, None)
        self.size -= trace.counted_size
        trace.counted_size = 0
        trace.scheduled_ns = -1

    def update_size(self, trace: BufferedTrace) -> None:
        """
        Account for what *trace* costs now.
        """
        size = trace.size
        self.size += size - trace.counted_size
        trace.counted_size = size

    def take_due(self, now_ns: int, *, limit: int) -> Iterator[DueTrace]:
        """
        At most *limit* traces whose deadline is not after *now_ns*, oldest deadline first. The caller closes or removes each.
        """
        taken = 0
        while taken < limit and self._deadlines and self._deadlines[0][0] <= now_ns:
            at_ns, _, trace = heappop(self._deadlines)
            if at_ns != trace.scheduled_ns or trace.is_closing:
                continue
            due = self.due(trace)
            if due.at_ns > now_ns:
                self._schedule(trace)
                continue
            trace.scheduled_ns = -1
            taken += 1
            yield DueTrace(trace, due.trigger if trace.is_open or trace.late_since_ns is not None else None)

    def due(self, trace: BufferedTrace) -> Due:
        """
        When *trace* is due as things stand.
        """
        if trace.closed_ns is None:
            return due_when_open(
                self._settings, first_ns=trace.first_ns, last_ns=trace.last_ns, has_root=trace.has_root
            )
        if trace.late_since_ns is not None:
            return Due(trace.late_since_ns + self._settings.decision_delay_ns, Trigger.LATE_SPAN)
        return Due(trace.closed_ns + self._settings.trace_timeout_ns, Trigger.LATE_SPAN)

    def reschedule(self, trace: BufferedTrace) -> None:
        """
        Put a trace that was taken as due back, for instance because its output cannot leave yet.
        """
        self._schedule(trace)

    def _schedule(self, trace: BufferedTrace) -> None:
        at_ns = self.due(trace).at_ns
        if at_ns == trace.scheduled_ns:
            return
        trace.scheduled_ns = at_ns
        heappush(self._deadlines, (at_ns, next(self._sequence), trace))

    def oldest_open(self) -> BufferedTrace | None:
        return next((trace for trace in self._open.values() if not trace.is_closing), None)

    def oldest_closed(self) -> BufferedTrace | None:
        return next((trace for trace in self._closed.values() if not trace.is_closing), None)

    def open_traces(self) -> Iterator[BufferedTrace]:
        """
        Open traces, oldest first. Closing traces while iterating is allowed.
        """
        yield from list(self._open.values())

    def all_traces(self) -> Iterator[BufferedTrace]:
        yield from list(self._open.values())
        yield from list(self._closed.values())
