"""
Traces of recorded requests: every span read, by trace, in the order in which the traces began.

Pure but for the requests that it is handed. Each trace closes with `root_span` if the root condition is met, else with
`trace_timeout` (design §14).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from proto_adapters.canonical import CanonicalSpan, Origin
from proto_adapters.decoding import DecodeOptions, decode_log, decode_span
from proto_adapters.dialects import scope_may_hold_genai
from proto_adapters.otlp_decode import digest, view_span
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
        """
        What closes the trace: any ended copy of a span that may be the root, as it would have online.
        """
        has_root = any(span.has_ended and self._may_be_root(span, condition) for span in self.evidence.copies())
        return Trigger.ROOT_SPAN if has_root else Trigger.TRACE_TIMEOUT

    def _may_be_root(self, span: CanonicalSpan, condition: RootCondition) -> bool:
        if condition.attributes:
            return condition.matches(span.selected)
        return span.parent_span_id not in self.evidence.spans and condition.allows(
            span.parent_span_id, otel_kind=span.otel_kind, has_remote_parent=span.has_remote_parent
        )

    def facts(self, trigger: Trigger) -> ClosingFacts:
        reasons = set()
        if self.evidence.has_undecodable_spans:
            reasons.add(CoverageReason.SPAN_UNDECODABLE)
        if self.evidence.has_conflicts:
            reasons.add(CoverageReason.CONFLICTING_SPAN_IDENTITY)
        return ClosingFacts(closed_by_root=trigger is Trigger.ROOT_SPAN, reasons=frozenset(reasons))


class TraceCollector:
    """
    Puts spans and log records together by trace. Log records never begin a trace; they may come before it.
    """

    def __init__(self, options: DecodeOptions) -> None:
        self._options = options
        self._traces: dict[bytes, RecordedTrace] = {}
        self._logs: list[tuple[Origin, bytes]] = []

    def add_span(self, origin: Origin, span: bytes) -> RecordedTrace | None:
        """
        Take one span; tells its trace, or `None` if its ids are invalid.
        """
        ids = read_ids(span)
        if ids is None:
            return None
        trace = self._traces.setdefault(ids.trace_id, RecordedTrace(ids.trace_id))
        canonical = decode_span(span, origin, self._options)
        if canonical is None:
            trace.evidence.observe_undecodable(digest(span))
        else:
            trace.evidence.observe(canonical, digest(span), span)
        return trace

    def add_log(self, origin: Origin, record: bytes) -> None:
        self._logs.append((origin, record))

    def finish(self) -> dict[bytes, RecordedTrace]:
        """
        All traces, in the order in which they began.
        """
        for origin, record in self._logs:
            completion = decode_log(record, origin, self._options)
            if completion is not None and completion.trace_id in self._traces:
                self._traces[completion.trace_id].evidence.observe_log(completion, digest(record))
        for trace in self._traces.values():
            trace.evidence.forget_bytes()
        return self._traces


def collect_traces(requests: Iterable[RecordedRequest], options: DecodeOptions) -> dict[bytes, RecordedTrace]:
    """
    All traces of *requests*, by trace id. Raises `UndecodableRequest`.
    """
    origins = OriginTable()
    collector = TraceCollector(options)
    for signal, payload in requests:
        if signal is Signal.TRACES:
            for origin, spans in split_traces(payload, origins).groups:
                for span in spans:
                    collector.add_span(origin, span)
        elif signal is Signal.LOGS:
            for origin, records in split_logs(payload, origins).groups:
                for record in records:
                    collector.add_log(origin, record)
    return collector.finish()


def names_of_headers(requests: Iterable[RecordedRequest]) -> dict[tuple[bytes, bytes], str]:
    """
    The names of spans of which only the header is read, by trace id and span id. Raises `UndecodableRequest`.
    """
    origins = OriginTable()
    names = {}
    for signal, payload in requests:
        for origin, spans in split_traces(payload, origins).groups if signal is Signal.TRACES else ():
            if not scope_may_hold_genai(origin.scope_name):
                views = (view_span(span, origin) for span in spans)
                names.update({(view.trace_id, view.span_id): view.name for view in views if view is not None})
    return names


def assess_all(trace: RecordedTrace, assessor: Assessor, condition: RootCondition) -> list[tuple[Assessment, Trigger]]:
    """
    The occurrences of a recorded trace: itself, or with attribute roots the subtree of each outermost match.
    """
    roots = find_roots(trace.spans, condition) if condition.attributes else []
    if not roots:
        return [assess(trace, assessor, condition)]
    trigger = trace.trigger(condition)
    facts, logs = trace.facts(trigger), trace.evidence.logs
    return [(assessor.assess_subtree(root, trace.spans, logs, facts), trigger) for root in roots]


def assess(trace: RecordedTrace, assessor: Assessor, condition: RootCondition) -> tuple[Assessment, Trigger]:
    """
    The assessment of a whole recorded trace.
    """
    trigger = trace.trigger(condition)
    return assessor.assess(trace.trace_id, trace.spans, trace.evidence.logs, trace.facts(trigger)), trigger
