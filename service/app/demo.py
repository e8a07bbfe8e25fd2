"""
The demo: the whole service in one process, real recordings through real OTLP/gRPC, a downstream that counts.

Nothing is simulated but the agents, whose exports were recorded. Everything listens on free loopback ports.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import grpc.aio
from msgspec import Struct

from proto_adapters.split import OriginTable, count_items, split_traces
from service.app.app import App
from service.clock import SystemClock
from service.config import Config, config_from_tree
from service.config.yaml_reader import Value
from service.pipeline import Accepted, Signal
from service.processor.outputs import Observer, Scored
from service.receiver.otlp_grpc import SERVICES, GrpcReceiverSettings, OtlpGrpcReceiver
from service.replay.files import read_requests
from service.telemetry.recorder import NullRecorder

RECORDINGS = Path(__file__).parent / "recordings"
LOOPBACK = "127.0.0.1:0"
TIMEOUT_SECONDS = 30

EXPECTATION: dict[str, Value] = {
    "name": "plan_a_trip",
    "expected_tools": ["search_flights", "get_weather", "book_hotel"],
    "conditions": [
        {
            "condition_type": "tools_called_in_order",
            "name": "hotel_last",
            "tools": ["search_flights", "get_weather", "book_hotel"],
        }
    ],
}


class Downstream:
    """
    The next hop: a receiver that counts what arrives. Implements `service.pipeline.Consumer`.
    """

    def __init__(self) -> None:
        self.counts = dict.fromkeys(Signal, 0)

    async def consume(self, signal: Signal, request: bytes) -> Accepted:
        item_count = count_items(request)
        self.counts[signal] += item_count
        return Accepted(item_count=item_count)

    def may_take(self, size: int) -> bool:
        return size > 0


class DemoResult(Struct, frozen=True):
    """
    What came out. `received` counts what the downstream got, by signal.
    """

    scored: list[Scored]
    sent_spans: int
    received: dict[Signal, int]


class _Collector:
    """
    Collects scored traces until all expected ones are there.
    """

    def __init__(self, trace_ids: Iterable[bytes]) -> None:
        self._missing = set(trace_ids)
        self.scored_traces: list[Scored] = []
        self.is_complete = asyncio.Event()

    def scored(self, scored: Scored) -> None:
        self.scored_traces.append(scored)
        self._missing.discard(bytes.fromhex(scored.assessment.occurrence))
        if not self._missing:
            self.is_complete.set()


def demo_config(downstream_port: int, live_page: str | None = None) -> Config:
    """
    Short timers, since recordings arrive at once. *live_page* is the address to serve it on.
    """
    extensions: dict[str, Value] = {} if live_page is None else {"live_page": {"endpoint": live_page}}
    return config_from_tree(
        {
            "receivers": {"otlp": {"protocols": {"grpc": {"endpoint": LOOPBACK}}}},
            "processors": {
                "tool_scoring": {
                    "decision_delay": "300ms",
                    "idle_timeout": "1s",
                    "count_embedded_calls": True,
                    "expectations": [EXPECTATION],
                }
            },
            "exporters": {"otlp_grpc": {"endpoint": f"127.0.0.1:{downstream_port}", "tls": {"insecure": True}}},
            "extensions": extensions,
            "service": {"extensions": list(extensions), "telemetry": {"metrics": {"level": "none"}}},
        },
        environ={},
    )


@asynccontextmanager
async def demo_service(
    observers: Sequence[Observer] = (), *, live_page: str | None = None
) -> AsyncIterator[tuple[App, Downstream]]:
    """
    The service, running, with a downstream behind it. Raises `ConfigError` if *live_page* cannot be bound.
    """
    downstream = Downstream()
    receiver = OtlpGrpcReceiver(GrpcReceiverSettings(endpoint=LOOPBACK), downstream, NullRecorder())
    await receiver.start()
    app = App(demo_config(receiver.port, live_page), SystemClock(), observers)
    try:
        await app.start()
        yield app, downstream
    finally:
        await app.stop()
        await receiver.stop(0)


async def run_demo(recordings: Path = RECORDINGS) -> DemoResult:
    """
    Send every recording of a folder through the service. Raises `TimeoutError` if traces are left unscored.
    """
    requests = [request for run in recorded_runs(recordings) for request in run]
    collector = _Collector(_scorable_traces(requests))
    async with demo_service([collector]) as (app, downstream):
        await send(requests, app.receivers.grpc_ports[0])
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await collector.is_complete.wait()
    return DemoResult(collector.scored_traces, sum(map(count_items, requests)), downstream.counts)


def recorded_runs(folder: Path = RECORDINGS) -> list[list[bytes]]:
    """
    The trace requests of each recording in a folder.
    """
    paths = sorted(folder.glob("*.jsonl*"))
    return [[payload for signal, payload in read_requests(path) if signal is Signal.TRACES] for path in paths]


def _scorable_traces(requests: Iterable[bytes]) -> set[bytes]:
    """
    The traces of a recording that hold more than set-up spans: those with at least two spans.
    """
    origins = OriginTable()
    counts: dict[bytes, int] = {}
    for request in requests:
        for _, spans in split_traces(request, origins).groups:
            for span in spans:
                counts[span[2:18]] = counts.get(span[2:18], 0) + 1
    return {trace_id for trace_id, count in counts.items() if count > 1}


async def send(requests: Sequence[bytes], port: int) -> None:
    """
    Export *requests* over OTLP/gRPC.
    """
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        path = f"/{SERVICES[Signal.TRACES]}/Export"
        export = channel.unary_unary(path, request_serializer=None, response_deserializer=None)
        for request in requests:
            await export(request)
