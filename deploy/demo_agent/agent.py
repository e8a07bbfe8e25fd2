"""
Replays recorded runs of real agents, each time with new ids and as if it ended now.

Runs where toolscore is installed, whose recordings and libraries it uses. Configured by OTEL_EXPORTER_OTLP_ENDPOINT
(host:port, OTLP/gRPC without TLS), DEMO_INTERVAL_SECONDS and DEMO_RUNS (left out: for ever).
"""

import itertools
import logging
import os
import secrets
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from service.app.demo import RECORDINGS
from service.pipeline import Signal
from service.replay.files import read_requests

EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
SEND_TIMEOUT_S = 10
_logger = logging.getLogger("demo-agent")


@dataclass
class Renewal:
    """
    New ids for old ones, the same for the same, and how far times move.
    """

    shift_ns: int
    ids: dict[bytes, bytes] = field(default_factory=dict)

    def renew(self, old: bytes) -> bytes:
        """
        An absent id stays absent.
        """
        return self.ids.setdefault(old, secrets.token_bytes(len(old)))

    def apply(self, span: Span) -> None:
        span.trace_id = self.renew(span.trace_id)
        span.span_id = self.renew(span.span_id)
        span.parent_span_id = self.renew(span.parent_span_id)
        for link in span.links:
            link.trace_id, link.span_id = self.renew(link.trace_id), self.renew(link.span_id)
        span.start_time_unix_nano += self.shift_ns
        if span.end_time_unix_nano:  # a span that never ended has no end to move
            span.end_time_unix_nano += self.shift_ns
        for event in span.events:
            event.time_unix_nano += self.shift_ns


def read_run(path: Path) -> list[ExportTraceServiceRequest]:
    """
    The trace requests of one recorded run.
    """
    payloads = (payload for kind, payload in read_requests(path) if kind is Signal.TRACES)
    return [ExportTraceServiceRequest.FromString(payload) for payload in payloads]


def renewed(run: list[ExportTraceServiceRequest], now_ns: int) -> list[ExportTraceServiceRequest]:
    """
    The same run with new ids, its last span ending at *now_ns*.
    """
    latest = max(max(span.start_time_unix_nano, span.end_time_unix_nano) for span in spans(run))
    renewal = Renewal(now_ns - latest)
    copies = [ExportTraceServiceRequest.FromString(request.SerializeToString()) for request in run]
    for span in spans(copies):
        renewal.apply(span)
    return copies


def spans(run: list[ExportTraceServiceRequest]) -> Iterator[Span]:
    for request in run:
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                yield from scope.spans


def send(channel: grpc.Channel, run: list[ExportTraceServiceRequest]) -> None:
    """
    Send one run; what cannot be sent in time is reported and given up.
    """
    export = channel.unary_unary(EXPORT, request_serializer=None, response_deserializer=None)
    try:
        for request in run:
            export(request.SerializeToString(), timeout=SEND_TIMEOUT_S, wait_for_ready=True)
    except grpc.RpcError as error:
        _logger.warning("a run was not sent: %s", error)


def main() -> None:
    logging.basicConfig(level=logging.INFO)
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    interval_s = float(os.environ.get("DEMO_INTERVAL_SECONDS", "2"))
    runs = [read_run(path) for path in sorted(RECORDINGS.glob("*.jsonl.gz"))]
    count = int(os.environ["DEMO_RUNS"]) if "DEMO_RUNS" in os.environ else None
    endpoint = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4317")
    _logger.info("replaying %d runs to %s", len(runs), endpoint)
    with grpc.insecure_channel(endpoint) as channel:
        for run in itertools.islice(itertools.cycle(runs), count):
            send(channel, renewed(run, time.time_ns()))
            if stopped.wait(interval_s):
                return


if __name__ == "__main__":
    main()
