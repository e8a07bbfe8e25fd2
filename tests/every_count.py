"""
A recorder driven through every method once, and metrics read back as plain values.
"""

from collections.abc import Iterator

from opentelemetry.sdk.metrics.export import HistogramDataPoint, Metric, MetricsData, NumberDataPoint

from proto_adapters.canonical import Problem
from service.evaluation import Bounds, Evaluation, Reason, Status, Verdict
from service.evidence import Coverage, CoverageReason, Partition, Trigger
from service.pipeline import Signal
from service.telemetry.recorder import (
    FailureReason,
    Gauge,
    LateAction,
    LossReason,
    Recorder,
    RefusalReason,
    RejectionReason,
    Reloadable,
    Subject,
    Transport,
    UnscoredReason,
)

TRACE_ID = bytes(range(1, 17))
SPAN_ID = bytes(range(1, 9))
SECOND = 1_000_000_000

SUBJECT = Subject(
    partition=Partition.TRACE,
    coverage=Coverage(),
    service_name="shop-agent",
    agent_name="refund",
    trace_id=TRACE_ID,
    span_id=SPAN_ID,
)


def a_score(score: float | None = 0.5, *, missing: tuple[str, ...] = ("issue_refund",)) -> Evaluation:
    return Evaluation(
        name="tool_selection_accuracy",
        type="tool_selection_accuracy",
        version="2.0.0",
        identifier="s",
        status=Status.NOT_SCORED if score is None else Status.SCORED,
        score=score,
        reason=Reason.PARTIAL_COVERAGE if score is None else None,
        missing=missing,
        expectation="refund",
    )


def a_verdict(label: Verdict) -> Evaluation:
    score = {Verdict.TRUE: 1.0, Verdict.FALSE: 0.0, Verdict.UNDETERMINED: None}[label]
    return Evaluation(
        name="lookup_before_refund",
        type="tools_called_in_order",
        version="1",
        identifier="v",
        status=Status.UNDETERMINED if score is None else Status.SCORED,
        score=score,
        label=label,
        reason=Reason.OVERLAPPING if score is None else None,
        bounds=Bounds(0, 1) if score is None else Bounds(score, score),
        expectation="refund",
    )


def drive(recorder: Recorder) -> None:
    """
    Call every method of *recorder*, for every signal where there are several.
    """
    for signal in Signal:
        _drive_transport(recorder, signal)
    _drive_buffer(recorder)
    _drive_scores(recorder)
    _drive_journal(recorder)
    for gauge in Gauge:
        recorder.observe(gauge, lambda: 7, exporter="otlp_grpc" if "exporter" in gauge else None)


def _drive_transport(recorder: Recorder, signal: Signal) -> None:
    recorder.accepted(signal, Transport.GRPC, 3, rejected=1)
    recorder.refused(signal, Transport.HTTP, RefusalReason.BUFFER_FULL, 2)
    recorder.failed(signal, Transport.GRPC, FailureReason.MALFORMED, 1)
    recorder.rejected(signal, RejectionReason.INVALID_ID, 1)
    recorder.lost(signal, LossReason.SHUTDOWN, 1)
    recorder.sent(signal, "otlp_grpc", 2)
    recorder.send_failed(signal, "otlp_grpc", 1, "INVALID_ARGUMENT")
    recorder.partially_rejected(signal, "otlp_grpc", 1)
    recorder.enqueue_failed(signal, "otlp_grpc", 1)
    recorder.retried(signal, "otlp_grpc", "UNAVAILABLE")


def _drive_buffer(recorder: Recorder) -> None:
    coverage = Coverage((CoverageReason.NO_ROOT, CoverageReason.NOT_CLOSED_BY_ROOT))
    recorder.legacy_request()
    recorder.id_fallbacks(1)
    recorder.triggered(Trigger.IDLE_TIMEOUT, coverage, partition=Partition.TRACE, spans=12, age_ns=3 * SECOND)
    recorder.decided(Trigger.IDLE_TIMEOUT, 5 * SECOND)
    recorder.late_spans(LateAction.RESCORE, 2, SECOND)
    recorder.evicted()
    recorder.reopened()
    recorder.released_early()
    recorder.deduplicated(1)
    recorder.unscored(UnscoredReason.SPAN_LIMIT, 1)
    recorder.forged_removed(1)
    recorder.spans_read({"genai": 3}, unrecognised=1)
    recorder.problems({Problem.TOOL_NAME_MISSING: 1})


def _drive_scores(recorder: Recorder) -> None:
    recorder.scored(a_score(), SUBJECT, enters_histogram=True)
    recorder.scored(a_verdict(Verdict.UNDETERMINED), SUBJECT, enters_histogram=False)
    recorder.entered_late(a_verdict(Verdict.TRUE), SUBJECT)
    recorder.revised(a_verdict(Verdict.FALSE), a_verdict(Verdict.TRUE))
    recorder.early_verdict(a_verdict(Verdict.TRUE))
    recorder.without_expectation()
    recorder.ineligible()
    recorder.scoring_took(400_000)
    recorder.evidence_written(succeeded=True)


def _drive_journal(recorder: Recorder) -> None:
    recorder.journal_appended(1, 2_048)
    recorder.journal_synced(300_000)
    recorder.journal_recovered(1)
    recorder.journal_damaged(1)
    recorder.membership_changed()
    recorder.annotation_received(succeeded=False)
    recorder.reloaded(Reloadable.ANNOTATIONS, succeeded=True)


def metrics_of(collected: MetricsData) -> Iterator[tuple[str, Metric]]:
    """
    Each metric with the name of its scope.
    """
    for resource in collected.resource_metrics:
        for scope in resource.scope_metrics:
            yield from ((scope.scope.name, metric) for metric in scope.metrics)


def points_of(collected: MetricsData, name: str) -> list[NumberDataPoint | HistogramDataPoint]:
    return [
        point
        for _, metric in metrics_of(collected)
        if metric.name == name
        for point in metric.data.data_points
        if isinstance(point, NumberDataPoint | HistogramDataPoint)
    ]


def values_of(collected: MetricsData, name: str) -> dict[frozenset[tuple[str, object]], float]:
    """
    The value of each series of *name*; of a histogram its count.
    """
    return {
        frozenset((point.attributes or {}).items()): point.count
        if isinstance(point, HistogramDataPoint)
        else point.value
        for point in points_of(collected, name)
    }
