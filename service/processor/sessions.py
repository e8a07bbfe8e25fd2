"""
Sessions beside traces: closed traces hand over their evidence, sessions that are due are scored and told.

The shell around `service.buffer.sessions` (what is held, and when it is due) and `service.scoring.sessions` (what it
amounts to). Everything here runs between two turns of the event loop.
"""

import logging
from collections.abc import Iterable
from typing import Protocol

from proto_adapters.canonical import CanonicalSpan
from service.buffer.sessions import Session, SessionStore
from service.clock import Clock
from service.evidence import Partition, Trigger
from service.processor.delivery import latest_revision, plan_deliveries
from service.processor.outputs import Outputs, Scored
from service.processor.session_journal import NO_SESSION_JOURNAL, SessionDeparture, SessionDurability
from service.processor.signals import assessment_attributes
from service.scoring.assessment import Assessment, Assessor
from service.session_evidence import SessionKey
from service.telemetry.recorder import Recorder

_logger = logging.getLogger(__name__)


class SessionTracker(Protocol):
    """
    What the processor tells of its traces, and when it gives sessions a turn.
    """

    @property
    def size(self) -> int:
        """Bytes held."""
        ...

    def take(self, assessment: Assessment) -> None:
        """
        A trace, or attribute-root subtree, was closed and assessed.
        """
        ...

    def keep_to_limits(self) -> None:
        """
        All that the closing of a trace leads to was told: sessions that grew over a limit are scored.
        """
        ...

    def note_unscored(self, spans: Iterable[CanonicalSpan]) -> None:
        """
        The evidence of a trace with these spans was dropped without a score.
        """
        ...

    def annotation_changed(self, session_id: str) -> None:
        """
        What sessions of that id require was set or taken back.
        """
        ...

    def close_next(self, now_ns: int) -> bool:
        """
        Score one session that is due; False if none is.
        """
        ...

    def forget_kept(self) -> bool:
        """
        Drop the evidence of a session that only waits for a revision; False if there is none.
        """
        ...

    def evict_oldest(self) -> bool:
        """
        Score the oldest open session and drop its evidence; False if there is none.
        """
        ...

    def shutdown(self) -> None:
        """
        Score all that is open.
        """
        ...

    def recover(self) -> None:
        """
        Take up what an earlier process left in the journal.
        """
        ...


class NoSessions:
    """
    Sessions are switched off.
    """

    size = 0

    def take(self, assessment: Assessment) -> None: ...
    def keep_to_limits(self) -> None: ...
    def note_unscored(self, spans: Iterable[CanonicalSpan]) -> None: ...
    def annotation_changed(self, session_id: str) -> None: ...
    def close_next(self, now_ns: int) -> bool:
        del now_ns
        return False

    def forget_kept(self) -> bool:
        return False

    def evict_oldest(self) -> bool:
        return False

    def shutdown(self) -> None: ...
    def recover(self) -> None: ...


NO_SESSIONS = NoSessions()


class Sessions:
    """
    Keeps and scores sessions. Implements `SessionTracker`.
    """

    def __init__(
        self,
        store: SessionStore,
        *,
        assessor: Assessor,
        outputs: Outputs,
        recorder: Recorder,
        clock: Clock,
        journal: SessionDurability = NO_SESSION_JOURNAL,
    ) -> None:
        self._store = store
        self._assessor = assessor
        self._outputs = outputs
        self._recorder = recorder
        self._clock = clock
        self._journal = journal
        self._grown: dict[SessionKey, Session] = {}

    @property
    def size(self) -> int:
        """Bytes held."""
        return self._store.size

    def take(self, assessment: Assessment) -> None:
        """
        A trace was closed; what it hands over is written together with its closing. A fault of ours costs no span.
        """
        try:
            part = assessment.session_part
            if part is not None:
                self._grown[part.key] = self._store.add(part, self._clock.monotonic_ns())
                self._journal.changed(self._store.take_changes())
        except Exception:
            _logger.exception("a trace could not be added to its session")

    def keep_to_limits(self) -> None:
        """
        Score sessions that grew over a limit.
        """
        while self._grown:
            _, session = self._grown.popitem()
            limit = self._store.limit_of(session)
            if limit is not None:
                self._close(session, limit)
        self._evict_surplus()

    def note_unscored(self, spans: Iterable[CanonicalSpan]) -> None:
        """
        Every session that the spans name may have lost calls.
        """
        keys = {SessionKey(span.origin.service_name, span.session_id) for span in spans if span.session_id}
        for key in sorted(keys):
            self._store.release_evidence(key, self._clock.monotonic_ns())
        self._journal.changed(self._store.take_changes())

    def annotation_changed(self, session_id: str) -> None:
        """
        Sessions that were scored are scored again at the next turn.
        """
        self._store.reassess(session_id)

    def close_next(self, now_ns: int) -> bool:
        """
        Score one session that is due; False if none is.
        """
        due = self._store.next_due(now_ns)
        self._journal.changed(self._store.take_changes())
        if due is None:
            return False
        self._close(due.session, due.trigger)
        return True

    def forget_kept(self) -> bool:
        """
        Drop the evidence of the session that ended longest ago.
        """
        has_forgotten = self._store.forget_kept()
        self._journal.changed(self._store.take_changes())
        return has_forgotten

    def evict_oldest(self) -> bool:
        """
        Score the oldest open session and drop its evidence.
        """
        oldest = self._store.oldest_open()
        if oldest is None:
            return False
        self._close(oldest, Trigger.EVICTION)
        return True

    def shutdown(self) -> None:
        """
        Score all that is open.
        """
        for session in self._store.open_sessions():
            self._close(session, Trigger.SHUTDOWN)

    def recover(self) -> None:
        """
        Take up what an earlier process left. One that ended before it kept a session to its limits is made up for.
        """
        past = self._journal.past()
        self._store.restore(past.sessions, past.ended)
        self._grown = {session.key: session for session in past.sessions}
        self.keep_to_limits()

    def _evict_surplus(self) -> None:
        while (session := self._store.surplus()) is not None:
            self._close(session, Trigger.EVICTION)
        self._journal.changed(self._store.take_changes())

    def _close(self, session: Session, trigger: Trigger) -> None:
        """
        A fault of ours in scoring one session must not keep others from being scored; it is told.
        """
        departure = self._journal.departure()
        try:
            if session.parts:
                self._deliver(session, trigger, departure)
        except Exception:
            _logger.exception("scoring a session failed")
        self._store.close(session, trigger, self._clock.monotonic_ns())
        departure.end(self._store.take_changes())

    def _deliver(self, session: Session, trigger: Trigger, departure: SessionDeparture) -> None:
        assessment = self._assessor.assess_session(session.evidence(trigger))
        if not assessment.is_eligible:
            return
        coverage = assessment.evidence.coverage
        deliveries = plan_deliveries(
            assessment.evaluations,
            coverage,
            session.history,
            partition=Partition.SESSION,
            occurrence=assessment.occurrence,
            trigger=trigger,
            is_provisional=trigger is Trigger.IDLE_TIMEOUT,
        )
        revision = latest_revision(session.history)
        revisions = {name: delivered.revision for name, delivered in session.history.items()}
        attributes = assessment_attributes(assessment, trigger, revision)
        age_ns = self._clock.monotonic_ns() - session.first_ns
        self._recorder.triggered(
            trigger, coverage, partition=Partition.SESSION, spans=session.span_count, age_ns=age_ns
        )
        scored = Scored(assessment, deliveries, trigger, revision, attributes, revisions)
        self._outputs.send(scored, root_left=False, departure=departure)
