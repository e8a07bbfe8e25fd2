"""
The trace buffer: spans per trace until the trace is due.

Pure: no clock, no lock, no I/O. The processor's event loop is its only owner, so nothing here is guarded. Deadlines
stand in a heap and are checked again when they come up, so a span costs O(1) and a trace O(log n).
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import count
from typing import NamedTuple

from proto_adapters.canonical import Attributes, CanonicalSpan, Origin
from service.buffer.completion import CompletionSettings, Due, due_when_open, exceeded_limit
from service.buffer.trace_evidence import TraceEvidence
from service.evaluation import DeliveryHistory
from service.evidence import CoverageReason, Trigger

TRACE_BYTES = 2_000
"""What a trace costs before it holds a span: its objects, its deadline, its places in the tables. Measured."""
SCORED_BYTES = 3_500
"""What the deliveries and the stamp of a scored trace cost. Measured with one evaluation."""
HELD_SPAN_BYTES = 150
"""What a held span costs beyond its own bytes (`reference/performance.md` §4)."""

SPARE_DEADLINES = 1_000
"""Stale deadlines that are let be, beside four for each trace."""


class ReadSpan(NamedTuple):
    """
    A span that was read and has not left. `canonical` is `None` if not even its ids can be read.
    """

    origin: Origin
    raw: bytes
    canonical: CanonicalSpan | None


@dataclass(slots=True, eq=False)
class BufferedTrace:
    """
    One trace in the buffer: the span bytes held, the evidence already read, and how it came to be where it is.

    Times are monotonic nanoseconds. `closed_ns` is `None` while the trace is open.
    """

    trace_id: bytes
    first_ns: int
    last_ns: int
    opened_ns: int = 0
    """When its first span came; unlike `first_ns` it does not start anew when the trace opens again."""
    held: dict[Origin, list[bytes]] = field(default_factory=dict)
    held_bytes: int = 0
    held_count: int = 0
    span_count: int = 0
    byte_count: int = 0
    evidence: TraceEvidence = field(default_factory=TraceEvidence)
    waiting: list[ReadSpan] = field(default_factory=list)
    """Read, but below no attribute root so far: they leave with a root that comes, or when the timers end."""
    waiting_bytes: int = 0
    histories: dict[bytes, DeliveryHistory] = field(default_factory=dict)
    """What was delivered, by the span id of the attribute root; `b""` for the whole trace."""
    stamp: Attributes = field(default_factory=dict)
    """Attributes of the last verdict."""
    has_root: bool = False
    """An ended span that may be the root arrived since the trace was opened or last re-opened."""
    facts: set[CoverageReason] = field(default_factory=set)
    replicas_since_ns: int = 0
    """When the set of replicas last changed before this trace was opened, by the wall clock; 0: never."""
    closed_ns: int | None = None
    closed_by: Trigger | None = None
    late_since_ns: int | None = None
    late_roots: set[bytes] = field(default_factory=set)
    """Attribute roots to whose subtree a span came late."""
    has_news: bool = False
    """A log record or an annotation came since the last closing."""
    released_early: bool = False
    is_closing: bool = False
    early_given: set[tuple[str, str | None]] = field(default_factory=set)
    """Early verdicts that were delivered, by identifier and expectation."""
    early_after_ns: int = 0
    """Not before this time are early verdicts looked for again."""
    scheduled_ns: int = 0
    counted_size: int = 0

    @property
    def is_open(self) -> bool:
        return self.closed_ns is None

    @property
    def is_provisional(self) -> bool:
        """Closed, but a further span opens it again (design §6.4)."""
        return self.closed_by is not None and self.closed_by.is_provisional

    @property
    def size(self) -> int:
        """Bytes of memory: spans held or waiting, evidence, and the trace itself."""
        spans = self.held_bytes + HELD_SPAN_BYTES * self.held_count + self.waiting_bytes
        return TRACE_BYTES + (SCORED_BYTES if self.stamp else 0) + spans + self.evidence.size

    def passes_late_spans(self, *, rescore: bool) -> bool:
        """
        A span that comes now leaves at once: the trace is closed by its root, and late spans are not scored again.
        """
        return not rescore and self.closed_by is Trigger.ROOT_SPAN

    def hold(self, origin: Origin, span: bytes, now_ns: int) -> None:
        """
        Hold one span that came now.
        """
        size = len(span)
        spans = self.held.get(origin)
        if spans is None:
            self.held[origin] = [span]
        else:
            spans.append(span)
        self.last_ns = now_ns
        self.held_bytes += size
        self.byte_count += size
        self.held_count += 1
        self.span_count += 1

    def history_of(self, root_id: bytes) -> DeliveryHistory:
        return self.histories.setdefault(root_id, {})

    def take_waiting(self) -> list[ReadSpan]:
        """
        The waiting spans; from now on none waits.
        """
        waiting, self.waiting, self.waiting_bytes = self.waiting, [], 0
        return waiting

    def wait(self, spans: list[ReadSpan]) -> None:
        """
        Keep *spans* until a root above them comes, or the timers end.
        """
        self.waiting = spans
        self.waiting_bytes = sum(len(span.raw) for span in spans)

    def wait_too(self, spans: list[ReadSpan]) -> None:
        """
        Keep *spans* beside those that wait already.
        """
        self.waiting.extend(spans)
        self.waiting_bytes += sum(len(span.raw) for span in spans)

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
        self._deadlines: list[tuple[int, int, bytes]] = []
        self._sequence = count()
        self._marks: dict[CoverageReason, int] = {}
        self.replicas_since_ns = 0
        """When the set of replicas last changed, by the wall clock; 0: never."""
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

    def holds(self, trace: BufferedTrace) -> bool:
        """
        False once *trace* was removed; whoever awaits has to ask again.
        """
        return self.get(trace.trace_id) is trace

    def get(self, trace_id: bytes) -> BufferedTrace | None:
        return self._open.get(trace_id) or self._closed.get(trace_id)

    def open(self, trace_id: bytes, now_ns: int) -> BufferedTrace:
        """
        Start a new trace.
        """
        trace = BufferedTrace(trace_id, first_ns=now_ns, last_ns=now_ns, opened_ns=now_ns)
        trace.replicas_since_ns = self.replicas_since_ns
        self._open[trace_id] = trace
        self._schedule(trace)
        return trace

    def restore(self, trace: BufferedTrace) -> None:
        """
        Take a trace that an earlier process held.
        """
        traces = self._open if trace.is_open else self._closed
        traces[trace.trace_id] = trace
        self._schedule(trace)

    def postpone(self, trace: BufferedTrace, until_ns: int) -> None:
        """
        Let no timer of *trace* end before *until_ns*.
        """
        missing_ns = until_ns - self.due(trace).at_ns
        if missing_ns <= 0:
            return
        trace.first_ns += missing_ns
        trace.last_ns += missing_ns
        if trace.closed_ns is not None:
            trace.closed_ns += missing_ns
        if trace.late_since_ns is not None:
            trace.late_since_ns += missing_ns
        self._schedule(trace)

    def add(self, trace: BufferedTrace, origin: Origin, span: bytes, *, is_root: bool, now_ns: int) -> None:
        """
        Hold one span of *trace*. The caller ends its run of additions with `update_size`.
        """
        if not trace.is_open:
            self._add_to_closed(trace, now_ns)
        trace.hold(origin, span, now_ns)
        if is_root and not trace.has_root:
            trace.has_root = True
            self._schedule(trace)

    def _add_to_closed(self, trace: BufferedTrace, now_ns: int) -> None:
        """
        A provisionally closed trace opens again; any other closed one is scored again, if the span is no copy.
        """
        if trace.is_provisional:
            self._reopen(trace, now_ns)
        else:
            self.touch_late(trace, now_ns)

    def settle_arrivals(self, trace: BufferedTrace, now_ns: int) -> None:
        """
        Spans that came while *trace* was being closed came after the closing.
        """
        if trace.held_count and not trace.is_open:
            self._add_to_closed(trace, now_ns)
        elif trace.held_count and trace.histories:
            trace.has_root = True
            self._schedule(trace)
        self.update_size(trace)

    def settle_release(self, trace: BufferedTrace, now_ns: int) -> None:
        """
        The spans of *trace* were read and left; if it was closed meanwhile, what they tell is scored again.
        """
        if self.holds(trace):
            self.touch_late(trace, now_ns)
            self.update_size(trace)

    def touch_late(self, trace: BufferedTrace, now_ns: int) -> None:
        """
        Evidence came for a closed trace: score it again, once what else is under way had time to come.
        """
        if not trace.is_open and trace.late_since_ns is None:
            trace.late_since_ns = now_ns
            self._schedule(trace)

    def reassess(self, trace: BufferedTrace, now_ns: int) -> None:
        """
        Something else than a span came for *trace*, a log record or an annotation: what was delivered may change.
        """
        trace.has_news = True
        if not trace.is_open:
            self.touch_late(trace, now_ns)
        elif trace.histories and not trace.has_root:
            trace.last_ns = now_ns
            trace.has_root = True
            self._schedule(trace)

    def _reopen(self, trace: BufferedTrace, now_ns: int) -> None:
        """
        Both timers start anew (design §6.4). A root that it has came while the trace was being closed.
        """
        del self._closed[trace.trace_id]
        self._open[trace.trace_id] = trace
        trace.first_ns = now_ns
        trace.closed_ns = trace.closed_by = None
        self._schedule(trace)

    def mark_open(self, reason: CoverageReason, now_ns: int) -> None:
        """
        Something happened to all traces that are open now. O(1).
        """
        self._marks[reason] = now_ns

    def marks_of(self, trace: BufferedTrace) -> set[CoverageReason]:
        """
        What happened to *trace* since its first span came.
        """
        return {reason for reason, at_ns in self._marks.items() if at_ns >= trace.opened_ns}

    @property
    def evidence_size(self) -> int:
        """Bytes of evidence that closed traces keep without their spans."""
        return sum(trace.evidence.size for trace in self._closed.values())

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
        Account for what *trace* costs now. One that was removed costs nothing.
        """
        if not self.holds(trace):
            return
        size = trace.size
        self.size += size - trace.counted_size
        trace.counted_size = size

    def next_due(self, now_ns: int) -> DueTrace | None:
        """
        The trace with the oldest deadline that is not after *now_ns*. The caller closes, removes or keeps it open.
        """
        while self._deadlines and self._deadlines[0][0] <= now_ns:
            at_ns, _, trace_id = heappop(self._deadlines)
            trace = self.get(trace_id)
            if trace is None or at_ns != trace.scheduled_ns:
                continue
            trace.scheduled_ns = -1
            if trace.is_closing:
                continue
            due = self.due(trace)
            if due.at_ns <= now_ns:
                return DueTrace(trace, due.trigger if trace.is_open or trace.late_since_ns is not None else None)
            self._schedule(trace)
        return None

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

    def keep_open(self, trace: BufferedTrace) -> None:
        """
        *trace* has no root that still has to be closed: its timers go on.
        """
        trace.has_root = False
        self._schedule(trace)

    def _schedule(self, trace: BufferedTrace) -> None:
        at_ns = self.due(trace).at_ns
        if at_ns == trace.scheduled_ns:
            return
        trace.scheduled_ns = at_ns
        heappush(self._deadlines, (at_ns, next(self._sequence), trace.trace_id))
        if len(self._deadlines) > SPARE_DEADLINES + 4 * len(self):
            self._drop_stale_deadlines()

    def _drop_stale_deadlines(self) -> None:
        """
        Deadlines of removed and rescheduled traces must not add up until their time comes.
        """
        self._deadlines = [entry for entry in self._deadlines if self._is_current(entry)]
        heapify(self._deadlines)

    def _is_current(self, entry: tuple[int, int, bytes]) -> bool:
        trace = self.get(entry[2])
        return trace is not None and trace.scheduled_ns == entry[0]

    def oldest_open(self) -> BufferedTrace | None:
        return next((trace for trace in self._open.values() if not trace.is_closing), None)

    def settled_traces(self) -> Iterator[BufferedTrace]:
        """
        Closed traces that hold no late spans, closed longest ago first. Removing traces while iterating is allowed.
        """
        for trace in list(self._closed.values()):
            if not trace.is_closing and trace.late_since_ns is None:
                yield trace

    def open_traces(self) -> Iterator[BufferedTrace]:
        """
        Open traces, oldest first. Closing traces while iterating is allowed.
        """
        yield from list(self._open.values())

    def all_traces(self) -> Iterator[BufferedTrace]:
        yield from list(self._open.values())
        yield from list(self._closed.values())
