"""
A processor of its own for a test: real buffer, scorers and outputs, a clock that is moved by hand, outlets that keep
what they are given.
"""

from collections.abc import Mapping, Sequence
from typing import Self

from doubles import ManualClock
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from wire_spans import span_id, trace_request

from service.app.journal import open_journal
from service.app.processing import build_processor
from service.app.settings import outbox_settings
from service.config import config_from_tree
from service.evaluation import Evaluation
from service.pipeline import Accepted, ExportRequest, SendOutcome, Signal
from service.processor.outbox import Outbox
from service.processor.outputs import Scored
from service.telemetry.otel_recorder import OtelRecorder

SECOND_NS = 1_000_000_000
ANY_EXPORTER = {"otlp_grpc": {"endpoint": "localhost:1", "tls": {"insecure": True}}}
"""Named so that every signal leaves; the outlets of the test take what would go there."""
EXPECTED = {"tool_selection_accuracy": {"expected_tools": ["a", "b"]}}


class RecordingOutlet:
    """
    An outlet that delivers at once, unless it is told to be full or to leave open what becomes of a request.
    """

    def __init__(self) -> None:
        self.is_full = False
        self.is_slow = False
        self.requests: list[bytes] = []
        self.undecided: list[ExportRequest] = []

    def has_room(self, size: int) -> bool:
        return not self.is_full and size >= 0

    def offer(self, request: ExportRequest) -> bool:
        self.undecided.append(request)
        if not self.is_slow:
            self.decide(SendOutcome.DELIVERED)
        return True

    def decide(self, outcome: SendOutcome, rejected: int = 0) -> None:
        """
        Settle the oldest request that is not settled.
        """
        request = self.undecided.pop(0)
        if outcome is SendOutcome.DELIVERED:
            self.requests.append(request.payload)
        if request.done is not None:
            request.done(outcome, rejected)


class Processing:
    """
    The processor under test, with what came out of it.
    """

    def __init__(
        self,
        *,
        clock: ManualClock | None = None,
        sending_queue: Mapping[str, object] | None = None,
        **tool_scoring: object,
    ) -> None:
        exporters = {name: {**block, "sending_queue": sending_queue or {}} for name, block in ANY_EXPORTER.items()}
        tree = {"processors": {"tool_scoring": {**EXPECTED, **tool_scoring}}, "exporters": exporters}
        config = config_from_tree(tree, environ={})  # type: ignore[arg-type]  # plain values of a test
        self.block = config.tool_scoring
        self.clock = clock or ManualClock()
        self.outlets = {signal: RecordingOutlet() for signal in Signal}
        self.outboxes = {
            signal: Outbox(signal, [outlet], outbox_settings(config)) for signal, outlet in self.outlets.items()
        }
        self.recorder = OtelRecorder(self.clock)
        self.journal = open_journal(config, self.recorder, self.clock)
        self.closings: list[Scored] = []
        self.sent: list[bytes] = []
        self.annotations: dict[str, dict[str, str]] = {}
        self.processor = build_processor(
            config,
            self.outboxes,
            recorder=self.recorder,
            clock=self.clock,
            version="0",
            observers=[self],
            annotations=self.annotations,
            journal=self.journal,
        )

    def scored(self, scored: Scored) -> None:
        self.closings.append(scored)

    async def send(self, *spans: bytes, service: str = "shop", scope: str = "tests") -> Accepted:
        """
        Send *spans* in one request.
        """
        request = trace_request(spans, service=service, scope=scope)
        accepted = await self.processor.consume(Signal.TRACES, request)
        self.sent.append(request)
        return accepted

    async def after(self, seconds: float) -> Self:
        """
        Let time pass, and the processor have its turns.
        """
        self.clock.advance(round(seconds * SECOND_NS))
        await self.processor.tick()
        await self.processor.settle()
        self.clock.advance(SECOND_NS // 4)
        await self.processor.tick()
        return self

    @property
    def released(self) -> list[Span]:
        """Spans that left, in order."""
        return [
            span
            for payload in self.outlets[Signal.TRACES].requests
            for resource in ExportTraceServiceRequest.FromString(payload).resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    @property
    def events(self) -> list[LogRecord]:
        return [
            record
            for payload in self.outlets[Signal.LOGS].requests
            for resource in ExportLogsServiceRequest.FromString(payload).resource_logs
            for scope in resource.scope_logs
            for record in scope.log_records
        ]

    def released_span(self, label: str) -> dict[str, object]:
        """
        Our attributes on a span that left.
        """
        (span,) = (span for span in self.released if span.span_id == span_id(label))
        return ours(span.attributes)

    @property
    def last(self) -> Scored:
        return self.closings[-1]

    def evaluation(self, name: str = "tool_selection_accuracy") -> Evaluation:
        (found,) = (each for each in self.last.assessment.evaluations if each.name == name)
        return found

    @property
    def reasons(self) -> list[str]:
        """Coverage reasons of the last closing."""
        return list(self.last.assessment.evidence.coverage.reasons)

    def counted(self, name: str) -> dict[Mapping[str, object], float]:
        """
        The values of a counter, by its attributes as sorted pairs.
        """
        return {
            tuple(sorted((point.attributes or {}).items())): point.value  # type: ignore[misc,union-attr]
            for resource in self.recorder.collect().resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        }


def ours(attributes: Sequence[object]) -> dict[str, object]:
    """
    The `toolscore.*` attributes as plain values.
    """
    return {each.key: plain(each.value) for each in attributes if each.key.startswith("toolscore.")}  # type: ignore[attr-defined]


def plain(value: AnyValue) -> object:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [plain(item) for item in value.array_value.values]
    return None if kind is None else getattr(value, kind)
