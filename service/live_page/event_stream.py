"""
Server-sent events: the rows of new occurrences, as one browser asked for them.

A stream ends after a while, so that who is let in is checked again; browsers reconnect by themselves.
"""

import asyncio
from collections.abc import Callable, Sequence
from time import monotonic

import msgspec
from aiohttp import hdrs, web
from msgspec import Struct

from service.live_page.feed import Feed, Watcher
from service.live_page.filters import Filter
from service.live_page.record import Summary

RETRY_MS = 2_000


class StreamLimits(Struct, frozen=True):
    """
    The pace of a stream; times in seconds, as `asyncio` takes them.
    """

    batch_s: float = 0.25
    max_rows: int = 50
    """Rows of one batch: nobody reads more in a quarter of a second."""
    heartbeat_s: float = 15.0
    write_timeout_s: float = 10.0
    max_stream_s: float = 600.0


async def stream_runs(
    request: web.Request, feed: Feed, chosen: Filter, row: Callable[[Summary], str], limits: StreamLimits
) -> web.StreamResponse:
    """
    Send rows until the browser goes, reads too slowly, or the time is up.
    """
    if feed.is_full:
        raise web.HTTPServiceUnavailable(text="too many browsers watch", headers={hdrs.RETRY_AFTER: "30"})
    response = web.StreamResponse(headers={hdrs.CONTENT_TYPE: "text/event-stream; charset=utf-8"})
    with feed.watch() as watcher:
        await response.prepare(request)
        try:
            await _write(response, f"retry: {RETRY_MS}\n\n", limits)
            await _follow(response, watcher, chosen, row, limits)
        except (TimeoutError, ConnectionError):
            if request.transport is not None:
                request.transport.abort()
    return response


async def _follow(
    response: web.StreamResponse,
    watcher: Watcher,
    chosen: Filter,
    row: Callable[[Summary], str],
    limits: StreamLimits,
) -> None:
    begin_s = written_s = monotonic()
    while not watcher.has_ended and monotonic() - begin_s < limits.max_stream_s:
        await watcher.wait(limits.batch_s)
        fitting = [summary for summary in watcher.take() if chosen.lets_through(summary)]
        if fitting:
            await _write(response, await asyncio.to_thread(_event, fitting[-limits.max_rows :], row), limits)
        elif monotonic() - written_s < limits.heartbeat_s:
            continue
        else:
            await _write(response, ":\n\n", limits)
        written_s = monotonic()


def _event(summaries: Sequence[Summary], row: Callable[[Summary], str]) -> str:
    runs = [{"token": summary.token, "html": row(summary)} for summary in summaries]
    return f"event: runs\ndata: {msgspec.json.encode(runs).decode()}\n\n"


async def _write(response: web.StreamResponse, text: str, limits: StreamLimits) -> None:
    async with asyncio.timeout(limits.write_timeout_s):
        await response.write(text.encode())
