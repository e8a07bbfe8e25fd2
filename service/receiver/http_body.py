"""
Reads the body of an HTTP request within its limits: length, time, encoding, expanded size.
"""

import asyncio
from collections.abc import AsyncIterator, Collection
from typing import Protocol

from aiohttp import hdrs, web
from aiohttp.http_exceptions import BadHttpMessage

from service.durations import SECOND
from service.errors import MalformedRequest, RequestTooLarge
from service.receiver.compression import expand
from service.receiver.status import RequestTimeout, Unsupported


class Room(Protocol):
    """
    Where the memory of a body is reserved.
    """

    def grow(self, size: int) -> None:
        """
        Reserve *size* bytes more. Raises `Refused`.
        """
        ...


class Uncounted:
    """
    Room for bodies that are small by their limit.
    """

    def grow(self, size: int) -> None:
        del size


UNCOUNTED = Uncounted()


class BodyReader:
    """
    The body of any request, without its encoding. Memory is reserved before it is used.
    """

    def __init__(self, *, limit: int, timeout_ns: int, encodings: Collection[str]) -> None:
        self._limit = limit
        self._timeout_ns = timeout_ns
        self._encodings = encodings

    async def read(self, request: web.Request, room: Room = UNCOUNTED) -> bytes:
        """
        Raises `RequestError` for what is too large, too slow, damaged, under an unknown encoding, or has no room.
        """
        encoding = self._encoding(request)
        if (request.content_length or 0) > self._limit:
            raise self._too_large()
        room.grow(request.content_length or 0)
        body = await self._collect(request, room)
        return await self._expand(encoding, body, room) if encoding else body

    def _encoding(self, request: web.Request) -> str:
        """Stacked encodings are not in the collection, so they are refused like unknown ones."""
        value = ",".join(request.headers.getall(hdrs.CONTENT_ENCODING, [])).strip().lower()
        encoding = "" if value == "identity" else value
        if encoding not in self._encodings:
            message = f"content encoding should be one of: {', '.join(filter(None, self._encodings)) or 'none'}"
            raise Unsupported(message, http_status=415)
        return encoding

    async def _collect(self, request: web.Request, room: Room) -> bytes:
        body = bytearray()
        try:
            async with asyncio.timeout(seconds_or_none(self._timeout_ns)):
                async for chunk in _chunks(request):
                    if request.content_length is None:
                        room.grow(len(chunk))
                    body += chunk
                    if len(body) > self._limit:
                        raise self._too_large()
        except TimeoutError as error:
            raise RequestTimeout("the body did not arrive in time") from error
        return bytes(body)

    async def _expand(self, encoding: str, body: bytes, room: Room) -> bytes:
        pieces = []
        for piece in expand(encoding, body, self._limit):
            room.grow(len(piece))
            pieces.append(piece)
            await asyncio.sleep(0)  # a large body must not hold up the others
        return b"".join(pieces)

    def _too_large(self) -> RequestTooLarge:
        return RequestTooLarge(f"the body is larger than {self._limit} bytes")


async def _chunks(request: web.Request) -> AsyncIterator[bytes]:
    try:
        async for chunk in request.content.iter_any():
            yield chunk
    except (ConnectionError, BadHttpMessage, web.RequestPayloadError) as error:
        raise MalformedRequest("the body is incomplete") from error


def seconds_or_none(duration_ns: int) -> float | None:
    """
    For `asyncio.timeout`, where None is no limit.
    """
    return duration_ns / SECOND if duration_ns else None
