"""
The recorder of the running service: counts in memory, and gives them out as the OpenTelemetry SDK's metrics.

It belongs to the event loop and has no lock. It never raises for a value of the types that it asks for.
"""

from collections.abc import Callable, Mapping
from itertools import product

from opentelemetry.sdk.metrics.export import MetricsData, ResourceMetrics, ScopeMetrics
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from proto_adapters.canonical import Problem
from service.clock import Clock
from service.evaluation import Evaluation
from service.evidence import Coverage, Partition, Trigger
from service.pipeline import Signal
from service.telemetry import instruments, process
from service.telemetry.meter import Counter, Limits, Meter
from service.telemetry.recorder import (
    FailureReason,
    Gauge,
    LateAction,
    LossReason,
    RefusalReason,
    RejectionReason,
    Reloadable,
    Subject,
    Transport,
    UnscoredReason,
)
from service.telemetry.score_metrics import ScoreMetrics
from service.telemetry.specs import CounterSpec

SCORES_SCOPE = "toolscore.scores"
SERVICE_SCOPE = "toolscore.service"

DEFAULT_MAX_SERIES = 1_000
"""`aggregation_cardinality_limit` of the Collector's spanmetrics connector."""
DEFAULT_IDLE_NS = 30 * 60 * 1_000_000_000
"""Agents and expectations come and go; a month-old one need not be told for ever."""


class OtelRecorder:
    def __init__(
        self,
        clock: Clock,
        *,
        resource: Mapping[str, str] | None = None,
        version: str = "",
        dimensions: tuple[str, ...] = (),
        max_series: int = DEFAULT_MAX_SERIES,
        idle_ns: int | None = DEFAULT_IDLE_NS,
    ) -> None:
        self._clock = clock
        self._resource = Resource(dict(resource or {}))
        self._version = version
        started_ns = clock.now_ns()
        self._scores_meter = Meter(Limits(max_series, idle_ns), started_ns)
        self._service_meter = Meter(Limits(max_series, None), started_ns)
        self._scores = ScoreMetrics(self._scores_meter, dimensions)
        self._make_completion()
        self._make_receiver()
        self._make_processor()
        self._make_dialects()
        self._make_exporter()
        self._make_journal()
        self._make_levels()

    def collect(self) -> MetricsData:
        """
        Everything counted so far, cumulative.
        """
        now_ns = self._clock.now_ns()
        scopes = [
            ScopeMetrics(InstrumentationScope(name, self._version), meter.collect(now_ns), "")
            for name, meter in ((SCORES_SCOPE, self._scores_meter), (SERVICE_SCOPE, self._service_meter))
        ]
        return MetricsData([ResourceMetrics(self._resource, scopes, "")])

    # receiver

    def _make_receiver(self) -> None:
        counter = self._service_meter.counter
        self._requests = counter(instruments.RECEIVER_REQUESTS)
        self._accepted_items = self._by_signal(instruments.RECEIVER_ACCEPTED)
        self._refused_items = self._by_signal(instruments.RECEIVER_REFUSED)
        self._failed_items = self._by_signal(instruments.RECEIVER_FAILED)
        self._rejected_items = self._by_signal(instruments.RECEIVER_REJECTED)
        self._legacy_requests = counter(instruments.RECEIVER_LEGACY_REQUESTS)
        self._id_fallbacks = counter(instruments.RECEIVER_ID_FALLBACKS)

    def _by_signal(self, specs: Mapping[Signal, CounterSpec]) -> dict[Signal, Counter]:
        return {signal: self._service_meter.counter(spec) for signal, spec in specs.items()}

    def accepted(self, signal: Signal, transport: Transport, items: int, *, rejected: int = 0) -> None:
        self._requests.add(1, (signal, transport, "partial" if rejected else "accepted", ""))
        self._accepted_items[signal].add(items - rejected, (transport,))

    def refused(self, signal: Signal, transport: Transport, reason: RefusalReason, items: int = 0) -> None:
        self._requests.add(1, (signal, transport, "refused", reason))
        self._refused_items[signal].add(items, (transport, reason))

    def failed(self, signal: Signal, transport: Transport, reason: FailureReason, items: int = 0) -> None:
        self._requests.add(1, (signal, transport, "failed", reason))
        self._failed_items[signal].add(items, (transport, reason))

    def rejected(self, signal: Signal, reason: RejectionReason, items: int) -> None:
        self._rejected_items[signal].add(items, (reason,))

    def legacy_request(self) -> None:
        self._legacy_requests.add()

    def id_fallbacks(self, spans: int) -> None:
        self._id_fallbacks.add(spans)

    # completion and scores

    def _make_completion(self) -> None:
        self._decision_triggers = self._scores_meter.counter(instruments.PROCESSOR_DECISION_TRIGGERS)
        self._time_to_verdict = self._scores_meter.histogram(instruments.PROCESSOR_TIME_TO_VERDICT)
        self._coverage_reasons = self._service_meter.counter(instruments.PROCESSOR_COVERAGE_REASONS)
        self._trace_span_count = self._service_meter.histogram(instruments.PROCESSOR_TRACE_SPAN_COUNT)
        self._trace_age = self._service_meter.histogram(instruments.PROCESSOR_TRACE_AGE)
        self._scorer_duration = self._service_meter.histogram(instruments.SCORER_DURATION)
        self._evidence_documents = self._service_meter.counter(instruments.EVIDENCE_DOCUMENTS)

    def triggered(self, trigger: Trigger, coverage: Coverage, *, partition: Partition, spans: int, age_ns: int) -> None:
        self._decision_triggers.add(1, (trigger, coverage.label, partition))
        for reason in coverage.reasons:
            self._coverage_reasons.add(1, (reason, partition))
        if partition is Partition.TRACE:
            self._trace_span_count.record(spans, (trigger,))
            self._trace_age.record(_seconds(age_ns), (trigger,))

    def decided(self, trigger: Trigger, since_last_span_ns: int) -> None:
        self._time_to_verdict.record(_seconds(since_last_span_ns), (trigger,))

    def scored(self, evaluation: Evaluation, subject: Subject, *, enters_histogram: bool) -> None:
        self._scores.count(evaluation, subject)
        if enters_histogram:
            self._scores.enter(evaluation, subject, self._clock.now_ns())

    def entered_late(self, evaluation: Evaluation, subject: Subject) -> None:
        self._scores.enter(evaluation, subject, self._clock.now_ns())

    def revised(self, before: Evaluation, after: Evaluation) -> None:
        self._scores.revise(before, after)

    def early_verdict(self, evaluation: Evaluation) -> None:
        self._scores.decide_early(evaluation)

    def scoring_took(self, duration_ns: int) -> None:
        self._scorer_duration.record(_seconds(duration_ns))

    def evidence_written(self, *, succeeded: bool) -> None:
        self._evidence_documents.add(1, (_result(succeeded=succeeded),))

    # buffer

    def _make_processor(self) -> None:
        counter = self._service_meter.counter
        self._late_spans = counter(instruments.PROCESSOR_LATE_SPANS)
        self._late_span_age = self._service_meter.histogram(instruments.PROCESSOR_LATE_SPAN_AGE)
        self._traces_evicted = counter(instruments.PROCESSOR_TRACES_EVICTED)
        self._traces_reopened = counter(instruments.PROCESSOR_TRACES_REOPENED)
        self._traces_released_early = counter(instruments.TRACES_RELEASED_EARLY)
        self._traces_without_expectation = counter(instruments.TRACES_WITHOUT_EXPECTATION)
        self._traces_ineligible = counter(instruments.TRACES_INELIGIBLE)
        self._deduplicated_spans = counter(instruments.PROCESSOR_DEDUPLICATED_SPANS)
        self._unscored_spans = counter(instruments.PROCESSOR_UNSCORED_SPANS)
        self._forged_attributes = counter(instruments.PROCESSOR_FORGED_ATTRIBUTES_REMOVED)
        self._lost_items = self._by_signal(instruments.LOST)
        for signal, reason in product(Signal, LossReason):
            self.lost(signal, reason, 0)  # so that the first loss is a rise, which an alert can see
        self._annotation_requests = counter(instruments.ANNOTATIONS_REQUESTS)
        self._membership_changes = counter(instruments.MEMBERSHIP_CHANGES)
        self._reloads = counter(instruments.RELOADS)

    def late_spans(self, action: LateAction, spans: int, age_ns: int) -> None:
        self._late_spans.add(spans, (action,))
        self._late_span_age.record(_seconds(age_ns), (action,))

    def evicted(self, traces: int = 1) -> None:
        self._traces_evicted.add(traces)

    def reopened(self, traces: int = 1) -> None:
        self._traces_reopened.add(traces)

    def released_early(self, traces: int = 1) -> None:
        self._traces_released_early.add(traces)

    def without_expectation(self, traces: int = 1) -> None:
        self._traces_without_expectation.add(traces)

    def ineligible(self, traces: int = 1) -> None:
        self._traces_ineligible.add(traces)

    def deduplicated(self, spans: int) -> None:
        self._deduplicated_spans.add(spans)

    def unscored(self, reason: UnscoredReason, spans: int) -> None:
        self._unscored_spans.add(spans, (reason,))

    def forged_removed(self, attributes: int) -> None:
        self._forged_attributes.add(attributes)

    def lost(self, signal: Signal, reason: LossReason, items: int) -> None:
        self._lost_items[signal].add(items, (reason,))

    def annotation_received(self, *, succeeded: bool) -> None:
        self._annotation_requests.add(1, (_result(succeeded=succeeded),))

    def membership_changed(self) -> None:
        self._membership_changes.add()

    def reloaded(self, what: Reloadable, *, succeeded: bool) -> None:
        self._reloads.add(1, (what, _result(succeeded=succeeded)))

    # dialects

    def _make_dialects(self) -> None:
        self._dialect_spans = self._service_meter.counter(instruments.DIALECTS_SPANS)
        self._unrecognised_spans = self._service_meter.counter(instruments.DIALECTS_UNRECOGNISED_SPANS)
        self._problems = self._service_meter.counter(instruments.DIALECTS_PROBLEMS)

    def spans_read(self, by_dialect: Mapping[str, int], *, unrecognised: int = 0) -> None:
        for dialect, spans in by_dialect.items():
            self._dialect_spans.add(spans, (dialect,))
        self._unrecognised_spans.add(unrecognised)

    def problems(self, by_problem: Mapping[Problem, int]) -> None:
        for problem, count in by_problem.items():
            self._problems.add(count, (problem,))

    # exporter

    def _make_exporter(self) -> None:
        self._sent_items = self._by_signal(instruments.EXPORTER_SENT)
        self._send_failed_items = self._by_signal(instruments.EXPORTER_SEND_FAILED)
        self._partially_rejected_items = self._by_signal(instruments.EXPORTER_REJECTED)
        self._enqueue_failed_items = self._by_signal(instruments.EXPORTER_ENQUEUE_FAILED)
        self._retries = self._service_meter.counter(instruments.EXPORTER_RETRIES)

    def sent(self, signal: Signal, exporter: str, items: int) -> None:
        self._sent_items[signal].add(items, (exporter,))

    def send_failed(self, signal: Signal, exporter: str, items: int, error_type: str) -> None:
        self._send_failed_items[signal].add(items, (exporter, error_type))

    def partially_rejected(self, signal: Signal, exporter: str, items: int) -> None:
        self._partially_rejected_items[signal].add(items, (exporter,))

    def enqueue_failed(self, signal: Signal, exporter: str, items: int) -> None:
        self._enqueue_failed_items[signal].add(items, (exporter,))

    def retried(self, signal: Signal, exporter: str, error_type: str) -> None:
        self._retries.add(1, (signal, exporter, error_type))

    # journal

    def _make_journal(self) -> None:
        counter = self._service_meter.counter
        self._journal_appended_requests = counter(instruments.JOURNAL_APPENDED_REQUESTS)
        self._journal_written = counter(instruments.JOURNAL_WRITTEN)
        self._journal_sync_duration = self._service_meter.histogram(instruments.JOURNAL_SYNC_DURATION)
        self._journal_recovered = counter(instruments.JOURNAL_RECOVERED_REQUESTS)
        self._journal_damaged = counter(instruments.JOURNAL_DAMAGED_RECORDS)

    def journal_appended(self, requests: int, size: int) -> None:
        self._journal_appended_requests.add(requests)
        self._journal_written.add(size)

    def journal_synced(self, duration_ns: int) -> None:
        self._journal_sync_duration.record(_seconds(duration_ns))

    def journal_recovered(self, requests: int) -> None:
        self._journal_recovered.add(requests)

    def journal_damaged(self, records: int) -> None:
        self._journal_damaged.add(records)

    # levels

    def _make_levels(self) -> None:
        self._levels = {name: self._service_meter.level(spec) for name, spec in instruments.LEVELS.items()}
        started_ns = self._clock.monotonic_ns()
        self._levels["process_uptime"].observe(lambda: _seconds(self._clock.monotonic_ns() - started_ns))
        self._levels["process_memory_usage"].observe(process.resident_bytes)
        self._levels["process_cpu_time"].observe(process.user_seconds, ("user",))
        self._levels["process_cpu_time"].observe(process.system_seconds, ("system",))

    def observe(self, gauge: Gauge, read: Callable[[], int], *, exporter: str | None = None) -> None:
        self._levels[gauge.value].observe(read, () if exporter is None else (exporter,))


def _seconds(duration_ns: int) -> float:
    """
    For metrics only, whose unit is the second. A wall clock that was set back gives 0.
    """
    return max(duration_ns, 0) / 1_000_000_000


def _result(*, succeeded: bool) -> str:
    return "success" if succeeded else "failure"
