"""
Closing a trace: read what is held, score it, send the results, release the spans.

Runs on the event loop that owns the buffer. While a large trace is being read the loop gets turns; the trace is marked
`is_closing` and what arrives for it meanwhile came after the closing.
"""

import asyncio
import logging
from collections.abc import Sequence

from proto_adapters.canonical import NO_ATTRIBUTES, Attributes
from service.buffer.decision_cache import Decision, DecisionCache
from service.buffer.trace_buffer import BufferedTrace, ReadSpan, TraceBuffer
from service.clock import Clock
from service.evidence import CoverageReason, Trigger
from service.pipeline import Signal
from service.processor.delivery import latest_revision, plan_deliveries
from service.processor.durability import NO_JOURNAL, Departure, Durability
from service.processor.large_traces import LARGE
from service.processor.occurrences import (
    LIMIT_REASONS,
    ClosingOccurrence,
    ClosingPlan,
    Planner,
    still_has_root,
)
from service.processor.outbox import Outbox, Settlement
from service.processor.outputs import Outputs, Scored
from service.processor.reading import Reader
from service.processor.release import Annotated, Annotator
from service.processor.sessions import NO_SESSIONS, SessionTracker
from service.processor.settings import ProcessorSettings
from service.processor.signals import assessment_attributes, late_attributes, stamp_attributes
from service.scoring.assessment import Assessment, Assessor
from service.telemetry.recorder import LateAction, LossReason, Recorder, UnscoredReason

_logger = logging.getLogger(__name__)

UNSCORED_REASONS = {
    Trigger.SPAN_LIMIT: UnscoredReason.SPAN_LIMIT,
    Trigger.SIZE_LIMIT: UnscoredReason.SIZE_LIMIT,
    Trigger.EVICTION: UnscoredReason.EVICTION,
    Trigger.SHUTDOWN: UnscoredReason.SHUTDOWN,
}
"""Closings by these are final: later spans of the trace pass unscored (design §6.4)."""


class Closer:
    """
    Scores and releases traces. Nothing else changes a trace while it closes.
    """

    def __init__(
        self,
        settings: ProcessorSettings,
        *,
        buffer: TraceBuffer,
        decisions: DecisionCache,
        assessor: Assessor,
        spans: Outbox,
        outputs: Outputs,
        recorder: Recorder,
        clock: Clock,
        sessions: SessionTracker = NO_SESSIONS,
        journal: Durability = NO_JOURNAL,
    ) -> None:
        self._settings = settings
        self._journal = journal
        self._buffer = buffer
        self._decisions = decisions
        self._sessions = sessions
        self._planner = Planner(assessor, settings.root_condition, process_start_ns=settings.process_start_ns)
        self._spans = spans
        self._outputs = outputs
        self._recorder = recorder
        self._clock = clock
        self._closings: dict[bytes, asyncio.Event] = {}
        """Traces that are closing and for which somebody waits."""
        self._reader = Reader(settings.decoding, recorder)
        self._annotator = Annotator(
            settings.annotate, drop_untrusted=settings.drop_untrusted, kept=settings.kept_attributes
        )

    async def close(self, trace: BufferedTrace, trigger: Trigger) -> None:
        """
        Close *trace*: whatever is held is read, scored and released.
        """
        if trace.is_closing or not self._buffer.holds(trace):
            return
        if trigger is Trigger.ROOT_SPAN and not still_has_root(trace, self._settings.root_condition):
            self._buffer.keep_open(trace)
            return
        trace.is_closing = True
        started_ns = self._clock.monotonic_ns()
        if trigger in LIMIT_REASONS:
            trace.facts.add(LIMIT_REASONS[trigger])
        if trace.is_open:
            trace.facts |= self._buffer.marks_of(trace)
        departure = self._journal.departure(trace)
        try:
            leaving = trace.take_waiting() + await self._read(trace)
            self._carry_out(trace, await self._plan(trace, trigger, leaving, departure), departure)
            trace.has_news = False
            trace.is_closing = False
            self._settle(trace, trigger, departure)
        finally:
            trace.is_closing = False
            departure.end(trace)
            self._sessions.keep_to_limits()
            if (closing := self._closings.pop(trace.trace_id, None)) is not None:
                closing.set()
        self._recorder.scoring_took(self._clock.monotonic_ns() - started_ns)

    async def _read(self, trace: BufferedTrace, *, with_copies: bool = False) -> list[ReadSpan]:
        """
        What came since the last reading. To a trace that is closed for good it came late; mere copies are no news.
        """
        known = trace.evidence.copy_count
        fresh = await self._reader.read(trace, with_copies=with_copies)
        if not trace.is_open and not trace.is_provisional and trace.evidence.copy_count > known:
            trace.facts.add(CoverageReason.LATE_SPAN)
        return fresh

    async def _plan(
        self, trace: BufferedTrace, trigger: Trigger, leaving: list[ReadSpan], departure: Departure
    ) -> ClosingPlan:
        """
        A fault of ours in scoring must not cost a span: they leave unscored, and the fault is told.

        Scoring is pure, so that of a large trace may take its seconds in a thread.
        """
        try:
            if trace.span_count < LARGE:
                return self._planner.plan(trace, trigger, leaving)
            return await asyncio.to_thread(self._planner.plan, trace, trigger, leaving)
        except Exception:
            _logger.exception("scoring a trace failed")
            self._release_unscored(leaving, UnscoredReason.SCORING_FAILED, departure)
            self._sessions.note_unscored(trace.evidence.spans.values())
            return ClosingPlan([])

    async def release_early(self, trace: BufferedTrace, settlement: Settlement | None = None) -> None:
        """
        Let the span bytes of an open trace leave now, and keep its evidence (design §5, pressure; pass_through).

        With a *settlement* copies leave too: the sender may repeat what was given up on the way to the next hop.
        """
        if trace.is_closing:
            await self._closings.setdefault(trace.trace_id, asyncio.Event()).wait()
        departure = self._journal.departure(trace)
        try:
            leaving = trace.take_waiting() + await self._read(trace, with_copies=settlement is not None)
            self._let_go(leaving, departure, settlement=settlement)
            self._buffer.settle_release(trace, self._clock.monotonic_ns())
        finally:
            departure.end(trace)

    def forget(self, trace: BufferedTrace) -> None:
        """
        Drop the evidence of a closed trace; its verdict is remembered.
        """
        stamp = stamp_attributes if self._settings.late_spans is LateAction.STAMP else late_attributes
        decision = None if trace.closed_by is None else Decision(trace.closed_by, stamp(trace.stamp))
        if decision is not None:
            self._decisions.put(trace.trace_id, decision)
        self._buffer.remove(trace)
        self._journal.forgot(trace, decision)

    def evict_unscored(self, trace: BufferedTrace) -> None:
        """
        Let the spans of *trace* go without a score (`eviction.policy: forward_unscored`).
        """
        trace.closed_by = Trigger.EVICTION
        departure = self._journal.departure(trace)
        leaving = trace.take_waiting() + self._reader.read_now(trace)
        self._release_unscored(leaving, UnscoredReason.EVICTION, departure)
        departure.end(trace)
        self._sessions.note_unscored(trace.evidence.spans.values())
        self.forget(trace)
        self._sessions.keep_to_limits()

    def drop(self, trace: BufferedTrace) -> None:
        """
        Lose an open trace at shutdown, because the operator wants it so: the spans are a named loss.
        """
        if trace.held_count or trace.waiting:
            self._recorder.lost(Signal.TRACES, LossReason.SHUTDOWN, trace.held_count + len(trace.waiting))
        self._buffer.remove(trace)

    def _carry_out(self, trace: BufferedTrace, plan: ClosingPlan, departure: Departure) -> None:
        for occurrence in plan.occurrences:
            self._deliver(trace, occurrence, departure)
        trace.wait(list(plan.waiting))
        self._release_unscored(plan.outside, UnscoredReason.OUTSIDE_OCCURRENCE, departure)

    def _deliver(self, trace: BufferedTrace, occurrence: ClosingOccurrence, departure: Departure) -> None:
        assessment, trigger, leaving, history = (
            occurrence.assessment,
            occurrence.trigger,
            occurrence.leaving,
            occurrence.history,
        )
        self._sessions.take(assessment)
        coverage = assessment.evidence.coverage
        if not assessment.is_eligible:
            self._recorder.ineligible()
            self._release_unscored(leaving, UnscoredReason.INELIGIBLE, departure)
            return
        deliveries = plan_deliveries(
            assessment.evaluations,
            coverage,
            history,
            partition=assessment.partition,
            occurrence=assessment.occurrence,
            trigger=trigger,
            is_provisional=trace.is_provisional,
        )
        if trigger is Trigger.LATE_SPAN and leaving and assessment.root is not None:
            trace.late_roots.add(assessment.root.span_id)
        if assessment.is_without_expectation and trigger is not Trigger.LATE_SPAN:
            self._recorder.without_expectation()
        revision = latest_revision(history)
        attributes = assessment_attributes(assessment, trigger, revision)
        trace.stamp = attributes
        root_left = self._release(leaving, occurrence, attributes, departure)
        self._count_closing(trace, assessment, trigger)
        revisions = {name: delivered.revision for name, delivered in history.items()}
        scored = Scored(assessment, deliveries, trigger, revision, attributes, revisions)
        self._outputs.send(scored, root_left=root_left, departure=departure)

    def _release(
        self, leaving: Sequence[ReadSpan], occurrence: ClosingOccurrence, attributes: Attributes, departure: Departure
    ) -> bool:
        """
        Let *leaving* go; whether the root was among them and carries *attributes*.
        """
        is_late = occurrence.trigger is Trigger.LATE_SPAN
        root = occurrence.assessment.root
        root_id = None if root is None else root.span_id
        others = late_attributes(attributes) if is_late else self._annotator.others(attributes)
        released = self._let_go(leaving, departure, root_id, attributes, others)
        if released.forged_removed:
            self._recorder.forged_removed(released.forged_removed)
        return released.has_root

    def _release_unscored(self, leaving: Sequence[ReadSpan], reason: UnscoredReason, departure: Departure) -> None:
        if leaving:
            self._let_go(leaving, departure)
            self._recorder.unscored(reason, len(leaving))

    def _let_go(
        self,
        leaving: Sequence[ReadSpan],
        departure: Departure,
        root_id: bytes | None = None,
        attributes: Attributes = NO_ATTRIBUTES,
        others: Attributes = NO_ATTRIBUTES,
        *,
        settlement: Settlement | None = None,
    ) -> Annotated:
        """
        Put *leaving* on their way, the root with *attributes*, every other span with *others*.
        """
        departure.note_spans(leaving, root_id, attributes, others)
        released = self._annotator.annotate(leaving, root_id, attributes, others)
        now_ns = self._clock.monotonic_ns()
        for origin, spans in released.groups.items():
            self._spans.add(origin, spans, now_ns, departure.settlement, settlement)
        return released

    def _count_closing(self, trace: BufferedTrace, assessment: Assessment, trigger: Trigger) -> None:
        now_ns = self._clock.monotonic_ns()
        self._recorder.triggered(
            trigger,
            assessment.evidence.coverage,
            partition=assessment.partition,
            spans=len(assessment.trace.spans),
            age_ns=now_ns - trace.opened_ns,
        )
        self._recorder.decided(trigger, now_ns - trace.last_ns)

    def _settle(self, trace: BufferedTrace, trigger: Trigger, departure: Departure) -> None:
        """
        What becomes of *trace* after a closing.
        """
        now_ns = self._clock.monotonic_ns()
        if trigger in UNSCORED_REASONS:
            trace.closed_by = trigger
            late = [ReadSpan(origin, raw, None) for origin, spans in trace.take_held().items() for raw in spans]
            self._release_unscored(late, UNSCORED_REASONS[trigger], departure)
            departure.end(trace)
            self.forget(trace)
            return
        if self._settings.root_condition.attributes and trigger is Trigger.ROOT_SPAN:
            self._buffer.keep_open(trace)
        else:
            self._buffer.close(trace, trigger, now_ns)
        departure.end(trace)
        self._buffer.settle_arrivals(trace, now_ns)


def stamp_of(decision: Decision, action: LateAction) -> Attributes:
    """
    What a late span carries that found only a remembered decision.
    """
    return stamp_attributes(decision.attributes) if action is LateAction.STAMP else NO_ATTRIBUTES
