"""
What the processor tells of requests and traces, so that they outlive the process (design §12).

`Durability` is the seam; without a journal `NO_JOURNAL` stands there and costs a call for each request and closing.
With one, it is `service.processor.journalled`.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, Protocol

from proto_adapters.canonical import NO_ATTRIBUTES, Attributes, Origin
from service.buffer.decision_cache import Decision
from service.buffer.trace_buffer import BufferedTrace, ReadSpan
from service.evidence import CoverageReason
from service.pipeline import Signal
from service.processor.outbox import Settlement


class Receipt(NamedTuple):
    """
    A request that is durable, if requests are.
    """

    seq: int = 0
    size: int = 0
    settlement: Settlement | None = None
    """Follows what of the request leaves at once."""


NO_RECEIPT = Receipt()


class Departure(Protocol):
    """
    All that one closing, or one release, lets go of one trace.
    """

    @property
    def settlement(self) -> Settlement | None:
        """What the outboxes are told with everything that belongs to it."""
        ...

    def note_spans(
        self,
        spans: Sequence[ReadSpan],
        root_id: bytes | None = None,
        attributes: Attributes = NO_ATTRIBUTES,
        others: Attributes = NO_ATTRIBUTES,
    ) -> None:
        """
        *spans* leave, the root with *attributes*, every other span with *others*.
        """
        ...

    def note_own(self, signal: Signal, origin: Origin, items: Sequence[bytes]) -> None:
        """
        Log records or spans of our own leave.
        """
        ...

    def end(self, trace: BufferedTrace) -> None:
        """
        Nothing more leaves, and *trace* is as it will stay. A second call does nothing.
        """
        ...


class Durability(Protocol):
    """
    Keeps what has to outlive the process. All methods belong to the event loop.
    """

    @property
    def keeps_traces(self) -> bool:
        """Open traces are there again after a restart: a shutdown need not score them."""
        ...

    async def append(self, signal: Signal, request: bytes, item_count: int) -> Receipt:
        """
        Return once *request* is durable. Raises `service.errors.Refused`.
        """
        ...

    def took(
        self, receipt: Receipt, needed: Iterable[bytes], passed: Collection[bytes] = (), waiting: Iterable[bytes] = ()
    ) -> None:
        """
        The request was taken: it is needed for the traces *needed*, for those *waiting* that have yet to come, and
        until what *passed* at once has arrived: spans of these traces, or all of it (`PASSED_ON`).
        """
        ...

    def departure(self, trace: BufferedTrace) -> Departure: ...

    def forgot(self, trace: BufferedTrace, decision: Decision | None) -> None:
        """
        The evidence of *trace* is kept no longer; *decision* is remembered of it.
        """
        ...

    def logs_dropped(self, trace_id: bytes) -> None:
        """
        Log records that waited for a trace wait no longer.
        """
        ...

    def replicas_changed(self, wall_ns: int) -> None:
        """
        The set of replicas changed, by the wall clock.
        """
        ...

    def marked(self, reason: CoverageReason, now_ns: int) -> None:
        """
        Something happened to all traces that are open.
        """
        ...

    def tick(self, now_ns: int) -> None:
        """
        The process runs.
        """
        ...

    def stop(self) -> None:
        """
        What is given up downstream from now on was not lost: the next process sends it.
        """
        ...

    async def flush(self) -> None:
        """
        Return once everything told so far is durable, or could not be made so.
        """
        ...


class _NoDeparture:
    settlement = None

    def note_spans(
        self,
        spans: Sequence[ReadSpan],
        root_id: bytes | None = None,
        attributes: Attributes = NO_ATTRIBUTES,
        others: Attributes = NO_ATTRIBUTES,
    ) -> None: ...

    def note_own(self, signal: Signal, origin: Origin, items: Sequence[bytes]) -> None: ...
    def end(self, trace: BufferedTrace) -> None: ...


NO_DEPARTURE = _NoDeparture()


class _NoJournal:
    """
    What is held is in memory only.
    """

    keeps_traces = False

    async def append(self, signal: Signal, request: bytes, item_count: int) -> Receipt:
        del signal, request, item_count
        return NO_RECEIPT

    def took(
        self, receipt: Receipt, needed: Iterable[bytes], passed: Collection[bytes] = (), waiting: Iterable[bytes] = ()
    ) -> None: ...
    def departure(self, trace: BufferedTrace) -> Departure:
        del trace
        return NO_DEPARTURE

    def forgot(self, trace: BufferedTrace, decision: Decision | None) -> None: ...
    def logs_dropped(self, trace_id: bytes) -> None: ...
    def replicas_changed(self, wall_ns: int) -> None: ...
    def marked(self, reason: CoverageReason, now_ns: int) -> None: ...
    def tick(self, now_ns: int) -> None: ...
    def stop(self) -> None: ...
    async def flush(self) -> None: ...


NO_JOURNAL = _NoJournal()
