"""
Intake: the spans of a request into the trace buffer, the log records of a request beside their traces.

Everything here runs between two turns of the event loop: nothing awaits, so a request is taken whole or not at all.
"""

from collections.abc import Iterable
from typing import NamedTuple

from msgspec import Struct

from proto_adapters.canonical import Origin
from proto_adapters.decoding import decode_log
from proto_adapters.otlp_decode import digest, view_span
from proto_adapters.otlp_encode import encode_attributes
from proto_adapters.split import IdProblem, SpanIds, SplitRequest, read_head, read_ids, why_no_ids
from service.buffer.decision_cache import Decision, DecisionCache
from service.buffer.trace_buffer import BufferedTrace, TraceBuffer
from service.buffer.waiting_logs import WaitingLogs
from service.evidence import CoverageReason, Trigger
from service.pipeline import Accepted, Signal
from service.processor.closing import UNSCORED_REASONS, stamp_of
from service.processor.durability import NO_RECEIPT, Receipt
from service.processor.outbox import Outbox, Settlement
from service.processor.settings import ProcessorSettings
from service.telemetry.recorder import LateAction, Recorder, RejectionReason


class Taken(Struct):
    """
    What became of the spans of one request.
    """

    touched: dict[bytes, BufferedTrace]
    """Traces that hold new spans, by trace id."""
    item_count: int
    settlement: Settlement | None = None
    """Follows the spans of the request that leave at once."""
    receipt: Receipt = NO_RECEIPT
    forwarded: set[bytes] = set()
    """Traces whose spans came too late and left."""
    invalid: int = 0
    undecodable: int = 0
    too_large: int = 0
    id_fallbacks: int = 0

    @property
    def accepted(self) -> Accepted:
        messages = []
        if self.invalid:
            messages.append(f"{self.invalid} spans with an invalid trace_id or span_id")
        if self.undecodable:
            messages.append(f"{self.undecodable} spans that cannot be decoded")
        if self.too_large:
            messages.append(f"{self.too_large} spans too large for an export request")
        rejected = self.invalid + self.undecodable + self.too_large
        return Accepted(rejected, "; ".join(messages), item_count=self.item_count)

    def reject(self, span: bytes) -> None:
        """
        Note a span without valid ids.
        """
        if why_no_ids(span) is IdProblem.UNDECODABLE:
            self.undecodable += 1
        else:
            self.invalid += 1


class TakenLogs(NamedTuple):
    """
    The traces that log records told something of: those held, and those that have yet to come.
    """

    needed: set[bytes]
    waiting: set[bytes]


class Intake:
    """
    Puts received items where they belong.
    """

    def __init__(
        self,
        settings: ProcessorSettings,
        *,
        buffer: TraceBuffer,
        decisions: DecisionCache,
        logs: WaitingLogs,
        spans: Outbox,
        recorder: Recorder,
    ) -> None:
        self._settings = settings
        self._buffer = buffer
        self._decisions = decisions
        self._logs = logs
        self._spans = spans
        self._recorder = recorder

    def take_spans(
        self,
        request: SplitRequest,
        now_ns: int,
        settlement: Settlement | None = None,
        receipt: Receipt = NO_RECEIPT,
    ) -> Taken:
        """
        Take every span with valid ids; tells which traces hold new spans. *settlement* follows what leaves at once.
        """
        taken = Taken({}, request.item_count, settlement, receipt)
        limit, roots_have_no_parent = self._settings.max_span_bytes, self._settings.root_condition.needs_no_parent
        for origin, spans in request.groups:
            for span in spans:
                ids = read_ids(span)
                if ids is None:
                    taken.reject(span)
                    continue
                if not ids.came_first:
                    taken.id_fallbacks += 1
                trace = taken.touched.get(ids.trace_id)
                if len(span) > limit:
                    taken.too_large += 1
                    self._mark_cut(taken, ids, now_ns)
                elif trace is None or trace.closed_ns is not None or not (ids.parent_span_id and roots_have_no_parent):
                    self._take(taken, origin, span, ids, now_ns)
                else:
                    # A further span of an open trace, and no root: four of five are. `_take` would do the same for
                    # twice the instructions.
                    trace.hold(origin, span, now_ns)
        for trace in taken.touched.values():
            self._buffer.update_size(trace)
        self._count(taken)
        return taken

    def _take(self, taken: Taken, origin: Origin, span: bytes, ids: SpanIds, now_ns: int) -> None:
        trace = taken.touched.get(ids.trace_id) or self._buffer.get(ids.trace_id)
        if trace is None:
            decision = self._decisions.get(ids.trace_id)
            if decision is not None:
                self._forward(taken, origin, span, decision, now_ns, trace_id=ids.trace_id)
                return
            trace = self._open(ids.trace_id, now_ns)
        elif trace.passes_late_spans(rescore=self._settings.late_spans is LateAction.RESCORE):
            decision = Decision(Trigger.ROOT_SPAN, trace.stamp)
            self._forward(taken, origin, span, decision, now_ns, trace_id=ids.trace_id, since_ns=trace.closed_ns)
            return
        self._count_after_closing(trace, now_ns)
        is_root = not trace.has_root and self._may_be_root(trace, span, ids, origin)
        self._buffer.add(trace, origin, span, is_root=is_root, now_ns=now_ns)
        taken.touched[ids.trace_id] = trace

    def _count_after_closing(self, trace: BufferedTrace, now_ns: int) -> None:
        """
        A span opens its trace again or, if that was closed by its root, is late and will be scored.
        """
        if trace.is_provisional:
            self._recorder.reopened()
        elif trace.closed_ns is not None:
            self._recorder.late_spans(LateAction.RESCORE, 1, now_ns - trace.closed_ns)

    def _open(self, trace_id: bytes, now_ns: int) -> BufferedTrace:
        trace = self._buffer.open(trace_id, now_ns)
        if self._decisions.was_forgotten(trace_id):
            trace.facts.add(CoverageReason.REOPENED)
            self._recorder.reopened()
        for completion, record_digest in self._logs.take(trace_id):
            trace.evidence.observe_log(completion, record_digest)
        return trace

    def _may_be_root(self, trace: BufferedTrace, span: bytes, ids: SpanIds, origin: Origin) -> bool:
        """
        Whether *span* has ended and may be the root, as far as can be told at its arrival.
        """
        condition = self._settings.root_condition
        if condition.attributes:
            if trace.histories:
                return True
            view = view_span(span, origin)
            return view is not None and view.end_ns is not None and condition.matches(view.attributes)
        if ids.parent_span_id is not None and not condition.accept_remote_parent:
            return False
        head = read_head(span)
        return (
            head is not None
            and head.has_ended
            and condition.allows(
                head.parent_span_id, otel_kind=head.otel_kind, has_remote_parent=head.has_remote_parent
            )
        )

    def _mark_cut(self, taken: Taken, ids: SpanIds, now_ns: int) -> None:
        """
        A span of the trace was refused for its size (`spans_refused`, design §5).
        """
        trace = self._buffer.get(ids.trace_id)
        if trace is None and self._decisions.get(ids.trace_id) is None:
            trace = self._open(ids.trace_id, now_ns)
        if trace is not None:
            trace.facts.add(CoverageReason.SPANS_REFUSED)
            taken.touched[ids.trace_id] = trace

    def _forward(
        self,
        taken: Taken,
        origin: Origin,
        span: bytes,
        decision: Decision,
        now_ns: int,
        *,
        trace_id: bytes,
        since_ns: int | None = None,
    ) -> None:
        """
        Let a span pass that comes too late for its trace.
        """
        stamp = stamp_of(decision, self._settings.late_spans) if self._settings.hold else {}
        taken.forwarded.add(trace_id)
        self._spans.add(origin, [span + encode_attributes(stamp)], now_ns, taken.settlement, taken.receipt.settlement)
        if decision.trigger in UNSCORED_REASONS:
            self._recorder.unscored(UNSCORED_REASONS[decision.trigger], 1)
        else:
            action = LateAction.STAMP if stamp else LateAction.FORWARD
            self._recorder.late_spans(action, 1, now_ns - since_ns if since_ns is not None else 0)

    def _count(self, taken: Taken) -> None:
        if taken.id_fallbacks:
            self._recorder.id_fallbacks(taken.id_fallbacks)
        if taken.invalid:
            self._recorder.rejected(Signal.TRACES, RejectionReason.INVALID_ID, taken.invalid)
        if taken.undecodable:
            self._recorder.rejected(Signal.TRACES, RejectionReason.UNDECODABLE, taken.undecodable)
        if taken.too_large:
            self._recorder.rejected(Signal.TRACES, RejectionReason.TOO_LARGE, taken.too_large)

    def take_logs(self, groups: Iterable[tuple[Origin, list[bytes]]], now_ns: int) -> TakenLogs:
        """
        Keep what log records tell of completions, beside their trace or until it comes.
        """
        taken = TakenLogs(set(), set())
        for origin, records in groups:
            for record in records:
                completion = decode_log(record, origin, self._settings.decoding)
                if completion is None:
                    continue
                trace = self._buffer.get(completion.trace_id)
                if trace is None:
                    taken.waiting.add(completion.trace_id)
                    self._logs.add(completion, digest(record), now_ns)
                elif trace.evidence.observe_log(completion, digest(record)):
                    taken.needed.add(completion.trace_id)
                    self._buffer.reassess(trace, now_ns)
                    self._buffer.update_size(trace)
        return taken
