"""
Sessions in the journal (design §8, §12).

What a closing hands to its session is written together with what the closing itself writes; what a session's own
closing decided is durable before its events leave. So a session stands after a restart as it stood before.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

from msgspec import Struct

from proto_adapters.canonical import Origin
from proto_adapters.split import OriginTable
from service.buffer.sessions import Session, SessionChanges
from service.evidence import CoverageReason
from service.journal.ledger import OF_SESSIONS
from service.journal.records import OwnItems, Release
from service.journal.session_records import EndedSession, StoredSession, part_of_record, stored_part
from service.journal.statements import (
    SESSIONS_SINCE,
    Statement,
    add_ended,
    put_part,
    put_session,
    remove_ended,
    remove_part,
    remove_session,
    set_level,
)
from service.pipeline import Signal
from service.processor.journalled import Journalled
from service.processor.outbox import Settlement
from service.session_evidence import SessionKey, TracePart

PRUNE_EVERY = 256
"""Ended sessions between two cuts of those that are remembered no longer."""


class SessionDeparture(Protocol):
    """
    All that one closing of a session lets go. Implements `service.processor.outputs.OwnDeparture`.
    """

    @property
    def settlement(self) -> Settlement | None: ...
    def note_own(self, signal: Signal, origin: Origin, items: Sequence[bytes]) -> None: ...

    def end(self, changes: SessionChanges) -> None:
        """
        Nothing more leaves, and sessions are as *changes* tell.
        """
        ...


class PastSessions(Struct, frozen=True):
    """
    The sessions of an earlier process.
    """

    sessions: Sequence[Session] = ()
    ended: Sequence[SessionKey] = ()


class SessionDurability(Protocol):
    """
    Keeps what of sessions has to outlive the process.
    """

    def changed(self, changes: SessionChanges) -> None:
        """
        Sessions are as *changes* tell.
        """
        ...

    def departure(self) -> SessionDeparture: ...

    def past(self) -> PastSessions:
        """
        What an earlier process left.
        """
        ...


class _NoSessionJournal:
    """
    Sessions are in memory only.
    """

    settlement = None

    def changed(self, changes: SessionChanges) -> None: ...
    def departure(self) -> SessionDeparture:
        return self

    def past(self) -> PastSessions:
        return PastSessions()

    def note_own(self, signal: Signal, origin: Origin, items: Sequence[bytes]) -> None: ...
    def end(self, changes: SessionChanges) -> None: ...


NO_SESSION_JOURNAL = _NoSessionJournal()


class JournalledSessions:
    """
    A `SessionDurability` on disk.
    """

    def __init__(self, journal: Journalled, origins: OriginTable, *, now_ns: int, max_ended: int) -> None:
        """
        *now_ns* is wall time; *max_ended* is how many ended sessions are remembered.
        """
        contents = journal.contents
        self._journal = journal
        self._origins = origins
        self._max_ended = max_ended
        self._keys = {session.key: key for key, session in contents.sessions.items()}
        self._part_keys = {part.occurrence: key for key, part in contents.session_parts.items()}
        self._last_key = max(contents.sessions, default=0)
        self._last_part_key = max(contents.session_parts, default=0)
        self._last_ended_key = max(contents.ended_sessions, default=0)
        since_ns = contents.levels.get(SESSIONS_SINCE) if journal.is_intact else None
        self.since_ns = now_ns if since_ns is None else since_ns
        """Wall time from which on no trace of a session is missing here."""
        if since_ns is None:
            journal.with_next(set_level(SESSIONS_SINCE, now_ns))

    def changed(self, changes: SessionChanges) -> None:
        self._journal.with_next(*self._statements(changes))

    def departure(self) -> SessionDeparture:
        return _JournalledDeparture(self._journal, self)

    def written(self, changes: SessionChanges, own: Sequence[OwnItems]) -> tuple[int, int]:
        """
        Write *changes* and what leaves with them, in one; gives the key and the position of what leaves.
        """
        statements = list(self._statements(changes))
        if not own:
            return 0, self._journal.put(*statements)
        release = Release(trace=OF_SESSIONS, through=0, own=list(own))
        return self._journal.ledger.add_free_release(release, *statements)

    def _statements(self, changes: SessionChanges) -> Iterator[Statement]:
        for occurrence, part in changes.parts.items():
            yield from self._part(occurrence, part)
        for key, session in changes.sessions.items():
            yield from self._session(key, session)
        for key in changes.ended:
            yield from self._ended(key)

    def _part(self, occurrence: str, part: TracePart | None) -> Iterator[Statement]:
        if part is not None:
            if occurrence not in self._part_keys:
                self._last_part_key += 1
                self._part_keys[occurrence] = self._last_part_key
            yield put_part(self._part_keys[occurrence], stored_part(part))
        elif occurrence in self._part_keys:
            yield remove_part(self._part_keys.pop(occurrence))

    def _session(self, key: SessionKey, session: Session | None) -> Iterator[Statement]:
        if session is not None:
            if key not in self._keys:
                self._last_key += 1
                self._keys[key] = self._last_key
            yield put_session(self._keys[key], self._stored(session))
        elif key in self._keys:
            yield remove_session(self._keys.pop(key))

    def _ended(self, key: SessionKey) -> Iterator[Statement]:
        self._last_ended_key += 1
        yield add_ended(self._last_ended_key, EndedSession(key))
        surplus = self._last_ended_key - self._max_ended
        if surplus > 0 and not self._last_ended_key % PRUNE_EVERY:
            yield remove_ended(surplus)

    def _stored(self, session: Session) -> StoredSession:
        offset_ns = self._journal.offset_ns
        return StoredSession(
            key=session.key,
            number=session.number,
            first_ns=session.first_ns + offset_ns,
            last_ns=session.last_ns + offset_ns,
            closed_ns=None if session.closed_ns is None else session.closed_ns + offset_ns,
            reasons=sorted(session.reasons),
            released_from=session.released_from,
            history=session.history,
        )

    def past(self) -> PastSessions:
        """
        What an earlier process left. Where records were lost, any session may lack a trace.
        """
        contents, lost = self._journal.contents, set[CoverageReason]()
        if not self._journal.is_intact:
            lost.add(CoverageReason.RESTARTED)
        sessions = {stored.key: self._session_of(stored, lost) for stored in contents.sessions.values()}
        for stored in contents.session_parts.values():
            part = part_of_record(stored, self._origins)
            if part.key in sessions:
                sessions[part.key].parts[part.occurrence] = part
            else:
                self._journal.with_next(*self._part(part.occurrence, None))
        return PastSessions(list(sessions.values()), [ended.key for ended in contents.ended_sessions.values()])

    def _session_of(self, stored: StoredSession, lost: set[CoverageReason]) -> Session:
        offset_ns = self._journal.offset_ns
        return Session(
            key=stored.key,
            number=stored.number,
            first_ns=stored.first_ns - offset_ns,
            last_ns=stored.last_ns - offset_ns,
            closed_ns=None if stored.closed_ns is None else stored.closed_ns - offset_ns,
            reasons={*stored.reasons, *lost},
            released_from=stored.released_from,
            history=dict(stored.history),
        )


class _JournalledDeparture:
    """
    One `SessionDeparture` in the journal.
    """

    def __init__(self, journal: Journalled, sessions: JournalledSessions) -> None:
        self.settlement = Settlement(
            lambda is_decided: journal.free_settled(self._release, is_decided=is_decided), self._may_leave
        )
        self._journal = journal
        self._sessions = sessions
        self._own: list[OwnItems] = []
        self._release = 0
        self._position: int | None = None

    def note_own(self, signal: Signal, origin: Origin, items: Sequence[bytes]) -> None:
        self._own.append(OwnItems(signal, origin.resource_header, origin.scope_header, list(items)))

    def end(self, changes: SessionChanges) -> None:
        self._release, self._position = self._sessions.written(changes, self._own)
        if self._own:
            self.settlement.seal()

    def _may_leave(self) -> bool:
        return self._position is not None and self._journal.may_leave(self._position)
