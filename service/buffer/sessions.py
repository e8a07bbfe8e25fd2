"""
The sessions that are open, and those that ended not long ago: the parts of each, and when it is due.

Pure: no clock, no lock, no I/O; times are monotonic nanoseconds given by the caller. Both timers are the same for all
sessions, so that three ordered dictionaries take the place of a heap. Rules: design §8.
"""

from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple

from msgspec import Struct

from service.buffer.completion import SECOND_NS
from service.buffer.decision_cache import ForgottenTraces
from service.evaluation import DeliveryHistory
from service.evidence import CoverageReason, Trigger
from service.session_evidence import SessionEvidence, SessionKey, TracePart, in_place

SESSION_BYTES = 2_048
"""Memory of a session without its parts: dictionaries, and the history of what was delivered."""

CLOSING_REASONS = {
    Trigger.TRACE_TIMEOUT: CoverageReason.NOT_CLOSED_BY_ROOT,
    Trigger.SHUTDOWN: CoverageReason.NOT_CLOSED_BY_ROOT,
    Trigger.SPAN_LIMIT: CoverageReason.SPAN_LIMIT,
    Trigger.EVICTION: CoverageReason.EVICTED,
}
"""A session that did not go idle is partial (design §8)."""


class SessionLimits(Struct, frozen=True):
    """
    Timers and limits of sessions; times in nanoseconds.
    """

    idle_timeout_ns: int = 1_800 * SECOND_NS
    max_duration_ns: int = 86_400 * SECOND_NS
    max_sessions: int = 10_000
    max_traces_per_session: int = 1_000
    max_calls_per_session: int = 10_000
    """Calls kept of one session; of the traces beyond it only the names of called tools are kept."""

    @property
    def max_ended(self) -> int:
        """Ended sessions that are remembered."""
        return 4 * self.max_sessions


class Session(Struct, kw_only=True, eq=False):
    """
    One session. A plain value: all of it can be written down and read again.
    """

    key: SessionKey
    number: int = 1
    """Among the sessions with this key that are remembered."""
    first_ns: int
    last_ns: int
    """When the last trace closed that belongs to it."""
    closed_ns: int | None = None
    """When the last result was given; `None` while it is open."""
    parts: dict[str, TracePart] = {}
    """By occurrence."""
    reasons: set[CoverageReason] = set()
    released_from: tuple[int, str] | None = None
    """Traces from this place on are kept without their calls."""
    history: DeliveryHistory = {}
    call_count: int = 0
    size: int = 0
    """Estimated bytes of memory."""

    @property
    def is_open(self) -> bool:
        return self.closed_ns is None

    @property
    def span_count(self) -> int:
        return sum(part.span_count for part in self.parts.values())

    def evidence(self, trigger: Trigger) -> SessionEvidence:
        """
        What is known of the session if it is closed by *trigger*.
        """
        reason = CLOSING_REASONS.get(trigger)
        reasons = self.reasons if reason is None else self.reasons | {reason}
        return SessionEvidence(
            key=self.key, number=self.number, parts=in_place(self.parts.values()), reasons=frozenset(reasons)
        )


class DueSession(NamedTuple):
    session: Session
    trigger: Trigger


class SessionChanges(Struct):
    """
    What became of sessions, for whoever writes them down. `None` stands for what is held no longer.
    """

    sessions: dict[SessionKey, Session | None] = {}
    parts: dict[str, TracePart | None] = {}
    ended: list[SessionKey] = []
    """Only that they were there is remembered."""


class SessionStore:
    """
    All sessions that are open, and those whose evidence is still kept.
    """

    def __init__(self, limits: SessionLimits, *, started_ns: int | None = None) -> None:
        """
        *started_ns* is when the process started; `None` where a restart loses nothing.
        """
        self._limits = limits
        self._started_ns = started_ns
        self._by_age: OrderedDict[SessionKey, Session] = OrderedDict()
        self._open: OrderedDict[SessionKey, Session] = OrderedDict()
        self._kept: OrderedDict[SessionKey, Session] = OrderedDict()
        self._session_of: dict[str, SessionKey] = {}
        self._keys_of: dict[str, set[SessionKey]] = {}
        self._to_reassess: set[SessionKey] = set()
        self._forgotten = ForgottenTraces(limits.max_ended)
        self._changes = SessionChanges()
        self.size = 0
        """Bytes of memory of all sessions."""

    def __len__(self) -> int:
        return len(self._by_age)

    @property
    def open_count(self) -> int:
        return len(self._open)

    def take_changes(self) -> SessionChanges:
        """
        What changed since this was asked last.
        """
        changes, self._changes = self._changes, SessionChanges()
        return changes

    def add(self, part: TracePart, now_ns: int) -> Session:
        """
        Take what a closed trace hands over. What an earlier closing of it handed over is replaced.
        """
        self._withdraw(part, now_ns)
        session = self._active(part.key, now_ns)
        self._take_out(session, part.occurrence)
        self._put_in(session, part)
        self._release_surplus(session)
        return session

    def release_evidence(self, key: SessionKey, now_ns: int) -> None:
        """
        Evidence of one of its traces was dropped before it could be handed over.
        """
        self._active(key, now_ns).reasons.add(CoverageReason.EVIDENCE_RELEASED)

    def reassess(self, session_id: str) -> None:
        """
        What sessions of that id require changed: those that ended and are still kept are due again.
        """
        self._to_reassess |= {key for key in self._keys_of.get(session_id, ()) if key in self._kept}

    def limit_of(self, session: Session) -> Trigger | None:
        """
        The limit that *session* has grown past, if any.
        """
        return Trigger.SPAN_LIMIT if len(session.parts) > self._limits.max_traces_per_session else None

    def surplus(self) -> Session | None:
        """
        The oldest open session if there are too many. Those that only wait for a revision are forgotten first.
        """
        while len(self._by_age) > self._limits.max_sessions:
            if not self.forget_kept():
                return self.oldest_open()
        return None

    def forget_kept(self) -> bool:
        """
        Drop the evidence of the session that ended longest ago; False if there is none.
        """
        if not self._kept:
            return False
        self.forget(next(iter(self._kept.values())))
        return True

    def oldest_open(self) -> Session | None:
        return next((session for session in self._by_age.values() if session.is_open), None)

    def next_due(self, now_ns: int) -> DueSession | None:
        """
        A session that is due; the caller closes it. What was kept long enough is forgotten here.
        """
        while self._to_reassess:
            session = self._kept.get(self._to_reassess.pop())
            if session is not None:
                return DueSession(session, Trigger.IDLE_TIMEOUT)
        while self._kept and self._idle_since(next(iter(self._kept.values())), now_ns):
            self.forget_kept()
        while (oldest := next(iter(self._by_age.values()), None)) and self._is_past_maximum(oldest, now_ns):
            if oldest.is_open:
                return DueSession(oldest, Trigger.TRACE_TIMEOUT)
            self.forget(oldest)
        idle = next(iter(self._open.values()), None)
        return DueSession(idle, Trigger.IDLE_TIMEOUT) if idle and self._idle_since(idle, now_ns) else None

    def _is_past_maximum(self, session: Session, now_ns: int) -> bool:
        return now_ns - session.first_ns >= self._limits.max_duration_ns

    def _idle_since(self, session: Session, now_ns: int) -> bool:
        return now_ns - _last_change(session) >= self._limits.idle_timeout_ns

    def close(self, session: Session, trigger: Trigger, now_ns: int) -> None:
        """
        Mark *session* as ended by *trigger*. After any but silence it is forgotten: what follows is another session.
        """
        if trigger is not Trigger.IDLE_TIMEOUT:
            self.forget(session)
            return
        session.closed_ns = now_ns
        self._changes.sessions[session.key] = session
        self._open.pop(session.key, None)
        self._kept[session.key] = session
        self._kept.move_to_end(session.key)

    def forget(self, session: Session) -> None:
        """
        Drop the evidence of *session*; that it was there is remembered.
        """
        self._forgotten.add(_fingerprint(session.key))
        self._remove(session)
        self._changes.ended.append(session.key)

    def open_sessions(self) -> list[Session]:
        """
        The open sessions, the one that was silent longest first.
        """
        return list(self._open.values())

    def sessions(self) -> list[Session]:
        """
        All sessions held, oldest first.
        """
        return list(self._by_age.values())

    def restore(self, sessions: Iterable[Session], ended: Iterable[SessionKey] = ()) -> None:
        """
        Put back the sessions of an earlier process. Their times are those of this process's clock.
        """
        for session in sorted(sessions, key=lambda session: session.first_ns):
            self._enter(session)
            self._session_of.update(dict.fromkeys(session.parts, session.key))
            session.call_count = sum(part.call_count for part in session.parts.values())
            session.size = 0
            self._resize(session, _own_size(session) + sum(part.size for part in session.parts.values()))
        for session in sorted(self.sessions(), key=_last_change):
            (self._open if session.is_open else self._kept)[session.key] = session
        for key in ended:
            self._forgotten.add(_fingerprint(key))

    def _withdraw(self, part: TracePart, now_ns: int) -> None:
        """
        A later span told a session id nearer the root: the trace belongs to another session than was thought.
        """
        key = self._session_of.get(part.occurrence)
        if key is None or key == part.key:
            return
        session = self._by_age[key]
        self._take_out(session, part.occurrence)
        if session.parts:
            self._active(key, now_ns)
        else:
            self._remove(session)

    def _active(self, key: SessionKey, now_ns: int) -> Session:
        session = self._by_age.get(key)
        if session is None:
            session = self._begin(key, now_ns)
        elif not session.is_open:
            del self._kept[key]
            session.closed_ns = None
        session.last_ns = now_ns
        self._changes.sessions[key] = session
        self._open[key] = session
        self._open.move_to_end(key)
        return session

    def _begin(self, key: SessionKey, now_ns: int) -> Session:
        before = self._forgotten.times(_fingerprint(key))
        session = Session(key=key, number=before + 1, first_ns=now_ns, last_ns=now_ns)
        if before:
            session.reasons.add(CoverageReason.REOPENED)
        if self._started_ns is not None and now_ns - self._started_ns < self._limits.idle_timeout_ns:
            session.reasons.add(CoverageReason.RESTARTED)
        self._enter(session)
        self._resize(session, _own_size(session))
        return session

    def _enter(self, session: Session) -> None:
        self._by_age[session.key] = session
        self._keys_of.setdefault(session.key.session_id, set()).add(session.key)

    def _put_in(self, session: Session, part: TracePart) -> None:
        if session.released_from is not None and part.place >= session.released_from:
            part = part.without_calls()
        session.parts[part.occurrence] = part
        self._changes.parts[part.occurrence] = part
        session.call_count += part.call_count
        self._session_of[part.occurrence] = session.key
        self._resize(session, part.size)

    def _take_out(self, session: Session, occurrence: str) -> None:
        part = session.parts.pop(occurrence, None)
        if part is not None:
            self._changes.parts[occurrence] = None
            session.call_count -= part.call_count
            del self._session_of[occurrence]
            self._resize(session, -part.size)

    def _release_surplus(self, session: Session) -> None:
        """
        Over the limit the traces that began last lose their calls, whatever the order in which traces closed.
        """
        while session.call_count > self._limits.max_calls_per_session:
            last = max((part for part in session.parts.values() if part.call_count), key=lambda part: part.place)
            session.released_from = last.place
            self._take_out(session, last.occurrence)
            self._put_in(session, last)

    def _remove(self, session: Session) -> None:
        for sessions in (self._by_age, self._open, self._kept):
            sessions.pop(session.key, None)
        self._changes.sessions[session.key] = None
        for occurrence in session.parts:
            self._changes.parts[occurrence] = None
            del self._session_of[occurrence]
        same_id = self._keys_of[session.key.session_id]
        same_id.remove(session.key)
        if not same_id:
            del self._keys_of[session.key.session_id]
        self.size -= session.size

    def _resize(self, session: Session, change: int) -> None:
        session.size += change
        self.size += change


def _own_size(session: Session) -> int:
    """Bytes of memory without its parts."""
    return SESSION_BYTES + len(session.key.session_id)


def _last_change(session: Session) -> int:
    return session.last_ns if session.closed_ns is None else session.closed_ns


def _fingerprint(key: SessionKey) -> bytes:
    return "\0".join(key).encode()
