"""
What leaves, as the journal is told of it.

A departure is written before anything of it may leave, and settled when all of it was decided downstream.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from proto_adapters.canonical import NO_ATTRIBUTES, Attributes, Origin
from proto_adapters.otlp_decode import digest
from service.buffer.trace_buffer import BufferedTrace, ReadSpan
from service.journal.ledger import Claim, Ledger
from service.journal.records import OwnItems, Release, SpanPart, TraceState
from service.pipeline import Signal
from service.processor.outbox import Settlement


class Keeper(Protocol):
    """
    What of the journal departures need.
    """

    ledger: Ledger
    taken_seq: int

    def state(self, trace: BufferedTrace, *, through: int) -> TraceState: ...
    def may_leave(self, position: int) -> bool: ...
    def settled(self, claim: Claim, release: int, *, is_decided: bool) -> None: ...
    def passed(self, seq: int, parts: Iterable[bytes], *, is_decided: bool) -> None: ...


class JournalledDeparture:
    """
    One `Departure` in the journal.
    """

    def __init__(self, journal: Keeper, claim: Claim) -> None:
        self.settlement = Settlement(
            lambda is_decided: journal.settled(claim, self._release, is_decided=is_decided), self._may_leave
        )
        self._journal = journal
        self._claim = claim
        self._through = journal.taken_seq
        self._spans: list[SpanPart] = []
        self._own: list[OwnItems] = []
        self._has_ended = False
        self._release = 0
        self._position: int | None = None

    def note_spans(
        self,
        spans: Sequence[ReadSpan],
        root_id: bytes | None = None,
        attributes: Attributes = NO_ATTRIBUTES,
        others: Attributes = NO_ATTRIBUTES,
    ) -> None:
        """
        Remember which spans leave, by the digest of what was received, and what is written on them.
        """
        if spans:
            digests = b"".join(digest(span.raw) for span in spans)
            self._spans.append(SpanPart(digests, root_id, dict(attributes), dict(others)))

    def note_own(self, signal: Signal, origin: Origin, items: Sequence[bytes]) -> None:
        """
        Remember them as they are: they cannot be made again.
        """
        self._own.append(OwnItems(signal, origin.resource_header, origin.scope_header, list(items)))

    def end(self, trace: BufferedTrace) -> None:
        """
        Write what leaves and the state of *trace*; where nothing was held back, all that was taken has been read.
        """
        if self._has_ended:
            return
        self._has_ended = True
        claim, journal = self._claim, self._journal
        claim.through = max(claim.through, self._through if trace.held_count else journal.taken_seq)
        state = journal.state(trace, through=claim.through)
        if not self._spans and not self._own:
            journal.ledger.put_state(claim, state)
            return
        release = Release(trace=claim.key, through=claim.through, spans=self._spans, own=self._own)
        self._release, self._position = journal.ledger.add_release(claim, release, state)
        self.settlement.seal()

    def _may_leave(self) -> bool:
        return self._position is not None and self._journal.may_leave(self._position)


class Passage(Settlement):
    """
    What of one request leaves as it came: nothing is written first, the request is there.
    """

    def __init__(self, journal: Keeper, seq: int) -> None:
        super().__init__(lambda is_decided: journal.passed(seq, self._parts, is_decided=is_decided))
        self._parts: frozenset[bytes] = frozenset()

    def through(self, parts: Collection[bytes]) -> None:
        """
        These *parts* of the request left, and no others will.
        """
        self._parts = frozenset(parts)
        self.seal()
