"""
Traces of recorded requests: every span read, by trace, in the order in which the traces began.

Pure but for the requests that it is handed. Each trace closes with `root_span` if the root condition is met, else with
`trace_timeout` (design §14).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from proto_adapters.canonical import CanonicalSpan
from proto_adapters.decoding import DecodeOptions, decode_log, decode_span
from proto_adapters.otlp_decode import digest
from proto_adapters.split import OriginTable, read_ids, split_logs, split_traces
from service.buffer.trace_evidence import TraceEvidence
from service.evidence import CoverageReason, Trigger
from service.pipeline import Signal
from service.replay.files import RecordedRequest
from service.root_condition import RootCondition, find_roots
from service.scoring.assessment import Assessment, Assessor
from service.scoring.evidence import ClosingFacts


@dataclass(slots=True)
class RecordedTrace:
    """
    One trace with all that a recording tells of it.
    """

    trace_id: bytes
    evidence: TraceEvidence = field(default_factory=TraceEvidence)

    @property
    def spans(self) -> list[CanonicalSpan]:
        return list(self.evidence.spans.values())

    def trigger(self, condition: RootCondition) -> Trigger:
        has_root = any(root.has_ended for root in find_roots(self.spans, condition))
        return Trigger.ROOT_SPAN if has_root else Trigger.TRACE_TIMEOUT

    def facts(self, trigger: Trigger) -> ClosingFacts:
        reasons = set()
        if self.evidence.has_undecodable_spans:
            reasons.add(CoverageReason.SPAN_UNDECODABLE)
        if self.evidence.has_conflicts:
            reasons.add(CoverageReason.CONFLICTING_SPAN_IDENTITY)
        return ClosingFacts(closed_by_root=trigger is Trigger.ROOT_SPAN, reasons=frozenset(reasons))


def collect_traces(requests: Iterable[RecordedRequest], options: DecodeOptions) -> dict[bytes, RecordedTrace]:
    """
    All traces of *requests*, by trace id. Raises `UndecodableRequest`.
    """
    origins = OriginTable()
    traces: dict[bytes, RecordedTrace] = {}
    logs = []
    for signal, payload in requests:
        if signal is Signal.TRACES:
            _collect_spans(payload, origins, options, traces)
        elif signal is Signal.LOGS:
            logs.append(payload)
    for payload in logs:
        _collect_logs(payload, origins, options, traces)
    for trace in traces.values():
        trace.evidence.forget_bytes()
    return traces


def _collect_spans(
    request: bytes, origins: OriginTable, options: DecodeOptions, traces: dict[bytes, RecordedTrace]
) -> None:
    for origin, spans in split_traces(request, origins).groups:
        for raw in spans:
            ids = read_ids(raw)
            if ids is None:
                continue
            trace = traces.setdefault(ids.trace_id, RecordedTrace(ids.trace_id))
            canonical = decode_span(raw, origin, options)
            if canonical is None:
                trace.evidence.observe_undecodable(digest(raw))
            else:
                trace.evidence.observe(canonical, digest(raw), raw)


def _collect_logs(
    request: bytes, origins: OriginTable, options: DecodeOptions, traces: dict[bytes, RecordedTrace]
) -> None:
    for origin, records in split_logs(request, origins).groups:
        for record in records:
            completion = decode_log(record, origin, options)
            if completion is not None and completion.trace_id in traces:
                traces[completion.trace_id].evidence.observe_log(completion, digest(record))


def assess(trace: RecordedTrace, assessor: Assessor, condition: RootCondition) -> tuple[Assessment, Trigger]:
    """
    The assessment of a whole recorded trace.
    """
    trigger = trace.trigger(condition)
    return assessor.assess(trace.trace_id, trace.spans, trace.evidence.logs, trace.facts(trigger)), trigger
