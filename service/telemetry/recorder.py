"""
What the service counts about itself, as verbs.

Every part is handed a `Recorder` and never asks whether telemetry is on. The names of the metrics stand in
`service/metadata.yaml` and nowhere else; `service.telemetry.otel_recorder` counts with the OpenTelemetry SDK, the
`NullRecorder` here counts nothing. This module may not import an SDK, a clock or a transport.

Count once per request or per trace, with a number, never once per span.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from proto_adapters.canonical import Problem
from service.evaluation import Evaluation
from service.evidence import Coverage, Partition, Trigger
from service.pipeline import Signal


class Transport(StrEnum):
    """
    How a request came in.
    """

    GRPC = "grpc"
    HTTP = "http"


class RefusalReason(StrEnum):
    """
    Why a request was pushed back; the sender may try again. Closed set, the `reason` of `service.errors.Refused`.
    """

    MEMORY_LIMIT = "memory_limit"
    BUFFER_FULL = "buffer_full"
    QUEUE_FULL = "queue_full"
    JOURNAL_FULL = "journal_full"
    SHUTTING_DOWN = "shutting_down"
    DOWNSTREAM_UNAVAILABLE = "downstream_unavailable"
    """With `wait_for_result`: the next hop did not take it in time."""


class FailureReason(StrEnum):
    """
    Why a request as a whole can never be taken. Closed set.
    """

    MALFORMED = "malformed"
    TOO_LARGE = "too_large"
    UNSUPPORTED = "unsupported"
    """Unknown path, content type or encoding."""
    UNAUTHENTICATED = "unauthenticated"
    TIMEOUT = "timeout"
    """The sender was too slow in sending it."""
    INTERNAL = "internal"
    """Our own fault."""


class RejectionReason(StrEnum):
    """
    Why single items of an accepted request were not taken (OTLP's partial success). Closed set.
    """

    INVALID_ID = "invalid_id"
    TOO_LARGE = "too_large"
    """A span above what fits in one export request."""
    UNDECODABLE = "undecodable"


class LossReason(StrEnum):
    """
    Why something accepted, or made here, did not arrive downstream. Closed set: nothing is lost without one of these.
    """

    REJECTED_DOWNSTREAM = "rejected_downstream"
    RETRIES_EXHAUSTED = "retries_exhausted"
    SHUTDOWN = "shutdown"
    """Not delivered before `shutdown_timeout`."""
    JOURNAL_DAMAGED = "journal_damaged"


class LateAction(StrEnum):
    """
    What was done with a late span (`late_spans.action`, or `forward` when only its verdicts were remembered).
    """

    RESCORE = "rescore"
    STAMP = "stamp"
    FORWARD = "forward"


class UnscoredReason(StrEnum):
    """
    Why spans left without taking part in a score. Closed set.
    """

    SPAN_LIMIT = "span_limit"
    SIZE_LIMIT = "size_limit"
    EVICTION = "eviction"
    """They came after an occurrence was closed for good (design §6.4), or were evicted with `forward_unscored`."""
    SHUTDOWN = "shutdown"
    OUTSIDE_OCCURRENCE = "outside_occurrence"
    """Not below any root that the root condition matched."""
    INELIGIBLE = "ineligible"
    SCORING_FAILED = "scoring_failed"
    """A fault of ours in scoring their trace; it is in the log."""


class Reloadable(StrEnum):
    """
    What is read again while the service runs.
    """

    ANNOTATIONS = "annotations"
    CREDENTIALS = "credentials"
    """Certificates, keys and token files."""
    MEMBERSHIP = "membership"


class Gauge(StrEnum):
    """
    Levels that are read when metrics are collected: register a callback with `Recorder.observe`.
    """

    TRACES_ACTIVE = "processor_traces_active"
    BUFFER_SIZE = "processor_buffer_size"
    """Bytes of spans and evidence together, what `max_buffer_mib` bounds."""
    BUFFER_LIMIT = "processor_buffer_limit"
    EVIDENCE_SIZE = "processor_evidence_size"
    DECISION_CACHE_SIZE = "processor_decision_cache_size"
    ORIGINS = "processor_origins"
    LOGS_WAITING = "processor_logs_waiting"
    SESSIONS_ACTIVE = "sessions_active"
    ANNOTATIONS = "annotations_held"
    REPLICAS = "membership_replicas"
    JOURNAL_SIZE = "journal_size"
    JOURNAL_LIMIT = "journal_limit"
    JOURNAL_REQUESTS = "journal_requests"
    QUEUE_SIZE = "exporter_queue_size"
    """Per exporter; in the unit of the queue's sizer, as `QUEUE_CAPACITY`."""
    QUEUE_CAPACITY = "exporter_queue_capacity"
    IN_FLIGHT_REQUESTS = "exporter_in_flight_requests"


class Subject(Struct, frozen=True, kw_only=True):
    """
    The occurrence that an evaluation is about, as far as metrics tell. The ids go into exemplars, never into labels.
    """

    partition: Partition
    coverage: Coverage
    service_name: str = ""
    agent_name: str | None = None
    dimensions: tuple[tuple[str, str], ...] = ()
    """The configured `dimensions`, by attribute key."""
    trace_id: bytes = b""
    span_id: bytes = b""


class Recorder(Protocol):
    """
    All that can be counted. No method raises, none blocks.
    """

    # receiver: exactly one of the first three for each request
    def accepted(self, signal: Signal, transport: Transport, items: int, *, rejected: int = 0) -> None:
        """A request of *items* spans, log records or data points was taken, less the *rejected* ones among them."""

    def refused(self, signal: Signal, transport: Transport, reason: RefusalReason, items: int = 0) -> None:
        """A request was pushed back. *items* is 0 where it was not read so far that they could be counted."""

    def failed(self, signal: Signal, transport: Transport, reason: FailureReason, items: int = 0) -> None:
        """A request can never be taken, or we failed in taking it."""

    def rejected(self, signal: Signal, reason: RejectionReason, items: int) -> None:
        """Single items of a request were not taken, and the sender was told so."""

    def legacy_request(self) -> None:
        """A request used the field of `instrumentation_library_spans`, whose spans nobody reads any more."""

    # buffer and completion
    def triggered(self, trigger: Trigger, coverage: Coverage, *, partition: Partition, spans: int, age_ns: int) -> None:
        """An occurrence of *spans* spans was closed, *age_ns* after its first span was received."""

    def decided(self, trigger: Trigger, since_last_span_ns: int) -> None:
        """The evaluations of a closed occurrence were handed to the outputs."""

    def late_spans(self, action: LateAction, spans: int, age_ns: int) -> None:
        """Spans came *age_ns* after their trace was closed by its root."""

    def evicted(self, traces: int = 1) -> None: ...

    def reopened(self, traces: int = 1) -> None:
        """A provisionally closed trace, or one that was forgotten, is open again."""

    def released_early(self, traces: int = 1) -> None:
        """Under pressure the spans of a trace left before its score (design §5)."""

    def deduplicated(self, spans: int) -> None:
        """Equal copies of spans already held or sent; only one of each leaves."""

    def unscored(self, reason: UnscoredReason, spans: int) -> None:
        """Spans left without taking part in a score."""

    def id_fallbacks(self, spans: int) -> None:
        """Spans whose ids did not stand where the shortcut looks (design §2)."""

    def forged_removed(self, attributes: int) -> None:
        """`toolscore.*` attributes of senders were cut from spans that we write to."""

    def lost(self, signal: Signal, reason: LossReason, items: int) -> None:
        """Items that will not arrive downstream."""

    # dialects
    def spans_read(self, by_dialect: Mapping[str, int], *, unrecognised: int = 0) -> None:
        """GenAI spans by the dialect that gave the kind, and spans that look like GenAI but that no dialect claims."""

    def problems(self, by_problem: Mapping[Problem, int]) -> None: ...

    # scores
    def scored(self, evaluation: Evaluation, subject: Subject, *, enters_histogram: bool) -> None:
        """
        A delivery of an evaluation that is not a revision.

        *enters_histogram*: it is the first of its occurrence whose bounds are exact (design §9). Only numbers enter.
        """

    def entered_late(self, evaluation: Evaluation, subject: Subject) -> None:
        """A revision is the first delivery with exact bounds: it enters the histogram, and is not counted again."""

    def revised(self, before: Evaluation, after: Evaluation) -> None: ...

    def early_verdict(self, evaluation: Evaluation) -> None: ...

    def without_expectation(self, traces: int = 1) -> None: ...

    def ineligible(self, traces: int = 1) -> None: ...

    def scoring_took(self, duration_ns: int) -> None:
        """Reading and scoring one closed occurrence took so long."""

    def evidence_written(self, *, succeeded: bool) -> None:
        """One document for the evidence store."""

    # exporter: *exporter* is the component id, for example `otlp_grpc/backend`
    def sent(self, signal: Signal, exporter: str, items: int) -> None: ...

    def send_failed(self, signal: Signal, exporter: str, items: int, error_type: str) -> None:
        """Given up for good. *error_type*: gRPC status name, HTTP status code, `timeout` or `connection_error`."""

    def partially_rejected(self, signal: Signal, exporter: str, items: int) -> None:
        """Downstream took the request less these items (OTLP's partial success)."""

    def enqueue_failed(self, signal: Signal, exporter: str, items: int) -> None: ...

    def retried(self, signal: Signal, exporter: str, error_type: str) -> None:
        """An attempt failed and will be repeated."""

    # journal, annotations, reloads
    def journal_appended(self, requests: int, size: int) -> None: ...

    def journal_synced(self, duration_ns: int) -> None: ...

    def journal_recovered(self, requests: int) -> None:
        """At start, requests of an earlier run were taken up again."""

    def journal_damaged(self, records: int) -> None: ...

    def membership_changed(self) -> None: ...

    def annotation_received(self, *, succeeded: bool) -> None:
        """`PUT /v1/annotations/…`."""

    def reloaded(self, what: Reloadable, *, succeeded: bool) -> None: ...

    # levels
    def observe(self, gauge: Gauge, read: Callable[[], int], *, exporter: str | None = None) -> None:
        """Call *read* at each collection. A second registration for the same gauge and exporter replaces the first."""


class NullRecorder:
    """
    Counts nothing.
    """

    def accepted(self, signal: Signal, transport: Transport, items: int, *, rejected: int = 0) -> None: ...
    def refused(self, signal: Signal, transport: Transport, reason: RefusalReason, items: int = 0) -> None: ...
    def failed(self, signal: Signal, transport: Transport, reason: FailureReason, items: int = 0) -> None: ...
    def rejected(self, signal: Signal, reason: RejectionReason, items: int) -> None: ...
    def legacy_request(self) -> None: ...
    def triggered(
        self, trigger: Trigger, coverage: Coverage, *, partition: Partition, spans: int, age_ns: int
    ) -> None: ...
    def decided(self, trigger: Trigger, since_last_span_ns: int) -> None: ...
    def late_spans(self, action: LateAction, spans: int, age_ns: int) -> None: ...
    def evicted(self, traces: int = 1) -> None: ...
    def reopened(self, traces: int = 1) -> None: ...
    def released_early(self, traces: int = 1) -> None: ...
    def deduplicated(self, spans: int) -> None: ...
    def unscored(self, reason: UnscoredReason, spans: int) -> None: ...
    def id_fallbacks(self, spans: int) -> None: ...
    def forged_removed(self, attributes: int) -> None: ...
    def lost(self, signal: Signal, reason: LossReason, items: int) -> None: ...
    def spans_read(self, by_dialect: Mapping[str, int], *, unrecognised: int = 0) -> None: ...
    def problems(self, by_problem: Mapping[Problem, int]) -> None: ...
    def scored(self, evaluation: Evaluation, subject: Subject, *, enters_histogram: bool) -> None: ...
    def entered_late(self, evaluation: Evaluation, subject: Subject) -> None: ...
    def revised(self, before: Evaluation, after: Evaluation) -> None: ...
    def early_verdict(self, evaluation: Evaluation) -> None: ...
    def without_expectation(self, traces: int = 1) -> None: ...
    def ineligible(self, traces: int = 1) -> None: ...
    def scoring_took(self, duration_ns: int) -> None: ...
    def evidence_written(self, *, succeeded: bool) -> None: ...
    def sent(self, signal: Signal, exporter: str, items: int) -> None: ...
    def send_failed(self, signal: Signal, exporter: str, items: int, error_type: str) -> None: ...
    def partially_rejected(self, signal: Signal, exporter: str, items: int) -> None: ...
    def enqueue_failed(self, signal: Signal, exporter: str, items: int) -> None: ...
    def retried(self, signal: Signal, exporter: str, error_type: str) -> None: ...
    def journal_appended(self, requests: int, size: int) -> None: ...
    def journal_synced(self, duration_ns: int) -> None: ...
    def journal_recovered(self, requests: int) -> None: ...
    def journal_damaged(self, records: int) -> None: ...
    def membership_changed(self) -> None: ...
    def annotation_received(self, *, succeeded: bool) -> None: ...
    def reloaded(self, what: Reloadable, *, succeeded: bool) -> None: ...
    def observe(self, gauge: Gauge, read: Callable[[], int], *, exporter: str | None = None) -> None: ...
