"""
Agent runs with known results, recorded by the plain OpenTelemetry SDK and sent by its own OTLP exporter.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Link, SpanKind, Status, StatusCode, Tracer, set_span_in_context

SERVICE = "shop-agent"
AGENT = "refund-agent"
REQUIRED = ("lookup_order", "issue_refund")
MILLISECOND = 1_000_000
ODD_NANOSECONDS = 137  # a start on a whole millisecond would be read as cut to milliseconds (design §6.2)


@dataclass(frozen=True)
class AgentRun:
    """
    The tool calls of one run, as (name, start, end) in milliseconds, and what they are worth against `REQUIRED`.
    """

    calls: tuple[tuple[str, int, int], ...]
    accuracy: float
    order: str


RUNS = {
    "in_order": AgentRun((("lookup_order", 10, 20), ("issue_refund", 30, 40)), 1.0, "true"),
    "out_of_order": AgentRun((("issue_refund", 10, 20), ("lookup_order", 30, 40)), 1.0, "false"),
    "overlapping": AgentRun((("lookup_order", 10, 30), ("issue_refund", 20, 40)), 1.0, "undetermined"),
    "one_missing": AgentRun((("lookup_order", 10, 20), ("send_mail", 30, 40)), 0.5, "false"),
    "retried": AgentRun((("lookup_order", 10, 20), ("issue_refund", 30, 40), ("issue_refund", 50, 60)), 1.0, "true"),
}


class KeepingExporter(SpanExporter):
    """
    Hands spans to another exporter and keeps what it was given, as OTLP requests.
    """

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self.requests: list[bytes] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.requests.append(encode_spans(spans).SerializeToString())
        return self._exporter.export(spans)

    def shutdown(self) -> None:
        self._exporter.shutdown()


@dataclass
class Recorded:
    """
    What was sent, and which trace holds which run.
    """

    requests: list[bytes]
    run_of_trace: dict[bytes, AgentRun] = field(default_factory=dict)


@contextmanager
def _tracer(exporter: SpanExporter) -> Iterator[Tracer]:
    provider = TracerProvider(resource=Resource({"service.name": SERVICE}), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    try:
        yield provider.get_tracer("shop", "1.2.0", attributes={"shop.region": "north"})
    finally:
        provider.shutdown()


def record_runs(exporter: SpanExporter, *, times: int = 1) -> Recorded:
    """
    Record every run of `RUNS` *times* times, and one trace without an agent, through *exporter*.
    """
    keeper = KeepingExporter(exporter)
    recorded = Recorded(keeper.requests)
    with _tracer(keeper) as tracer:
        for run in (run for run in RUNS.values() for _ in range(times)):
            recorded.run_of_trace[_record(tracer, run)] = run
        tracer.start_span("GET /health", kind=SpanKind.SERVER).end()
    return recorded


def _record(tracer: Tracer, run: AgentRun) -> bytes:
    begin = time.time_ns() // MILLISECOND * MILLISECOND + ODD_NANOSECONDS
    root = tracer.start_span(
        f"invoke_agent {AGENT}",
        start_time=begin,
        attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": AGENT, "shop.limits": (1.5, 2.5)},
    )
    inside = set_span_in_context(root)
    for name, start_ms, end_ms in run.calls:
        call = tracer.start_span(
            f"execute_tool {name}",
            context=inside,
            start_time=begin + start_ms * MILLISECOND,
            attributes={"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "shop.attempts": (1, 2)},
            links=[Link(root.get_span_context(), {"shop.reason": "cause"})],
        )
        call.add_event("shop.cache_miss", {"shop.cold": True}, timestamp=begin + start_ms * MILLISECOND)
        call.end(begin + end_ms * MILLISECOND)
    root.set_status(Status(StatusCode.OK))
    root.end(begin + 100 * MILLISECOND)
    return root.get_span_context().trace_id.to_bytes(16)
