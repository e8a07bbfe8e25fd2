"""
OTLP over HTTP: `/v1/traces`, `/v1/logs` and `/v1/metrics`, protobuf and JSON, optionally compressed.

Every limit holds before the memory is used: length before reading, size while reading and while decompressing, number
and patience of connections (`reference/collector.md` §2.2, §8).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from aiohttp import hdrs, web
from google.protobuf.message import Message
from msgspec import Struct

from proto_adapters.otlp_json import logs_from_json, metrics_from_json, traces_from_json
from service.durations import MINUTE, SECOND
from service.errors import ConfigError, MalformedRequest, RequestError, Unauthenticated
from service.pipeline import Consumer, Signal
from service.receiver.compression import ENCODINGS
from service.receiver.connections import Connections, GuardedConnection
from service.receiver.http_body import BodyReader, seconds_or_none
from service.receiver.intake import Intake, Reservation
from service.receiver.status import Unsupported, answer_for, status_message, success_message, to_json
from service.telemetry.recorder import Recorder, Transport
from service.transport_security.bearer_token import BearerTokenAuth
from service.transport_security.tls import ServerTls

_logger = logging.getLogger(__name__)

PROTOBUF = "application/x-protobuf"
JSON = "application/json"
PATHS = {"/v1/traces": Signal.TRACES, "/v1/logs": Signal.LOGS, "/v1/metrics": Signal.METRICS}

INLINE_JSON_SIZE = 64 * 1024
"""Larger JSON bodies are converted off the loop, one at a time: their trees take a multiple of the text's memory."""
LINGER_S = 1.0
"""How long the rest of a refused body is still read, so that the client sees the answer and not a reset."""
NEVER_S = 10 * 365 * 86_400.0

_FROM_JSON = {
    Signal.TRACES: traces_from_json,
    Signal.LOGS: logs_from_json,
    Signal.METRICS: metrics_from_json,
}


class HttpReceiverSettings(Struct, frozen=True, kw_only=True):
    """
    The HTTP listener; keys and meaning as the Collector's `confighttp`, but no time is unlimited by default.
    """

    endpoint: str = "localhost:4318"
    max_request_body_size: int = 20 * 1024 * 1024
    """Bytes, before and again after decompression."""
    compression_algorithms: tuple[str, ...] = ENCODINGS
    read_header_timeout_ns: int = 10 * SECOND
    read_timeout_ns: int = 30 * SECOND
    write_timeout_ns: int = 30 * SECOND
    idle_timeout_ns: int = MINUTE
    max_connections: int = 1000

    @property
    def address(self) -> tuple[str | None, int]:
        """Host (None is every interface) and port."""
        host, _, port = self.endpoint.rpartition(":")
        return host.strip("[]") or None, int(port)


class OtlpHttpReceiver:
    """
    Listens from `start` until `stop`. *add_routes* may add what else this port serves, under the same guards.
    """

    def __init__(
        self,
        settings: HttpReceiverSettings,
        consumer: Consumer,
        recorder: Recorder,
        *,
        tls: ServerTls | None = None,
        auth: BearerTokenAuth | None = None,
        add_routes: Callable[[web.Application], None] | None = None,
        where: str = "receivers::otlp::protocols::http",
    ) -> None:
        """
        *where* is the configuration path, for error messages.
        """
        self._settings = settings
        self._where = where
        self._intake = Intake(consumer, recorder, Transport.HTTP)
        self._tls = tls
        self._auth = auth
        self._add_routes = add_routes
        self._connections = Connections(
            limit=settings.max_connections, first_request_within_ns=settings.read_header_timeout_ns
        )
        self._body = BodyReader(
            limit=settings.max_request_body_size,
            timeout_ns=settings.read_timeout_ns,
            encodings=settings.compression_algorithms,
        )
        self._json_turn = asyncio.Lock()
        self._runner: web.AppRunner | None = None
        self._listener: asyncio.Server | None = None
        self.port = 0
        """The bound port, known after `start`."""

    async def start(self) -> None:
        """
        Bind and serve. Raises `ConfigError` if the endpoint cannot be bound.
        """
        runner = web.AppRunner(
            self._application(),
            access_log=None,
            auto_decompress=False,
            keepalive_timeout=self._settings.idle_timeout_ns / SECOND or NEVER_S,
            lingering_time=LINGER_S,
        )
        await runner.setup()
        self._runner = runner
        self._listener = await self._listen(runner)
        self.port = self._listener.sockets[0].getsockname()[1]
        _logger.info("OTLP/HTTP receiver listens on %s (port %d)", self._settings.endpoint, self.port)

    async def _listen(self, runner: web.AppRunner) -> asyncio.Server:
        serve = runner.server
        assert serve is not None
        host, port = self._settings.address
        try:
            return await asyncio.get_running_loop().create_server(
                lambda: GuardedConnection(self._connections, serve),
                host,
                port,
                ssl=self._tls.ssl_context() if self._tls is not None else None,
                ssl_handshake_timeout=self._handshake_timeout_s(),
            )
        except OSError as error:
            raise ConfigError([(f"{self._where}::endpoint", str(error))]) from error

    def _handshake_timeout_s(self) -> float | None:
        """A handshake is the first part of a request's headers. None leaves asyncio its minute."""
        return seconds_or_none(self._settings.read_header_timeout_ns) if self._tls is not None else None

    def _application(self) -> web.Application:
        app = web.Application(middlewares=[self._guard], client_max_size=self._settings.max_request_body_size)
        for path, signal in PATHS.items():
            app.router.add_post(path, self._handler(signal))
        if self._add_routes is not None:
            self._add_routes(app)
        return app

    async def stop(self, grace_ns: int) -> None:
        """
        Refuse what is new, give requests in progress *grace_ns* to end, close all connections.
        """
        self._intake.close()
        if self._listener is None or self._runner is None:
            return
        self._listener.close()
        if (server := self._runner.server) is not None:
            server.pre_shutdown()
            await server.shutdown(grace_ns / SECOND)
        await self._runner.cleanup()
        await self._intake.settle(grace_ns)
        self._listener = self._runner = None
        _logger.info("OTLP/HTTP receiver stopped")

    @web.middleware
    async def _guard(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        self._connections.request_began(request.transport)
        try:
            if self._auth is not None:
                self._auth.check(request.headers.get(hdrs.AUTHORIZATION))
            response = await handler(request)
        except web.HTTPException as unknown:
            response = self._refuse(request, Unsupported(unknown.reason, http_status=unknown.status))
        except RequestError as error:
            response = self._refuse(request, error)
        return await self._write(request, response)

    def _refuse(self, request: web.Request, error: RequestError) -> web.Response:
        if (signal := PATHS.get(request.path)) is not None:
            self._intake.count(signal, error)
        answer = answer_for(error)
        response = _response(request, status_message(answer), answer.http_status)
        if answer.retry_after_header is not None:
            response.headers[hdrs.RETRY_AFTER] = answer.retry_after_header
        if isinstance(error, Unauthenticated):
            response.headers[hdrs.WWW_AUTHENTICATE] = "Bearer"
        return response

    async def _write(self, request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
        """Write here, not in aiohttp, which waits for ever for a client that does not read."""
        response.headers[hdrs.SERVER] = "toolscore"
        try:
            async with asyncio.timeout(seconds_or_none(self._settings.write_timeout_ns)):
                await response.prepare(request)
                await response.write_eof()
        except TimeoutError:
            if request.transport is not None:
                request.transport.abort()
        return response

    def _handler(self, signal: Signal) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def export(request: web.Request) -> web.Response:
            with self._intake.reservation() as room:
                payload = await self._payload(request, signal, room)
            accepted = await self._intake.take(signal, payload)
            return _response(request, success_message(signal, accepted), 200)

        return export

    async def _payload(self, request: web.Request, signal: Signal, room: Reservation) -> bytes:
        """The request in protobuf, decompressed."""
        if request.content_type not in {PROTOBUF, JSON}:
            message = f"content type should be {PROTOBUF} or {JSON}"
            raise Unsupported(message, http_status=415)
        body = await self._body.read(request, room)
        return await self._from_json(signal, body) if request.content_type == JSON else body

    async def _from_json(self, signal: Signal, body: bytes) -> bytes:
        convert = _FROM_JSON[signal]
        try:
            if len(body) <= INLINE_JSON_SIZE:
                return convert(body)
            async with self._json_turn:
                return await asyncio.to_thread(convert, body)
        except ValueError as error:
            raise MalformedRequest(str(error)) from error


def _response(request: web.Request, message: Message, status: int) -> web.Response:
    """In the content type of the request; JSON where that is neither of ours, since a person will read it."""
    if request.content_type == PROTOBUF:
        return web.Response(body=message.SerializeToString(), status=status, content_type=PROTOBUF)
    return web.Response(body=to_json(message), status=status, content_type=JSON)
