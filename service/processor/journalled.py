"""
The processor's side of the journal: what is told of requests and traces becomes records.

A request is durable before it is taken; what a closing decided is durable before anything of it leaves (the outbox asks
the settlement), so that a restart repeats it as it was. Times in records are service time: the monotonic clock of this
process, carried on from where the last one was known to run.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from functools import partial
from typing import Final

from msgspec import Struct

from service.buffer.decision_cache import Decision
from service.buffer.trace_buffer import BufferedTrace
from service.clock import Clock
from service.errors import Refused
from service.evidence import CoverageReason
from service.journal.ledger import Claim, Ledger
from service.journal.records import StoredDecision, StoredRequest, TraceState
from service.journal.statements import (
    ALIVE,
    MARK,
    REPLICAS,
    SINCE,
    Statement,
    add_decision,
    remove_decisions,
    remove_release,
    remove_request,
    set_level,
)
from service.journal.store import Fsync, JournalStore
from service.journal.writer import JournalWriteFailed, JournalWriter
from service.pipeline import Signal
from service.processor.departures import JournalledDeparture, Passage
from service.processor.durability import Departure, Receipt
from service.processor.outbox import Settlement
from service.processor.trace_states import state_of
from service.telemetry.recorder import Gauge, LossReason, Recorder, RefusalReason

ALIVE_EVERY_NS = 1_000_000_000
PRUNE_EVERY = 256
"""Decisions between two cuts of those that the cache has dropped."""


class JournalSettings(Struct, frozen=True, kw_only=True):
    """
    `buffer.journal`, and how many decisions are remembered.
    """

    fsync: Fsync = Fsync.BATCH
    max_bytes: int = 4 * 1024 * 1024 * 1024
    decision_cache_size: int = 100_000


class Journalled:
    """
    A `Durability` on disk.
    """

    keeps_traces = True

    def __init__(self, store: JournalStore, settings: JournalSettings, recorder: Recorder, clock: Clock) -> None:
        self._store = store
        self._settings = settings
        self._recorder = recorder
        self._clock = clock
        self._writer = JournalWriter(store, settings.fsync, recorder, clock)
        self.ledger = Ledger(self.put)
        self.contents = store.contents()
        self.is_intact = not store.damaged
        self._last_seq = self.taken_seq = self.contents.last_seq
        self.claims: dict[bytes, Claim] = {}
        self._waiting_logs: defaultdict[bytes, list[int]] = defaultdict(list)
        self._decision_key = max(self.contents.decisions, default=0)
        self.offset_ns: Final = self.contents.alive_ns - clock.monotonic_ns()
        self._alive_ns = self.contents.alive_ns
        self._is_stopping = False
        self._with_next: list[Statement] = []
        self._marks: dict[CoverageReason, int] = {}
        """Not yet written: refusals come by the thousand."""
        self.ledger.resume(
            trace_key=max(self.contents.traces, default=0), release_key=max(self.contents.releases, default=0)
        )
        self.since_ns = self._read_since()
        recorder.observe(Gauge.JOURNAL_SIZE, lambda: self.ledger.size)
        recorder.observe(Gauge.JOURNAL_LIMIT, lambda: settings.max_bytes)
        recorder.observe(Gauge.JOURNAL_REQUESTS, lambda: len(self.ledger))

    def _read_since(self) -> int:
        """
        Wall time from which on nothing is missing: that of the first start, or of the last one that found damage.
        """
        if self._store.damaged:
            self._recorder.journal_damaged(self._store.damaged)
        if self._store.lost_items:
            self._recorder.lost(Signal.TRACES, LossReason.JOURNAL_DAMAGED, self._store.lost_items)
        since_ns = self.contents.levels.get(SINCE) if self.is_intact else None
        if since_ns is None:
            since_ns = self._clock.now_ns()
            self._writer.put(set_level(SINCE, since_ns))
        return since_ns

    def put(self, *statements: Statement) -> int:
        """
        Write *statements* in one transaction; gives the position that `may_leave` is asked about.
        """
        together, self._with_next = [*self._with_next, *statements], []
        return self._writer.put(*together)

    def with_next(self, *statements: Statement) -> None:
        """
        Write *statements* in one transaction with what is put next.
        """
        self._with_next += statements

    def start(self) -> None:
        """
        Begin to write.
        """
        self._writer.start()

    def stop(self) -> None:
        """
        What is given up downstream from now on is kept for the next process.
        """
        self._is_stopping = True

    def close(self) -> None:
        """
        Write what waits, and let the directory go.
        """
        self._writer.close()

    async def append(self, signal: Signal, request: bytes, item_count: int) -> Receipt:
        """
        Return once *request* is durable. Raises `Refused` if the journal or the disk is full.
        """
        size = len(request)
        if self.ledger.size + size > self._settings.max_bytes:
            raise Refused(RefusalReason.JOURNAL_FULL)
        self._last_seq += 1
        seq = self._last_seq
        at_ns = self._clock.monotonic_ns() + self.offset_ns
        self.ledger.reserve(size)
        try:
            await self._writer.append(StoredRequest(seq, signal, at_ns, item_count, request))
        except JournalWriteFailed as error:
            self.ledger.free(size)
            raise Refused(RefusalReason.JOURNAL_FULL) from error
        except asyncio.CancelledError:
            self.ledger.free(size)
            self._writer.put(remove_request(seq))
            raise
        return self.receipt(seq, size)

    def receipt(self, seq: int, size: int) -> Receipt:
        return Receipt(seq, size, Passage(self, seq))

    def took(
        self, receipt: Receipt, needed: Iterable[bytes], passed: Collection[bytes] = (), waiting: Iterable[bytes] = ()
    ) -> None:
        """
        Note what the request is needed for.
        """
        self.took_again(receipt, [self.claim_of(trace_id) for trace_id in needed], passed, waiting)

    def took_again(
        self,
        receipt: Receipt,
        claims: Sequence[Claim],
        passed: Collection[bytes] = (),
        waiting: Iterable[bytes] = (),
        *,
        has_done_parts: bool = False,
    ) -> None:
        """
        The same in terms of claims, some of which may be those of an earlier process.
        """
        parts = {*(claim.trace_id for claim in claims), *passed, *waiting}
        self.ledger.take(receipt.seq, receipt.size, parts, has_done_parts=has_done_parts)
        self.taken_seq = max(self.taken_seq, receipt.seq)
        for claim in claims:
            claim.requests.append(receipt.seq)
        for trace_id in waiting:
            self._waiting_logs[trace_id].append(receipt.seq)
        if passed:
            assert isinstance(receipt.settlement, Passage)
            receipt.settlement.through(passed)

    def claim_of(self, trace_id: bytes) -> Claim:
        claim = self.claims.get(trace_id)
        if claim is None:
            claim = self.claims[trace_id] = self.ledger.claim(trace_id)
            claim.requests += self._waiting_logs.pop(trace_id, ())
        return claim

    def departure(self, trace: BufferedTrace) -> Departure:
        return JournalledDeparture(self, self.claim_of(trace.trace_id))

    def state(self, trace: BufferedTrace, *, through: int, is_forgotten: bool = False) -> TraceState:
        return state_of(trace, through=through, offset_ns=self.offset_ns, is_forgotten=is_forgotten)

    def may_leave(self, position: int) -> bool:
        """
        What was written at *position* is durable.
        """
        return self._writer.has_passed(position)

    def settled(self, claim: Claim, release: int, *, is_decided: bool) -> None:
        """
        All of *release* was decided downstream, or given up. What is given up by a stop is left to the next process.
        """
        if is_decided or not self._is_stopping:
            self.ledger.settled(claim, release)

    def free_settled(self, release: int, *, is_decided: bool) -> None:
        """
        The same for a release that belongs to no trace: nothing of it is needed any longer.
        """
        if is_decided or not self._is_stopping:
            self.put(remove_release(release))

    def settlement(self, claim: Claim, release: int) -> Settlement:
        """
        Follows a release of an earlier process, which is durable.
        """
        return Settlement(lambda is_decided: self.settled(claim, release, is_decided=is_decided))

    def free_settlement(self, release: int) -> Settlement:
        """
        The same for a release that belongs to no trace.
        """
        return Settlement(lambda is_decided: self.free_settled(release, is_decided=is_decided))

    def passed(self, seq: int, parts: Iterable[bytes], *, is_decided: bool) -> None:
        """
        The same for what of the request *seq* left as it came.
        """
        if is_decided or not self._is_stopping:
            for part in parts:
                self.ledger.part_done(seq, part)

    def forgot(self, trace: BufferedTrace, decision: Decision | None) -> None:
        remembered = [] if decision is None else [self._remember(trace.trace_id, decision)]
        claim = self.claims.pop(trace.trace_id, None)
        if claim is None:
            self.put(*remembered)
        else:
            state = self.state(trace, through=self.taken_seq, is_forgotten=True)
            self.ledger.forgotten(claim, state, *remembered)

    def _remember(self, trace_id: bytes, decision: Decision) -> Statement:
        self._decision_key += 1
        surplus = self._decision_key - self._settings.decision_cache_size
        if surplus > 0 and not self._decision_key % PRUNE_EVERY:
            self._writer.put(remove_decisions(surplus))
        record = StoredDecision(trace_id, decision.trigger, dict(decision.attributes))
        return add_decision(self._decision_key, record)

    def logs_dropped(self, trace_id: bytes) -> None:
        for seq in self._waiting_logs.pop(trace_id, ()):
            self.ledger.part_done(seq, trace_id)

    def replicas_changed(self, wall_ns: int) -> None:
        self._writer.put(set_level(REPLICAS, wall_ns))

    def marked(self, reason: CoverageReason, now_ns: int) -> None:
        self._marks[reason] = now_ns

    def tick(self, now_ns: int) -> None:
        self.put()
        while self._marks:
            reason, at_ns = self._marks.popitem()
            self._writer.put(set_level(MARK + reason, at_ns + self.offset_ns))
        alive_ns = now_ns + self.offset_ns
        if len(self.ledger) and alive_ns - self._alive_ns >= ALIVE_EVERY_NS:
            self._alive_ns = alive_ns
            self._writer.put(set_level(ALIVE, alive_ns))

    def remove_releases(self, keys: Iterable[int]) -> None:
        self._writer.put(*map(remove_release, keys))

    async def flush(self) -> None:
        self.put()
        await self._writer.flush()

    async def requests(self) -> AsyncIterator[StoredRequest]:
        """
        The requests of earlier processes, in the order in which they were taken.
        """
        after, last = 0, self.taken_seq
        while batch := await self._writer.call(partial(self._store.requests, after, last)):
            for request in batch:
                self.ledger.reserve(len(request.payload))
                yield request
            after = batch[-1].seq
