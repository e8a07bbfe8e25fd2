"""
The outputs of a scored occurrence: events and evaluation spans into their outboxes, counts, and observers.

The shell around `signals`: it owns no state but the outboxes that it is handed.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from proto_adapters.canonical import Attributes, AttributeValue, CanonicalSpan, Origin
from proto_adapters.otlp_encode import encode_log_record, encode_span, scope_header
from proto_adapters.split import OriginTable
from service.clock import Clock
from service.evidence import Trigger
from service.pipeline import Signal
from service.processor.delivery import Delivery
from service.processor.durability import NO_DEPARTURE
from service.processor.outbox import Outbox, Settlement
from service.processor.settings import ProcessorSettings
from service.processor.signals import EVENT_NAME, early_attributes, event_attributes, session_attributes
from service.scoring.assessment import Assessment
from service.telemetry.recorder import Recorder, Subject

_logger = logging.getLogger(__name__)

SCOPE_NAME = "toolscore"
EVALUATION_SPAN_NAME = "toolscore evaluation"


class Scored(NamedTuple):
    """
    One closing of an occurrence, for those who watch: console, live page, evidence file.
    """

    assessment: Assessment
    deliveries: Sequence[Delivery]
    trigger: Trigger
    revision: int
    attributes: Attributes
    revisions: Mapping[str, int]
    """The revision of every evaluation that was delivered so far, by its name."""


class Observer(Protocol):
    def scored(self, scored: Scored) -> None:
        """
        Called on the event loop for each closing that was assessed; must be quick and must not raise.
        """
        ...


class OwnDeparture(Protocol):
    """
    What is told of all that we make ourselves.
    """

    @property
    def settlement(self) -> Settlement | None: ...
    def note_own(self, signal: Signal, origin: Origin, items: Sequence[bytes]) -> None:
        """
        Log records or spans of our own leave.
        """
        ...


class Outputs:
    """
    Sends what scoring made of an occurrence.
    """

    def __init__(
        self,
        settings: ProcessorSettings,
        *,
        spans: Outbox,
        events: Outbox | None,
        origins: OriginTable,
        recorder: Recorder,
        clock: Clock,
        version: str,
        observers: Sequence[Observer] = (),
    ) -> None:
        self._settings = settings
        self._spans = spans
        self._events = events
        self._origins = origins
        self._recorder = recorder
        self._clock = clock
        self._scope_header = scope_header(SCOPE_NAME, version)
        self._observers = list(observers)

    def send(self, scored: Scored, *, root_left: bool, departure: OwnDeparture = NO_DEPARTURE) -> None:
        """
        Send events, counts and, if the root did not leave with attributes, an evaluation span.
        """
        subject = scored.assessment.subject
        if subject is not None:
            self._count(scored, subject)
            self._send_events(scored, subject, departure)
            if self._settings.evaluation_span and scored.deliveries and not root_left:
                self._send_span(scored, scored.assessment.root or subject, departure)
        for observer in self._observers:
            self._tell(observer, scored)

    def _tell(self, observer: Observer, scored: Scored) -> None:
        """
        Who watches must not disturb what is watched.
        """
        try:
            observer.scored(scored)
        except Exception:
            _logger.exception("telling %s of a score failed", type(observer).__name__)

    def send_early(self, assessment: Assessment, deliveries: Sequence[Delivery]) -> None:
        """
        Send verdicts on an occurrence that is open: as events only, never as metrics of scores (design §6.4).
        """
        if self._events is None or assessment.subject is None:
            return
        self._add_events(assessment.subject, deliveries, early_attributes(assessment))
        for delivery in deliveries:
            self._recorder.early_verdict(delivery.evaluation)

    def _count(self, scored: Scored, span: CanonicalSpan) -> None:
        subject = self._subject(scored.assessment, span)
        for delivery in scored.deliveries:
            if delivery.replaces is None:
                self._recorder.scored(delivery.evaluation, subject, enters_histogram=delivery.enters_histogram)
                continue
            self._recorder.revised(delivery.replaces, delivery.evaluation)
            if delivery.enters_histogram:
                self._recorder.entered_late(delivery.evaluation, subject)

    def _subject(self, assessment: Assessment, span: CanonicalSpan) -> Subject:
        root = assessment.root or span
        return Subject(
            partition=assessment.partition,
            coverage=assessment.evidence.coverage,
            service_name=span.origin.service_name,
            agent_name=assessment.agent_name,
            dimensions=tuple((key, str(_dimension(root, key))) for key in self._settings.dimensions),
            trace_id=span.trace_id,
            span_id=span.span_id,
        )

    def _send_events(self, scored: Scored, span: CanonicalSpan, departure: OwnDeparture) -> None:
        if self._events is not None and scored.deliveries:
            facts = {**scored.attributes, **session_attributes(scored.assessment)}
            self._add_events(span, scored.deliveries, facts, departure)

    def _add_events(
        self,
        span: CanonicalSpan,
        deliveries: Sequence[Delivery],
        attributes: Attributes,
        departure: OwnDeparture = NO_DEPARTURE,
    ) -> None:
        assert self._events is not None
        now_ns = self._clock.now_ns()
        records = [
            encode_log_record(
                EVENT_NAME,
                trace_id=span.trace_id,
                span_id=span.span_id,
                time_ns=now_ns,
                attributes=event_attributes(delivery, attributes),
            )
            for delivery in deliveries
        ]
        origin = self._own_origin(span)
        departure.note_own(Signal.LOGS, origin, records)
        self._events.add(origin, records, self._clock.monotonic_ns(), departure.settlement)

    def _send_span(self, scored: Scored, parent: CanonicalSpan, departure: OwnDeparture) -> None:
        now_ns = self._clock.now_ns()
        identity = scored.deliveries[0].idempotency_id
        span = encode_span(
            trace_id=parent.trace_id,
            span_id=bytes.fromhex(identity[:16]),
            parent_span_id=parent.span_id,
            name=EVALUATION_SPAN_NAME,
            start_ns=now_ns,
            end_ns=now_ns,
            attributes=scored.attributes,
        )
        origin = self._own_origin(parent)
        departure.note_own(Signal.TRACES, origin, [span])
        self._spans.add(origin, [span], self._clock.monotonic_ns(), departure.settlement)

    def _own_origin(self, span: CanonicalSpan) -> Origin:
        """
        The resource of *span* with our scope, so that results land beside the application's telemetry.
        """
        return self._origins.intern(span.origin.resource_header, self._scope_header)


def _dimension(root: CanonicalSpan, key: str) -> AttributeValue:
    value = root.selected.get(key)
    return root.origin.resource_attributes.get(key, "") if value is None else value
