"""
The doubles of this suite. Each is a real implementation of the protocol that it stands for, with nothing patched.

`ManualClock` moves when told, `RecordingConsumer` and `RecordingSink` keep what they are given, `ScriptedExporter` and
`ScriptedClient` answer what they are told. The recorder that counts nothing is `service.telemetry.recorder`'s own.
"""

import asyncio
import ssl
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Self, cast

import grpc
import grpc.aio
from aiohttp import web
from google.protobuf import duration_pb2
from google.rpc import error_details_pb2, status_pb2
from msgspec import Struct
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

from service.exporter.attempt import Attempt, AttemptOutcome
from service.pipeline import Accepted, ExportRequest, SendOutcome, Signal
from service.telemetry.recorder import FailureReason, LossReason, NullRecorder, RefusalReason, Reloadable, Transport

SERVICES = {
    Signal.TRACES: "opentelemetry.proto.collector.trace.v1.TraceService",
    Signal.LOGS: "opentelemetry.proto.collector.logs.v1.LogsService",
    Signal.METRICS: "opentelemetry.proto.collector.metrics.v1.MetricsService",
}


async def eventually(holds: Callable[[], bool]) -> None:
    """
    Let the loop run until *holds*; for facts that nothing announces. Fails after ten seconds.
    """
    async with asyncio.timeout(10):
        while True:
            if holds():
                return
            await asyncio.sleep(0.001)


class ManualClock:
    """
    A clock that stands still until it is moved.
    """

    def __init__(self, now_ns: int = 1_700_000_000_000_000_000) -> None:
        self._now_ns = now_ns
        self._monotonic_ns = 0

    def now_ns(self) -> int:
        return self._now_ns

    def monotonic_ns(self) -> int:
        return self._monotonic_ns

    def advance(self, duration_ns: int) -> None:
        self._now_ns += duration_ns
        self._monotonic_ns += duration_ns

    def step(self, duration_ns: int) -> None:
        """
        Somebody sets the wall clock; a negative duration sets it back.
        """
        self._now_ns += duration_ns


ACCEPTED = Accepted(item_count=1)


class RecordingConsumer:
    """
    A `Consumer` that keeps every request. It can be told to push back, to fail and to wait.
    """

    def __init__(self, *, answer: Accepted | Exception = ACCEPTED, limit: int | None = None) -> None:
        self.answer = answer
        self.limit = limit
        self.requests: list[tuple[Signal, bytes]] = []
        self.entered = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()

    async def consume(self, signal: Signal, request: bytes) -> Accepted:
        self.entered.set()
        await self.gate.wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        self.requests.append((signal, request))
        return self.answer

    def may_take(self, size: int) -> bool:
        return self.limit is None or size <= self.limit


class CountingRecorder(NullRecorder):
    """
    A recorder that keeps what receivers and exporters count, by name and reason.
    """

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()

    def accepted(self, signal: Signal, transport: Transport, items: int, *, rejected: int = 0) -> None:
        self.counts["accepted", signal] += 1
        self.counts["accepted_items", signal] += items - rejected

    def refused(self, signal: Signal, transport: Transport, reason: RefusalReason, items: int = 0) -> None:
        self.counts["refused", reason] += 1

    def failed(self, signal: Signal, transport: Transport, reason: FailureReason, items: int = 0) -> None:
        self.counts["failed", reason] += 1

    def lost(self, signal: Signal, reason: LossReason, items: int) -> None:
        self.counts["lost", reason] += items

    def sent(self, signal: Signal, exporter: str, items: int) -> None:
        self.counts["sent", exporter] += items

    def send_failed(self, signal: Signal, exporter: str, items: int, error_type: str) -> None:
        self.counts["send_failed", error_type] += items

    def partially_rejected(self, signal: Signal, exporter: str, items: int) -> None:
        self.counts["partially_rejected", exporter] += items

    def enqueue_failed(self, signal: Signal, exporter: str, items: int) -> None:
        self.counts["enqueue_failed", exporter] += items

    def reloaded(self, what: Reloadable, *, succeeded: bool) -> None:
        self.counts["reloaded", str(succeeded)] += 1

    def retried(self, signal: Signal, exporter: str, error_type: str) -> None:
        self.counts["retried", error_type] += 1


Answer = grpc.StatusCode | tuple[grpc.StatusCode, float] | int | Callable[[bytes], "Answer | None"] | None
"""
How a sink answers: None takes the request, a number takes it less so many items, a code refuses it, a code with seconds
adds RetryInfo; a function of the request decides.
"""


class RecordingSink:
    """
    A real OTLP/gRPC server on loopback that keeps what it accepts. *script* answers the first requests, `otherwise` the
    rest.
    """

    def __init__(self, script: Iterable[Answer] = (), *, otherwise: Answer = None) -> None:
        self.script = list(script)
        self.otherwise = otherwise
        self.accepted: list[tuple[Signal, bytes]] = []
        self.attempts = 0
        self.metadata: list[dict[str, str | bytes]] = []
        self.gate = asyncio.Event()
        """Cleared, requests wait at the door."""
        self.gate.set()
        self.bytes_per_second: float | None = None
        """How fast it takes requests, one after the other; `None` is at once."""
        self._taking = asyncio.Lock()
        self.port = 0
        self._changed = asyncio.Condition()
        self._server: grpc.aio.Server | None = None

    @property
    def endpoint(self) -> str:
        return f"localhost:{self.port}"

    @property
    def payloads(self) -> list[bytes]:
        return [payload for _, payload in self.accepted]

    async def start(self, *, port: int = 0, credentials: grpc.ServerCredentials | None = None) -> None:
        server = grpc.aio.server(options=[("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", -1)])
        server.add_generic_rpc_handlers(
            [
                grpc.method_handlers_generic_handler(
                    name, {"Export": grpc.unary_unary_rpc_method_handler(self._handler(signal))}
                )
                for signal, name in SERVICES.items()
            ]
        )
        address = f"localhost:{port}"
        self.port = server.add_secure_port(address, credentials) if credentials else server.add_insecure_port(address)
        await server.start()
        self._server = server

    async def stop(self) -> None:
        if self._server is not None:
            await self._server.stop(None)
        self._server = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def wait_for(self, *, attempts: int = 0, accepted: int = 0) -> None:
        """
        Until so many requests came, and so many were accepted.
        """
        async with self._changed:
            await self._changed.wait_for(lambda: self.attempts >= attempts and len(self.accepted) >= accepted)

    def _handler(self, signal: Signal) -> Callable[[bytes, grpc.aio.ServicerContext[bytes, bytes]], Awaitable[bytes]]:
        async def export(request: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
            self.metadata.append(metadata_of(context))
            answer = await self._answer(request)
            if isinstance(answer, (grpc.StatusCode, tuple)):
                await _abort(context, answer)
            self.accepted.append((signal, request))
            await self._notify()
            return _partial_success(answer if isinstance(answer, int) else 0)

        return export

    async def _answer(self, request: bytes) -> Answer:
        self.attempts += 1
        await self._notify()
        await self.gate.wait()
        async with self._taking:
            if self.bytes_per_second is not None:
                await asyncio.sleep(len(request) / self.bytes_per_second)
        answer = self.script.pop(0) if self.script else self.otherwise
        return answer(request) if callable(answer) else answer

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()


def details_of(error: grpc.aio.AioRpcError) -> bytes:
    """
    The serialised `google.rpc.Status` in the trailers of a failed call; empty if there is none.
    """
    trailers = dict(cast("Iterable[tuple[str, str | bytes]]", error.trailing_metadata()))
    details = trailers.get("grpc-status-details-bin", b"")
    assert isinstance(details, bytes)
    return details


def metadata_of(context: grpc.aio.ServicerContext[bytes, bytes]) -> dict[str, str | bytes]:
    """
    The metadata of a call; the stubs do not know that its entries are pairs.
    """
    return dict(cast("Iterable[tuple[str, str | bytes]]", context.invocation_metadata() or ()))


async def _abort(
    context: grpc.aio.ServicerContext[bytes, bytes], answer: grpc.StatusCode | tuple[grpc.StatusCode, float]
) -> None:
    code, seconds = answer if isinstance(answer, tuple) else (answer, None)
    details = retry_info(code, seconds) if seconds is not None else None
    await context.abort(code, "scripted", (("grpc-status-details-bin", details),) if details else ())


def retry_info(code: grpc.StatusCode, seconds: float) -> bytes:
    """
    A serialised `google.rpc.Status` with RetryInfo.
    """
    status = status_pb2.Status(code=code.value[0])
    delay = duration_pb2.Duration(seconds=int(seconds), nanos=round(seconds % 1 * 1e9))
    status.details.add().Pack(error_details_pb2.RetryInfo(retry_delay=delay))
    serialized: bytes = status.SerializeToString()
    return serialized


def _partial_success(rejected: int) -> bytes:
    response = trace_service_pb2.ExportTraceServiceResponse()
    if rejected:
        response.partial_success.rejected_spans = rejected
        response.partial_success.error_message = "scripted"
    return response.SerializeToString()


class HttpAnswer(Struct, frozen=True):
    """
    A scripted HTTP answer.
    """

    status: int = 200
    headers: Mapping[str, str] = {}
    body: bytes = b""


class RecordingHttpSink:
    """
    A real OTLP/HTTP server on loopback that keeps the bodies it accepts, as they came. *script* answers the first
    requests, `otherwise` the rest.
    """

    def __init__(self) -> None:
        self.script: list[HttpAnswer] = []
        self.otherwise: HttpAnswer | Callable[[bytes], HttpAnswer] = HttpAnswer()
        self.accepted: list[tuple[Signal, bytes]] = []
        self.attempts = 0
        self.headers: list[Mapping[str, str]] = []
        self.gate = asyncio.Event()
        """Cleared, requests wait at the door."""
        self.gate.set()
        self.url = ""
        self._changed = asyncio.Condition()
        self._runner: web.AppRunner | None = None

    @property
    def payloads(self) -> list[bytes]:
        return [payload for _, payload in self.accepted]

    async def start(self, *, context: ssl.SSLContext | None = None) -> None:
        app = web.Application(client_max_size=1 << 30)
        for signal in Signal:
            app.router.add_post(f"/v1/{signal}", self._handler(signal))
        runner = web.AppRunner(app, access_log=None, auto_decompress=False, shutdown_timeout=1)
        await runner.setup()
        await web.TCPSite(runner, "localhost", 0, ssl_context=context).start()
        self.url = f"http{'s' if context else ''}://localhost:{runner.addresses[0][1]}"
        self._runner = runner

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
        self._runner = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def wait_for(self, *, attempts: int = 0, accepted: int = 0) -> None:
        """
        Until so many requests came, and so many were accepted.
        """
        async with self._changed:
            await self._changed.wait_for(lambda: self.attempts >= attempts and len(self.accepted) >= accepted)

    def _handler(self, signal: Signal) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def export(request: web.Request) -> web.Response:
            body = await request.read()
            self.headers.append(request.headers)
            answer = await self._answer(body)
            if answer.status == 200:
                self.accepted.append((signal, body))
            await self._notify()
            return web.Response(status=answer.status, headers=answer.headers, body=answer.body)

        return export

    async def _answer(self, body: bytes) -> HttpAnswer:
        self.attempts += 1
        await self._notify()
        await self.gate.wait()
        answer = self.script.pop(0) if self.script else self.otherwise
        return answer(body) if callable(answer) else answer

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()


DELIVERED = Attempt(outcome=AttemptOutcome.DELIVERED)
UNAVAILABLE = Attempt(outcome=AttemptOutcome.RETRYABLE, error_type="UNAVAILABLE")
REFUSED = Attempt(outcome=AttemptOutcome.PERMANENT, error_type="INVALID_ARGUMENT", may_be_content=True)


class ScriptedClient:
    """
    A `Client` that gives the scripted attempts in turn, then what *otherwise* says of the payload.
    """

    def __init__(
        self, script: Sequence[Attempt | Exception] = (), *, otherwise: Callable[[bytes], Attempt] = lambda _: DELIVERED
    ) -> None:
        self.script = list(script)
        self.otherwise = otherwise
        self.sent: list[tuple[Signal, bytes]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.is_closed = False

    async def send(self, signal: Signal, payload: bytes) -> Attempt:
        self.sent.append((signal, payload))
        await self.gate.wait()
        attempt = self.script.pop(0) if self.script else self.otherwise(payload)
        if isinstance(attempt, Exception):
            raise attempt
        return attempt

    async def close(self) -> None:
        self.is_closed = True


class ScriptedExporter:
    """
    An `Outlet` without a network: takes requests while it has room and settles them when told.
    """

    def __init__(self, *, capacity: int | None = None) -> None:
        self.capacity = capacity
        self.held: list[ExportRequest] = []
        self.settled: list[ExportRequest] = []

    def offer(self, request: ExportRequest) -> bool:
        if self.capacity is not None and len(self.held) >= self.capacity:
            return False
        self.held.append(request)
        return True

    def settle(self, outcome: SendOutcome = SendOutcome.DELIVERED, rejected: int = 0) -> None:
        """
        Settle the oldest request held.
        """
        request = self.held.pop(0)
        self.settled.append(request)
        if request.done is not None:
            request.done(outcome, rejected)

    @property
    def payloads(self) -> list[bytes]:
        return [request.payload for request in (*self.settled, *self.held)]
