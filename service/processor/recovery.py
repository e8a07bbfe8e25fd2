"""
Recovery: what an earlier process left in the journal is taken up where it stood (design §12).

Requests come through the ordinary intake in the order in which they were taken, with the times at which they were. What
a trace had read by its last record becomes evidence again without being taken; of that, what had not arrived
downstream leaves again as it left before. Memory stays within what the earlier process held.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from msgspec import Struct

from proto_adapters.canonical import Origin
from proto_adapters.decoding import decode_log
from proto_adapters.otlp_decode import digest
from proto_adapters.split import OriginTable, SplitRequest, read_ids, split_logs, split_traces
from service.buffer.decision_cache import Decision, DecisionCache
from service.buffer.trace_buffer import ReadSpan, TraceBuffer
from service.clock import Clock
from service.evidence import CoverageReason
from service.journal.ledger import OF_SESSIONS, Claim
from service.journal.records import Release, StoredRequest
from service.journal.statements import MARK, PASSED_ON, REPLICAS
from service.pipeline import Signal
from service.processor.intake import Intake, Taken
from service.processor.journalled import Journalled
from service.processor.outbox import Outbox, Settlement
from service.processor.past import PastTrace, PastTraces, SpansAgain
from service.processor.reading import Reader
from service.processor.release import Annotator
from service.processor.sessions import SessionTracker
from service.processor.settings import ProcessorSettings
from service.telemetry.recorder import LateAction, Recorder

_logger = logging.getLogger(__name__)

ROOM_SECONDS = 0.02
"""How long a full outlet is left alone."""

FollowUp = Callable[[Taken], Awaitable[None]]


class _Again(Struct, eq=False):
    """
    What of one request an earlier process had dealt with.
    """

    seq: int
    claims: dict[int, Claim] = {}
    """Traces that need the request still, by key."""
    leaving: dict[int, tuple[SpansAgain, list[ReadSpan]]] = {}


class Recovery:
    """
    Takes up one journal, once.
    """

    def __init__(
        self,
        journal: Journalled,
        settings: ProcessorSettings,
        *,
        buffer: TraceBuffer,
        decisions: DecisionCache,
        intake: Intake,
        outboxes: dict[Signal, Outbox],
        origins: OriginTable,
        recorder: Recorder,
        clock: Clock,
        sessions: SessionTracker,
    ) -> None:
        self._journal = journal
        self._sessions = sessions
        self._settings = settings
        self._buffer = buffer
        self._decisions = decisions
        self._intake = intake
        self._outboxes = outboxes
        self._origins = origins
        self._recorder = recorder
        self._clock = clock
        self._reader = Reader(settings.decoding, recorder)
        self._annotator = Annotator(
            settings.annotate, drop_untrusted=settings.drop_untrusted, kept=settings.kept_attributes
        )
        self._done = journal.contents.done
        self._done_seqs = {seq for seq, _ in self._done}
        self._pasts = PastTraces(journal.contents, journal.offset_ns, journal.settlement)

    async def run(self, follow_up: FollowUp) -> None:
        """
        Take up everything; *follow_up* does what the spans of a request lead to.
        """
        self._restore()
        count = 0
        async for request in self._journal.requests():
            await self._wait_for_room()
            try:
                await self._take_up(request, follow_up)
            except Exception:
                _logger.exception("a request of the journal could not be taken up, and stays in it")
            count += 1
            await asyncio.sleep(0)
        self._finish()
        self._recorder.journal_recovered(count)

    def _restore(self) -> None:
        contents, offset_ns = self._journal.contents, self._journal.offset_ns
        for decision in contents.decisions.values():
            self._decisions.put(decision.trace_id, Decision(decision.trigger, decision.attributes))
        for name, at_ns in contents.levels.items():
            if name.startswith(MARK):
                self._buffer.mark_open(CoverageReason(name.removeprefix(MARK)), at_ns - offset_ns)
        self._buffer.replicas_since_ns = contents.levels.get(REPLICAS, 0)
        for past in self._pasts.by_key.values():
            if past.trace is not None:
                self._buffer.restore(past.trace)
                self._journal.claims[past.trace.trace_id] = past.claim
        self._journal.remove_releases(self._pasts.orphans)
        self._sessions.recover()

    async def _wait_for_room(self) -> None:
        """
        What leaves again must not pile up before a full outlet.
        """
        while True:
            for outbox in self._outboxes.values():
                outbox.flush_due(self._clock.monotonic_ns())
            if all(outbox.has_room for outbox in self._outboxes.values()):
                return
            await asyncio.sleep(ROOM_SECONDS)

    async def _take_up(self, request: StoredRequest, follow_up: FollowUp) -> None:
        if request.signal is Signal.TRACES:
            await self._take_up_spans(request, follow_up)
        else:
            self._take_up_passed(request)

    async def _take_up_spans(self, request: StoredRequest, follow_up: FollowUp) -> None:
        again = _Again(request.seq)
        groups = [
            (origin, [span for span in spans if not self._is_past(again, origin, span)])
            for origin, spans in split_traces(request.payload, self._origins).groups
        ]
        for part, spans in again.leaving.values():
            self._leave_again(part, spans)
        journal = self._journal
        receipt = journal.receipt(request.seq, len(request.payload))
        taken = self._intake.take_spans(SplitRequest(groups), request.at_ns - journal.offset_ns, receipt=receipt)
        claims = [*again.claims.values(), *map(journal.claim_of, taken.touched)]
        journal.took_again(receipt, claims, taken.forwarded, has_done_parts=request.seq in self._done_seqs)
        await follow_up(taken)

    def _is_past(self, again: _Again, origin: Origin, span: bytes) -> bool:
        """
        Whether an earlier process had dealt with *span*; if so, what is left to do with it is done or noted.
        """
        ids = read_ids(span)
        if ids is None or (again.seq, ids.trace_id) in self._done:
            return True
        past = self._pasts.find(ids.trace_id, again.seq)
        if past is None:
            return False
        if len(span) > self._settings.max_span_bytes:
            again.claims[past.claim.key] = past.claim
            return True
        span_digest = digest(span)
        if span_digest not in past.left and self._passes(past):
            return False
        again.claims[past.claim.key] = past.claim
        self._read_again(again, past, origin, span, span_digest)
        return True

    def _passes(self, past: PastTrace) -> bool:
        """
        A span that is told of nowhere had come too late for its trace, and leaves as it did then.
        """
        rescore = self._settings.late_spans is LateAction.RESCORE
        return past.trace is None or past.trace.passes_late_spans(rescore=rescore)

    def _read_again(self, again: _Again, past: PastTrace, origin: Origin, raw: bytes, span_digest: bytes) -> None:
        past.note_request(again.seq)
        span = None if past.trace is None else self._reader.read_again(past.trace.evidence, origin, raw)
        if span_digest not in past.left:
            if past.trace is not None and span is not None:
                past.trace.wait_too([span])
            return
        leaves = past.left[span_digest]
        if leaves is not None:
            past.left[span_digest] = None
            _, spans = again.leaving.setdefault(id(leaves), (leaves, []))
            spans.append(span or self._reader.decode(origin, raw))

    def _leave_again(self, leaves: SpansAgain, spans: list[ReadSpan]) -> None:
        part = leaves.part
        released = self._annotator.annotate(spans, part.root_id, part.attributes, part.others)
        now_ns = self._clock.monotonic_ns()
        for origin, items in released.groups.items():
            self._outboxes[Signal.TRACES].add(origin, items, now_ns, leaves.settlement)

    def _take_up_passed(self, request: StoredRequest) -> None:
        """
        Logs and metrics leave again, unless they had arrived; logs are read for what they tell of completions.
        """
        journal, again = self._journal, _Again(request.seq)
        split = split_logs(request.payload, self._origins).groups if request.signal is Signal.LOGS else []
        groups = [
            (origin, [record for record in records if not self._is_past_record(again, origin, record)])
            for origin, records in split
        ]
        receipt = journal.receipt(request.seq, len(request.payload))
        needed, waiting = self._intake.take_logs(groups, request.at_ns - journal.offset_ns)
        passed = [] if (request.seq, PASSED_ON) in self._done else [PASSED_ON]
        if passed and request.item_count:
            self._outboxes[request.signal].pass_on(request.payload, request.item_count, receipt.settlement)
        claims = [*again.claims.values(), *map(journal.claim_of, needed)]
        journal.took_again(receipt, claims, passed, waiting, has_done_parts=request.seq in self._done_seqs)

    def _is_past_record(self, again: _Again, origin: Origin, record: bytes) -> bool:
        completion = decode_log(record, origin, self._settings.decoding)
        if completion is None or (again.seq, completion.trace_id) in self._done:
            return True
        past = self._pasts.find(completion.trace_id, again.seq)
        if past is None or past.trace is None:
            return past is not None
        again.claims[past.claim.key] = past.claim
        past.trace.evidence.observe_log(completion, digest(record))
        return True

    def _finish(self) -> None:
        """
        What was made by us leaves behind the spans; from now on settlements may be told.
        """
        now_ns = self._clock.monotonic_ns()
        for key, stored in self._journal.contents.releases.items():
            if stored.release.trace == OF_SESSIONS:
                self._own_again(stored.release, self._journal.free_settlement(key), now_ns)
        for past in self._pasts.by_key.values():
            for again in past.releases:
                self._own_again(again.release, again.settlement, now_ns)
            if past.trace is not None:
                past.trace.evidence.forget_bytes()
                self._buffer.update_size(past.trace)
                if past.trace.waiting:
                    self._buffer.touch_late(past.trace, now_ns)
            elif not past.claim.unsettled:
                self._journal.ledger.forgotten(past.claim, past.state)
        for trace in self._buffer.all_traces():
            self._buffer.postpone(trace, now_ns + self._settings.completion.decision_delay_ns)

    def _own_again(self, release: Release, settlement: Settlement, now_ns: int) -> None:
        for own in release.own:
            origin = self._origins.intern(own.resource_header, own.scope_header)
            self._outboxes[own.signal].add(origin, own.items, now_ns, settlement)
        settlement.seal()
