"""
The hot path of the service cut into stages, each a piece of work that can be done again and again at the same cost.

A `Stage` prepares what one run needs (fresh buffers, spans read before) and gives the run itself, so that only the
stage's own work is measured. The parts are those that the running service is built of, under its default outputs: a
real recorder, span attributes on the root, events; the outlets take requests and drop them.
"""

from collections.abc import Callable, Coroutine, Sequence

from bench.agent_traffic import EXPECTED_TOOLS
from doubles import ManualClock
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from proto_adapters.canonical import NO_ATTRIBUTES, Attributes
from proto_adapters.split import OriginTable, split_traces
from service.app.processing import build_assessor, build_processor
from service.app.settings import outbox_settings, processor_settings
from service.buffer.decision_cache import DecisionCache
from service.buffer.trace_buffer import BufferedTrace, ReadSpan, TraceBuffer
from service.buffer.waiting_logs import WaitingLogs
from service.config import Config, config_from_tree
from service.config.yaml_reader import Value
from service.evidence import Trigger
from service.pipeline import ExportRequest, SendOutcome, Signal
from service.processor.intake import Intake
from service.processor.occurrences import Planner
from service.processor.outbox import Outbox
from service.processor.processor import Processor
from service.processor.reading import Reader
from service.processor.release import Annotator
from service.telemetry.otel_recorder import OtelRecorder

Run = Callable[[], object]
Stage = Callable[[Sequence[bytes]], Callable[[], Run]]
"""Takes the requests of the corpus, gives what prepares one run."""

MINUTE_NS = 60_000_000_000
CONFIG: dict[str, Value] = {
    "processors": {
        "tool_scoring": {
            "expectations": [
                {
                    "name": "support",
                    "match": {"agent_name": "*"},
                    "expected_tools": list(EXPECTED_TOOLS),
                    "conditions": [
                        {
                            "condition_type": "tools_called_in_order",
                            "name": "policy_first",
                            "tools": list(EXPECTED_TOOLS),
                        }
                    ],
                }
            ]
        }
    },
    "exporters": {"otlp_grpc": {"endpoint": "localhost:1", "tls": {"insecure": True}}},
}
ATTRIBUTES: Attributes = {
    "toolscore.trigger": "root_span",
    "toolscore.coverage": "complete",
    "toolscore.evaluation.tool_selection_accuracy.score": 0.5,
    "toolscore.evaluation.tool_selection_accuracy.status": "scored",
}


class TakingOutlet:
    """
    An outlet that takes every request and says that it was delivered.
    """

    def has_room(self, size: int) -> bool:
        return size >= 0

    def offer(self, request: ExportRequest) -> bool:
        if request.done is not None:
            request.done(SendOutcome.DELIVERED, 0)
        return True


class Parts:
    """
    The parts of one service, built from the configuration.
    """

    def __init__(self) -> None:
        self.config: Config = config_from_tree(CONFIG, environ={})
        self.clock = ManualClock()
        self.settings = processor_settings(self.config, process_start_ns=0)
        self.recorder = OtelRecorder(self.clock)
        self.origins = OriginTable()
        self.reader = Reader(self.settings.decoding, self.recorder)
        assessor = build_assessor(self.config.tool_scoring)
        self.planner = Planner(assessor, self.settings.root_condition, process_start_ns=0)
        self.annotator = Annotator(self.settings.annotate, drop_untrusted=True)

    def outbox(self, signal: Signal = Signal.TRACES) -> Outbox:
        return Outbox(signal, [TakingOutlet()], outbox_settings(self.config))

    def intake(self) -> tuple[Intake, TraceBuffer]:
        buffer = TraceBuffer(self.settings.completion)
        logs = WaitingLogs(limit=1, timeout_ns=1)
        intake = Intake(
            self.settings,
            buffer=buffer,
            decisions=DecisionCache(1),
            logs=logs,
            spans=self.outbox(),
            recorder=self.recorder,
        )
        return intake, buffer

    def buffered(self, requests: Sequence[bytes]) -> list[BufferedTrace]:
        """
        The traces of *requests*, held.
        """
        intake, buffer = self.intake()
        for request in requests:
            intake.take_spans(split_traces(request, self.origins), 0)
        return list(buffer.all_traces())

    def processor(self) -> Processor:
        outboxes = {signal: self.outbox(signal) for signal in Signal}
        return build_processor(self.config, outboxes, recorder=self.recorder, clock=self.clock, version="0")


def parse(requests: Sequence[bytes]) -> Callable[[], Run]:
    """
    The yardstick: what protobuf's C library takes to parse the same requests whole.
    """

    def run() -> None:
        for request in requests:
            ExportTraceServiceRequest.FromString(request)

    return lambda: run


def ingest(requests: Sequence[bytes]) -> Callable[[], Run]:
    """
    Requests into held span bytes.
    """
    parts = Parts()

    def prepare() -> Run:
        intake, _ = parts.intake()

        def run() -> None:
            for request in requests:
                intake.take_spans(split_traces(request, parts.origins), 0)

        return run

    return prepare


def convert(requests: Sequence[bytes]) -> Callable[[], Run]:
    """
    Held span bytes into canonical spans.
    """
    parts = Parts()

    def prepare() -> Run:
        traces = parts.buffered(requests)
        return lambda: [parts.reader.read_now(trace) for trace in traces]

    return prepare


def score(requests: Sequence[bytes]) -> Callable[[], Run]:
    """
    Canonical spans into evaluations: assembly, evidence, expectation, scorers.
    """
    parts = Parts()

    def prepare() -> Run:
        read = _read(parts, requests)
        return lambda: [parts.planner.plan(trace, Trigger.ROOT_SPAN, spans) for trace, spans in read]

    return prepare


def reexport(requests: Sequence[bytes]) -> Callable[[], Run]:
    """
    Span bytes and the attributes of a verdict into requests on their way out.
    """
    parts = Parts()

    def prepare() -> Run:
        leaving = [(spans, _root_id(spans)) for _, spans in _read(parts, requests)]
        outbox = parts.outbox()

        def run() -> None:
            for spans, root_id in leaving:
                for origin, items in parts.annotator.annotate(spans, root_id, ATTRIBUTES, NO_ATTRIBUTES).groups.items():
                    outbox.add(origin, items, 0)
            outbox.flush()

        return run

    return prepare


def whole(requests: Sequence[bytes]) -> Callable[[], Run]:
    """
    Everything between the receiver and the exporters.
    """
    parts = Parts()

    def prepare() -> Run:
        processor = parts.processor()
        return lambda: finish(pass_through(processor, parts.clock, requests))

    return prepare


async def pass_through(processor: Processor, clock: ManualClock, requests: Sequence[bytes]) -> None:
    """
    All *requests* into *processor*, and all that comes of them out of it.
    """
    for request in requests:
        await processor.consume(Signal.TRACES, request)
    clock.advance(MINUTE_NS)
    await processor.tick()
    await processor.settle()
    clock.advance(MINUTE_NS)
    await processor.tick()


STAGES: dict[str, Stage] = {
    "parse": parse,
    "ingest": ingest,
    "convert": convert,
    "score": score,
    "re-export": reexport,
    "whole": whole,
}


def finish(coroutine: Coroutine[object, None, object]) -> None:
    """
    Run a coroutine that waits for nothing but its next turn.
    """
    try:
        while True:
            coroutine.send(None)
    except StopIteration:
        return


def _read(parts: Parts, requests: Sequence[bytes]) -> list[tuple[BufferedTrace, list[ReadSpan]]]:
    return [(trace, parts.reader.read_now(trace)) for trace in parts.buffered(requests)]


def _root_id(spans: Sequence[ReadSpan]) -> bytes | None:
    roots = (span.canonical.span_id for span in spans if span.canonical and span.canonical.parent_span_id is None)
    return next(roots, None)
