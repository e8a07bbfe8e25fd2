"""
The demo that goes on: recorded runs again and again, each with fresh ids and as if it happened now, and the live page.

Good runs and bad ones in turn, at a gentle rate. Nothing but ids and times of a recording is changed.
"""

import asyncio
import secrets
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from service.app.demo import demo_service, recorded_runs, send
from service.clock import Clock, SystemClock
from service.durations import MILLISECOND

INTERVAL_S = 2.0
WHERE = "extensions::live_page"


async def run_live_demo(
    stop: asyncio.Event,
    ready: Callable[[int], None],
    *,
    endpoint: str,
    interval_s: float = INTERVAL_S,
    clock: Clock | None = None,
) -> None:
    """
    Serve the live page on *endpoint* and send runs until *stop* is set. *ready* is told the port of the page.

    Raises `ConfigError` if the endpoint cannot be bound.
    """
    clock = clock or SystemClock()
    runs = [[ExportTraceServiceRequest.FromString(request) for request in run] for run in recorded_runs()]
    async with demo_service(live_page=endpoint) as (app, _):
        started_ns = clock.now_ns()
        ready(app.pages.ports[WHERE])
        for run in cycle(runs):
            if await _is_set_within(stop, interval_s):
                return
            fresh = freshened(run, now_ns=clock.now_ns(), not_before_ns=started_ns)
            await send(fresh, app.receivers.grpc_ports[0])


async def _is_set_within(event: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False


def freshened(run: Sequence[ExportTraceServiceRequest], *, now_ns: int, not_before_ns: int) -> list[bytes]:
    """
    The requests of a run under new trace ids, moved in time so that it ends now, but not before the service began.

    Times move by whole milliseconds: what a clock cut to milliseconds stays so.
    """
    begin_ns = min(span.start_time_unix_nano for span in _spans(run))
    end_ns = max(max(span.end_time_unix_nano, span.start_time_unix_nano) for span in _spans(run))
    shift_ns = max(now_ns - end_ns, not_before_ns - begin_ns)
    shift_ns = -(-shift_ns // MILLISECOND) * MILLISECOND
    ids: dict[bytes, bytes] = {}
    return [_moved(request, shift_ns, ids).SerializeToString() for request in run]


def _spans(run: Sequence[ExportTraceServiceRequest]) -> Iterator[Span]:
    for request in run:
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                yield from scope.spans


def _moved(request: ExportTraceServiceRequest, shift_ns: int, ids: dict[bytes, bytes]) -> ExportTraceServiceRequest:
    copy = ExportTraceServiceRequest()
    copy.CopyFrom(request)
    for span in _spans([copy]):
        span.trace_id = ids.setdefault(span.trace_id, secrets.token_bytes(16))
        span.start_time_unix_nano += shift_ns
        if span.end_time_unix_nano:
            span.end_time_unix_nano += shift_ns
        for event in span.events:
            event.time_unix_nano += shift_ns
        for link in span.links:
            link.trace_id = ids.setdefault(link.trace_id, secrets.token_bytes(16))
    return copy
