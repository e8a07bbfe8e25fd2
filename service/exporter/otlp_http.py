"""
OTLP over HTTP, sending: one POST for one request, and what the answers mean.
"""

import gzip
import io
import zlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Literal

import aiohttp
import msgspec
import zstandard
from aiohttp import hdrs
from google.protobuf.message import DecodeError
from google.rpc import status_pb2
from msgspec import Struct

from proto_adapters.otlp_json import logs_to_json, metrics_to_json, traces_to_json
from service.durations import SECOND
from service.exporter.attempt import MESSAGE_LIMIT, Attempt, AttemptOutcome, connection_error, read_success, timeout
from service.pipeline import Signal
from service.transport_security.bearer_token import BearerTokenAuth
from service.transport_security.tls import ClientTls

BODY_LIMIT = 64 * 1024
"""Of an answer, no more is read (`reference/collector.md` §3.1)."""
PROTOBUF = "application/x-protobuf"
JSON = "application/json"

_RETRYABLE = {
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
}
"""OTLP 1.11, "Failures" of OTLP/HTTP."""

_ABOUT_CONTENT = {
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.INTERNAL_SERVER_ERROR,
}
"""Permanent refusals that may be due to single items, or to the size."""

_COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda payload: gzip.compress(payload, compresslevel=6),
    "deflate": zlib.compress,
    "zstd": zstandard.compress,
}
_TO_JSON = {Signal.TRACES: traces_to_json, Signal.LOGS: logs_to_json, Signal.METRICS: metrics_to_json}


class HttpExporterSettings(Struct, frozen=True, kw_only=True):
    """
    One downstream endpoint; keys and meaning as the Collector's `otlphttp` exporter.
    """

    endpoint: str
    """Base URL; `/v1/traces` and so on are appended."""
    signal_endpoints: Mapping[Signal, str] = {}
    """Whole URLs, for signals that go elsewhere."""
    timeout_ns: int = 30 * SECOND
    """Per attempt."""
    compression: Literal["none", "gzip", "zstd", "deflate"] = "none"
    encoding: Literal["proto", "json"] = "proto"
    headers: Mapping[str, str] = {}

    def __repr__(self) -> str:
        """Headers may hold credentials."""
        return f"HttpExporterSettings(endpoint={self.endpoint!r})"

    def url(self, signal: Signal) -> str:
        return self.signal_endpoints.get(signal) or f"{self.endpoint.rstrip('/')}/v1/{signal}"


def _content_headers(settings: HttpExporterSettings) -> dict[str, str]:
    headers = {hdrs.CONTENT_TYPE: JSON if settings.encoding == "json" else PROTOBUF, hdrs.USER_AGENT: "toolscore"}
    if settings.compression != "none":
        headers[hdrs.CONTENT_ENCODING] = settings.compression
    return {str(name): value for name, value in headers.items()}


class OtlpHttpClient:
    """
    A `Client` over a pool of connections. Redirects are not followed: they would take headers elsewhere.

    *tls* is used for `https` URLs; without it the system's authorities count.
    """

    def __init__(
        self, settings: HttpExporterSettings, *, tls: ClientTls | None = None, auth: BearerTokenAuth | None = None
    ) -> None:
        self._settings = settings
        self._tls = tls
        self._auth = auth
        self._session: aiohttp.ClientSession | None = None
        self._headers: dict[str, str] = {**settings.headers, **_content_headers(settings)}

    async def send(self, signal: Signal, payload: bytes) -> Attempt:
        try:
            return await self._post(signal, self._encode(signal, payload))
        except TimeoutError:
            return timeout()
        except (aiohttp.ClientError, OSError) as error:
            return connection_error(str(error) or type(error).__name__)

    def _encode(self, signal: Signal, payload: bytes) -> bytes:
        body = _TO_JSON[signal](payload).encode() if self._settings.encoding == "json" else payload
        compress = _COMPRESS.get(self._settings.compression)
        return compress(body) if compress else body

    async def _post(self, signal: Signal, body: bytes) -> Attempt:
        if self._session is None:
            total = aiohttp.ClientTimeout(total=self._settings.timeout_ns / SECOND or None)
            self._session = aiohttp.ClientSession(
                timeout=total, auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar()
            )
        async with self._session.post(
            self._settings.url(signal),
            data=io.BytesIO(body),
            headers=self._request_headers(),
            allow_redirects=False,
            ssl=self._tls.current().context if self._tls else True,
            server_hostname=self._tls.server_name_override if self._tls else None,
        ) as response:
            body = await _read_body(response)
            return read_answer(response.status, response.headers, body, datetime.now(UTC))

    def _request_headers(self) -> dict[str, str]:
        if self._auth is None:
            return self._headers
        return {**self._headers, str(hdrs.AUTHORIZATION): self._auth.authorization()}

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()


async def _read_body(response: aiohttp.ClientResponse) -> bytes:
    """The body, or as much of it as comes: the status has already said what became of the request."""
    body = b""
    try:
        while len(body) < BODY_LIMIT and (chunk := await response.content.read(BODY_LIMIT - len(body))):
            body += chunk
    except (aiohttp.ClientError, OSError):
        return body
    return body


def read_answer(status: int, headers: Mapping[str, str], body: bytes, now: datetime) -> Attempt:
    """
    What an HTTP answer means, *now* being when it came.
    """
    content_type = headers.get(hdrs.CONTENT_TYPE, "").partition(";")[0].strip()
    if 200 <= status < 300:
        return _read_success(content_type, body)
    is_retryable = status in _RETRYABLE
    return Attempt(
        outcome=AttemptOutcome.RETRYABLE if is_retryable else AttemptOutcome.PERMANENT,
        error_type=str(status),
        message=_error_message(content_type, body)[:MESSAGE_LIMIT],
        retry_after_ns=read_retry_after(headers.get(hdrs.RETRY_AFTER, ""), now) if is_retryable else None,
        may_be_content=status in _ABOUT_CONTENT,
    )


def _read_success(content_type: str, body: bytes) -> Attempt:
    if content_type == PROTOBUF:
        return read_success(body)
    if content_type == JSON:
        return _read_success_json(body)
    return Attempt(outcome=AttemptOutcome.DELIVERED)


def _read_success_json(body: bytes) -> Attempt:
    """
    The name of the count differs between the signals: `rejectedSpans`, `rejectedLogRecords`, `rejectedDataPoints`.
    """
    try:
        partial = msgspec.json.decode(body, type=_Response).partial_success
        rejected = sum(int(str(value)) for name, value in partial.items() if name.startswith("rejected"))
    except ValueError:
        return Attempt(outcome=AttemptOutcome.DELIVERED)
    message = str(partial.get("errorMessage", ""))[:MESSAGE_LIMIT]
    return Attempt(outcome=AttemptOutcome.DELIVERED, rejected=rejected, message=message)


class _Response(Struct, rename="camel"):
    partial_success: dict[str, str | int] = {}


def _error_message(content_type: str, body: bytes) -> str:
    if content_type != PROTOBUF:
        return body[:MESSAGE_LIMIT].decode("utf-8", "replace")
    try:
        message: str = status_pb2.Status.FromString(body).message
    except DecodeError:
        return ""
    return message


def read_retry_after(value: str, now: datetime) -> int | None:
    """
    The pause that a Retry-After header asks for: seconds or a date. None if it is absent or neither.
    """
    if value.isascii() and value.isdigit() and len(value) < 10:
        return int(value) * SECOND
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    pause = date.replace(tzinfo=date.tzinfo or UTC) - now
    return max(0, round(pause.total_seconds()) * SECOND)
