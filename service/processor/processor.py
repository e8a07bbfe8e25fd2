"""
The processor: one owner of the trace buffer, on one event loop, without locks.

Requests come in through `consume`; `tick` closes what is due. Under pressure it gives way in the order of design §5:
evidence of closed traces, decision delays, span bytes, open traces; only when what it releases cannot leave does it
refuse.
"""

import asyncio
import re

from proto_adapters.split import OriginTable, UndecodableRequest, count_items, split_logs, split_traces
from service.buffer.trace_buffer import BufferedTrace, TraceBuffer
from service.buffer.waiting_logs import WaitingLogs
from service.clock import Clock
from service.errors import MalformedRequest, Refused, RequestTooLarge
from service.evidence import CoverageReason, Trigger
from service.journal.statements import PASSED_ON
from service.pipeline import Accepted, Signal
from service.processor.acknowledging import Acknowledgements
from service.processor.closing import Closer
from service.processor.durability import NO_JOURNAL, Durability
from service.processor.early import EarlyVerdicts
from service.processor.intake import Intake, Taken
from service.processor.large_traces import LARGE, LargeClosings
from service.processor.outbox import Outbox, Settlement
from service.processor.pressure import Pressure
from service.processor.recovery import Recovery
from service.processor.sessions import NO_SESSIONS, SessionTracker
from service.processor.settings import ProcessorSettings
from service.telemetry.recorder import Recorder, RefusalReason

TRACE_ID = re.compile("[0-9a-f]{32}")
TURN_NS = 1_000_000
"""How long closings may run before the loop gets a turn (`reference/performance.md` §3)."""


class Processor:
    """
    Takes requests, scores traces, lets spans go. Implements `service.pipeline.Consumer`.
    """

    def __init__(
        self,
        settings: ProcessorSettings,
        *,
        buffer: TraceBuffer,
        logs: WaitingLogs,
        intake: Intake,
        closer: Closer,
        pressure: Pressure,
        origins: OriginTable,
        outboxes: dict[Signal, Outbox],
        acknowledgements: Acknowledgements,
        recorder: Recorder,
        clock: Clock,
        sessions: SessionTracker = NO_SESSIONS,
        early: EarlyVerdicts | None = None,
        journal: Durability = NO_JOURNAL,
        recovery: Recovery | None = None,
    ) -> None:
        self._settings = settings
        self._sessions = sessions
        self._early = early
        self._journal = journal
        self._recovery = recovery
        self._buffer = buffer
        self._logs = logs
        self._intake = intake
        self._closer = closer
        self._pressure = pressure
        self._origins = origins
        self._outboxes = outboxes
        self._recorder = recorder
        self._clock = clock
        self._acknowledgements = acknowledgements
        self._large = LargeClosings(closer.close)
        self._is_stopping = False

    def may_take(self, size: int) -> bool:
        """
        Whether a request of *size* bytes would be read at all now. That one is turned away is held against open traces.
        """
        if self._is_stopping:
            return False
        if self._pressure.might_take(size):
            return True
        self._note_refusal()
        return False

    @property
    def is_over_limit(self) -> bool:
        """
        Whether senders had better go elsewhere.
        """
        return self._pressure.is_over_limit

    async def consume(self, signal: Signal, request: bytes) -> Accepted:
        """
        Take one request. Raises `MalformedRequest` or `Refused`.
        """
        if self._is_stopping:
            raise Refused(RefusalReason.SHUTTING_DOWN)
        await self._acknowledgements.room(signal, len(request))

        async def take(settlement: Settlement | None) -> Accepted:
            if signal is Signal.TRACES:
                return await self._take_traces(request, settlement)
            return await self._pass_on(signal, request, settlement)

        return await self._acknowledgements.result(signal, take)

    async def _take_traces(self, request: bytes, settlement: Settlement | None) -> Accepted:
        await self._make_room(len(request))
        try:
            split = split_traces(request, self._origins)
        except UndecodableRequest as error:
            raise MalformedRequest(str(error)) from error
        if split.has_legacy_field:
            self._recorder.legacy_request()
        with self._pressure.arriving(len(request)):
            receipt = await self._journal.append(Signal.TRACES, request, split.item_count)
        taken = self._intake.take_spans(split, self._clock.monotonic_ns(), settlement, receipt)
        self._journal.took(receipt, taken.touched, taken.forwarded)
        await self.follow_up(taken)
        await self._evict_surplus()
        await self._pressure.relieve()
        return taken.accepted

    async def follow_up(self, taken: Taken) -> None:
        """
        What the spans of a request lead to in their own traces.
        """
        await self._let_go(taken)
        for trace in taken.touched.values():
            await self._keep_to_limits(trace)
            if self._early is not None:
                self._early.note(trace)

    async def _make_room(self, size: int) -> None:
        if self._pressure.has_room_for(size):
            return
        if size > self._settings.max_buffer_bytes:
            raise RequestTooLarge("the request is larger than max_buffer_mib")
        await self._pressure.relieve(size)
        if not self._pressure.has_room_for(size):
            self._note_refusal()
            raise Refused(RefusalReason.BUFFER_FULL)

    def _note_refusal(self) -> None:
        """
        Spans of any open trace may have been in a request that was refused for pressure (`spans_refused`, design §5).
        """
        self._mark_open(CoverageReason.SPANS_REFUSED)

    def _mark_open(self, reason: CoverageReason) -> None:
        now_ns = self._clock.monotonic_ns()
        self._buffer.mark_open(reason, now_ns)
        self._journal.marked(reason, now_ns)

    async def _let_go(self, taken: Taken) -> None:
        """
        Spans leave at once in pass_through and after an early release.
        """
        for trace in taken.touched.values():
            if not self._settings.hold or trace.released_early:
                await self._closer.release_early(trace, taken.settlement)
        if taken.settlement is not None:
            self._outboxes[Signal.TRACES].flush()

    async def _keep_to_limits(self, trace: BufferedTrace) -> None:
        """
        A trace over a limit closes now.
        """
        limit = self._buffer.limit_of(trace)
        if limit is not None and trace.is_open:
            await self._closer.close(trace, limit)

    async def _evict_surplus(self) -> None:
        while self._buffer.has_too_many:
            oldest = self._buffer.oldest_open()
            if oldest is None:
                return
            await self._pressure.evict(oldest)

    async def _pass_on(self, signal: Signal, request: bytes, settlement: Settlement | None) -> Accepted:
        """
        Logs and metrics leave untouched; logs are read for what they tell of completions.
        """
        outbox = self._outboxes.get(signal)
        if outbox is not None and not outbox.has_room:
            raise Refused(RefusalReason.QUEUE_FULL)
        try:
            groups = split_logs(request, self._origins).groups if signal is Signal.LOGS else []
            item_count = count_items(request)
        except UndecodableRequest as error:
            raise MalformedRequest(str(error)) from error
        receipt = await self._journal.append(signal, request, item_count)
        needed, waiting = self._intake.take_logs(groups, self._clock.monotonic_ns())
        if outbox is not None and item_count:
            outbox.pass_on(request, item_count, settlement, receipt.settlement)
        self._journal.took(receipt, needed, [PASSED_ON], waiting)
        return Accepted(item_count=item_count)

    async def recover(self) -> None:
        """
        Take up what an earlier process left in the journal; before anything else is taken.
        """
        if self._recovery is not None:
            await self._recovery.run(self.follow_up)
            await self._evict_surplus()
            await self._pressure.relieve()

    async def tick(self) -> None:
        """
        Close what is due, and send what has waited long enough.
        """
        now_ns = turn_ns = self._clock.monotonic_ns()
        self._flush(now_ns)
        if self._early is not None:
            await self._early.look(now_ns)
        while self._outboxes[Signal.TRACES].has_room:
            due = self._buffer.next_due(now_ns)
            if due is None:
                break
            if due.trigger is None:
                self._closer.forget(due.trace)
            elif due.trace.span_count >= LARGE:
                self._large.add(due.trace, due.trigger)
            else:
                await self._closer.close(due.trace, due.trigger)
            if self._clock.monotonic_ns() - turn_ns > TURN_NS:
                await asyncio.sleep(0)
                turn_ns = self._clock.monotonic_ns()
        await self._close_sessions(now_ns)
        self._logs.expire(now_ns)
        await self._pressure.relieve()

    async def settle(self) -> None:
        """
        Until the large traces that were due are closed.
        """
        await self._large.settle()

    async def _close_sessions(self, now_ns: int) -> None:
        turn_ns = self._clock.monotonic_ns()
        while self._outboxes[Signal.TRACES].has_room and self._sessions.close_next(now_ns):
            if self._clock.monotonic_ns() - turn_ns > TURN_NS:
                await asyncio.sleep(0)
                turn_ns = self._clock.monotonic_ns()

    def _flush(self, now_ns: int) -> None:
        for outbox in self._outboxes.values():
            outbox.flush_due(now_ns)
        self._journal.tick(now_ns)
        self._acknowledgements.look_for_room()

    def annotation_changed(self, occurrence: str) -> None:
        """
        What *occurrence* requires was set or taken back: a trace or a session that was scored is scored again.
        """
        self._sessions.annotation_changed(occurrence)
        trace = self._buffer.get(bytes.fromhex(occurrence)) if TRACE_ID.fullmatch(occurrence) else None
        if trace is not None:
            self._buffer.reassess(trace, self._clock.monotonic_ns())

    def membership_changed(self) -> None:
        """
        The set of replicas changed: spans of the traces that are open may have gone elsewhere. Of traces that were open
        somewhere else, and come here from now on, earlier spans may be there.
        """
        self._mark_open(CoverageReason.MEMBERSHIP_CHANGED)
        self._buffer.replicas_since_ns = self._clock.now_ns()
        self._journal.replicas_changed(self._buffer.replicas_since_ns)

    async def shutdown(self) -> None:
        """
        Take nothing more, and hand to the outlets what leaves. With a journal what is open stays for the next process.
        """
        self._is_stopping = True
        self._acknowledgements.stop()
        self._journal.stop()
        await self.settle()
        if not self._journal.keeps_traces:
            await self._end_traces()
            self._sessions.shutdown()
        for outbox in self._outboxes.values():
            outbox.flush()
        await self._journal.flush()
        self._flush(self._clock.monotonic_ns())

    async def _end_traces(self) -> None:
        """
        Score and release all that is open, or drop it, as configured.
        """
        for trace in self._buffer.all_traces():
            if trace.is_open and self._settings.drop_pending_on_shutdown:
                self._closer.drop(trace)
            elif trace.is_open:
                await self._closer.close(trace, Trigger.SHUTDOWN)
            elif trace.late_since_ns is not None:
                await self._closer.close(trace, Trigger.LATE_SPAN)
