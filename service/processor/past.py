"""
The traces of an earlier process, as the records of the journal tell of them.

Pure: which spans had been read, which had left, and which of these have to leave again.
"""

from collections.abc import Callable, Mapping

from msgspec import Struct

from service.buffer.trace_buffer import BufferedTrace
from service.journal.ledger import OF_SESSIONS, Claim
from service.journal.records import DIGEST_SIZE, Release, SpanPart, TraceState
from service.journal.store import Contents
from service.processor.outbox import Settlement
from service.processor.trace_states import trace_of


class PastRelease(Struct, eq=False):
    """
    What leaves again: it had not arrived downstream, as far as is known.
    """

    release: Release
    settlement: Settlement


class SpansAgain(Struct, eq=False):
    """
    Spans of one release that leave with the same attributes.
    """

    part: SpanPart
    settlement: Settlement


class PastTrace(Struct, eq=False):
    """
    One trace. `trace` is `None` if its evidence was gone.
    """

    state: TraceState
    claim: Claim
    trace: BufferedTrace | None
    readings: list[int]
    """The last request of each reading, the first reading last."""
    left: dict[bytes, SpansAgain | None] = {}
    """The spans that left, by digest; with how they leave again."""
    releases: list[PastRelease] = []

    def note_request(self, seq: int) -> None:
        """
        A span of the request *seq* is next. Between two readings bytes were gone, and only digests could be compared.
        """
        while self.readings and self.readings[-1] < seq:
            self.readings.pop()
            if self.trace is not None:
                self.trace.evidence.forget_bytes()

    def add_release(self, key: int, release: Release, settlement: Settlement | None) -> None:
        """
        Without a *settlement* all of it had arrived.
        """
        self.claim.releases.append(key)
        self.readings.append(release.through)
        if settlement is not None:
            self.claim.unsettled += 1
            self.releases.append(PastRelease(release, settlement))
        for part in release.spans:
            again = None if settlement is None else SpansAgain(part, settlement)
            for start in range(0, len(part.digests), DIGEST_SIZE):
                self.left[part.digests[start : start + DIGEST_SIZE]] = again


class PastTraces:
    """
    All of them. *follow* gives the settlement of a release that leaves again.
    """

    def __init__(self, contents: Contents, offset_ns: int, follow: Callable[[Claim, int], Settlement]) -> None:
        self.by_key = {key: _past_trace(key, state, offset_ns) for key, state in contents.traces.items()}
        self.orphans: list[int] = []
        """Releases of traces that nothing is known of."""
        for key, stored in contents.releases.items():
            past = self.by_key.get(stored.release.trace)
            if stored.release.trace == OF_SESSIONS:
                continue
            if past is None:
                self.orphans.append(key)
                continue
            settlement = None if stored.is_settled else follow(past.claim, key)
            past.add_release(key, stored.release, settlement)
        self._by_id = _by_id(self.by_key)

    def find(self, trace_id: bytes, seq: int) -> PastTrace | None:
        """
        The trace whose last record tells of the request *seq*.
        """
        return next((past for past in self._by_id.get(trace_id, ()) if past.state.through >= seq), None)


def _past_trace(key: int, state: TraceState, offset_ns: int) -> PastTrace:
    trace = None if state.is_forgotten else trace_of(state, offset_ns=offset_ns)
    claim = Claim(state.trace_id, key, through=state.through, is_stored=True, is_forgotten=state.is_forgotten)
    return PastTrace(state, claim, trace, [state.through])


def _by_id(pasts: Mapping[int, PastTrace]) -> dict[bytes, list[PastTrace]]:
    """
    By trace id, in order of time: a forgotten trace may have come again.
    """
    by_id: dict[bytes, list[PastTrace]] = {}
    for _, past in sorted(pasts.items()):
        past.readings.sort(reverse=True)
        by_id.setdefault(past.state.trace_id, []).append(past)
    return by_id
