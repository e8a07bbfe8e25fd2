"""
Guards the connections of a listener: how many there are, and how long one may be silent before its first request.

Knows no protocol; it stands between the event loop and the protocol that does the work.
"""

import asyncio
from collections.abc import Callable

from service.durations import SECOND


class Connections:
    """
    The open connections of one listener. 0 is no limit, for both limits.
    """

    def __init__(self, *, limit: int, first_request_within_ns: int) -> None:
        self._limit = limit
        self._first_request_within_ns = first_request_within_ns
        self._deadlines: dict[asyncio.BaseTransport, asyncio.TimerHandle | None] = {}

    def __len__(self) -> int:
        return len(self._deadlines)

    def admit(self, transport: asyncio.BaseTransport) -> bool:
        """
        Take note of a new connection; False if there are too many.
        """
        if self._limit and len(self) >= self._limit:
            return False
        self._deadlines[transport] = self._start_deadline(transport)
        return True

    def _start_deadline(self, transport: asyncio.BaseTransport) -> asyncio.TimerHandle | None:
        if not self._first_request_within_ns:
            return None
        return asyncio.get_running_loop().call_later(self._first_request_within_ns / SECOND, transport.close)

    def request_began(self, transport: asyncio.BaseTransport | None) -> None:
        """
        The headers of a request are here.
        """
        if transport is not None and (deadline := self._deadlines.get(transport)) is not None:
            deadline.cancel()
            self._deadlines[transport] = None

    def forget(self, transport: asyncio.BaseTransport) -> None:
        if (deadline := self._deadlines.pop(transport, None)) is not None:
            deadline.cancel()


class GuardedConnection(asyncio.Protocol):
    """
    One connection: turned away at once if there are too many, else passed on to the protocol that *serve* makes.
    """

    def __init__(self, connections: Connections, serve: Callable[[], asyncio.Protocol]) -> None:
        self._connections = connections
        self._serve = serve
        self._inner: asyncio.Protocol | None = None
        self._transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if not self._connections.admit(transport):
            transport.close()
            return
        self._transport = transport
        self._inner = self._serve()
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if self._inner is not None:
            self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return None if self._inner is None else self._inner.eof_received()

    def pause_writing(self) -> None:
        if self._inner is not None:
            self._inner.pause_writing()

    def resume_writing(self) -> None:
        if self._inner is not None:
            self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._inner is not None and self._transport is not None:
            self._connections.forget(self._transport)
            self._inner.connection_lost(exc)
