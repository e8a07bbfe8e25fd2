"""
Which requests are still needed, and by which of their traces.

Pure but for the statements that it hands on: no clock, no I/O. A request goes once every trace in it was accepted
downstream and its evidence is kept no longer, and once what is passed on as it came was accepted (design §12).
"""

from collections.abc import Callable, Collection
from itertools import count

from msgspec import Struct

from service.journal.records import Release, TraceState
from service.journal.statements import (
    Statement,
    add_done,
    add_release,
    put_trace,
    remove_done,
    remove_release,
    remove_request,
    remove_trace,
    settle_release,
)

OF_SESSIONS = 0
"""Stands for the key of a trace in releases of sessions."""


class _Needed(Struct):
    size: int
    open_parts: int
    has_done_parts: bool = False


class Claim(Struct, eq=False):
    """
    What one trace, from its first span to the end of its evidence, needs of the journal.
    """

    trace_id: bytes
    key: int
    requests: list[int] = []
    releases: list[int] = []
    through: int = 0
    """The last request of which nothing is held."""
    unsettled: int = 0
    is_stored: bool = False
    is_forgotten: bool = False


class Ledger:
    """
    Requests and what they are needed for. *write* takes statements and gives their position.
    """

    def __init__(self, write: Callable[..., int]) -> None:
        self._write = write
        self._needed: dict[int, _Needed] = {}
        self._trace_keys = self._release_keys = count(1)
        self.size = 0
        """Bytes of the requests that are needed, or on their way to the file."""

    def __len__(self) -> int:
        return len(self._needed)

    def resume(self, *, trace_key: int, release_key: int) -> None:
        """
        Go on behind the last keys of an earlier process.
        """
        self._trace_keys, self._release_keys = count(trace_key + 1), count(release_key + 1)

    def reserve(self, size: int) -> None:
        self.size += size

    def free(self, size: int) -> None:
        self.size -= size

    def take(self, seq: int, size: int, parts: Collection[bytes], *, has_done_parts: bool = False) -> None:
        """
        The request *seq*, of reserved *size*, is needed for its *parts*: ids of traces, and what is passed on.
        """
        self._needed[seq] = _Needed(size, len(parts), has_done_parts)
        if not parts:
            self._write(*self._remove(seq))

    def part_done(self, seq: int, part: bytes) -> None:
        """
        The request is needed for *part* no longer.
        """
        self._write(*self._end_part(seq, part))

    def _end_part(self, seq: int, part: bytes) -> list[Statement]:
        needed = self._needed[seq]
        needed.open_parts -= 1
        if not needed.open_parts:
            return self._remove(seq)
        needed.has_done_parts = True
        return [add_done(seq, part)]

    def _remove(self, seq: int) -> list[Statement]:
        needed = self._needed.pop(seq)
        self.size -= needed.size
        return [remove_request(seq), remove_done(seq)] if needed.has_done_parts else [remove_request(seq)]

    def claim(self, trace_id: bytes) -> Claim:
        return Claim(trace_id, next(self._trace_keys))

    def add_release(self, claim: Claim, release: Release, state: TraceState) -> tuple[int, int]:
        """
        Something leaves: its key, and the position behind which it may.
        """
        key = next(self._release_keys)
        claim.releases.append(key)
        claim.unsettled += 1
        claim.is_stored = True
        return key, self._write(add_release(key, release), put_trace(claim.key, state))

    def add_free_release(self, release: Release, *statements: Statement) -> tuple[int, int]:
        """
        Something leaves that belongs to no trace, with *statements* written beside it.
        """
        key = next(self._release_keys)
        return key, self._write(add_release(key, release), *statements)

    def put_state(self, claim: Claim, state: TraceState) -> None:
        claim.is_stored = True
        self._write(put_trace(claim.key, state))

    def settled(self, claim: Claim, release: int) -> None:
        """
        All of *release* was decided downstream.
        """
        claim.unsettled -= 1
        if claim.is_forgotten and not claim.unsettled:
            self._write(*self._end(claim))
        else:
            self._write(settle_release(release))

    def forgotten(self, claim: Claim, state: TraceState, *remembered: Statement) -> None:
        """
        The evidence of the trace is kept no longer, and *remembered* is written in its place.

        *state* is kept as long as something of the trace is still on its way.
        """
        claim.is_forgotten = True
        if claim.unsettled:
            claim.is_stored = True
            self._write(*remembered, put_trace(claim.key, state))
        else:
            self._write(*remembered, *self._end(claim))

    def _end(self, claim: Claim) -> list[Statement]:
        """
        One transaction: a crash between two of these would deliver the trace once more as a new one.
        """
        statements = [remove_release(key) for key in claim.releases]
        if claim.is_stored:
            statements.append(remove_trace(claim.key))
        for seq in claim.requests:
            statements += self._end_part(seq, claim.trace_id)
        return statements
