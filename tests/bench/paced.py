"""
An open loop: requests leave at a fixed rate, whatever the receiver does, and wait for their turn when it is slow.

Latencies count from when a request was due, so that a receiver that stands still is charged for all that waited.
"""

import asyncio
import time
from collections.abc import Callable

import grpc.aio
from bench.corpus import Corpus, Template
from bench.load import Call, Sent, deliver, stamped_passes
from bench.yardsticks import EXPORT_TRACES, UNLIMITED

MOST_IN_FLIGHT = 64
OnLeaving = Callable[[Template, int, float], None]
"""Told of each request: its template, the number of its pass, when it was due."""


def ignore(template: Template, number: int, due: float) -> None:
    del template, number, due


async def send_paced(
    target: str,
    corpus: Corpus,
    *,
    spans_per_second: float,
    seconds: float,
    first: int = 1,
    sent: Sent | None = None,
    on_leaving: OnLeaving = ignore,
) -> Sent:
    """
    Send *corpus* again and again for some *seconds*; what is counted can be watched in *sent*.
    """
    sent = sent or Sent()
    room = asyncio.Semaphore(MOST_IN_FLIGHT)
    begun = due = time.perf_counter()
    async with grpc.aio.insecure_channel(target, options=UNLIMITED) as channel, asyncio.TaskGroup() as group:
        call = channel.unary_unary(EXPORT_TRACES, bytes, bytes)
        for template, number in stamped_passes(corpus, first):
            due += template.span_count / spans_per_second
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            await room.acquire()
            if time.perf_counter() > begun + seconds:
                break
            on_leaving(template, number, due)
            group.create_task(
                _deliver_one(call, template.stamped(number), template.span_count, sent=sent, room=room, due=due)
            )
    sent.seconds = time.perf_counter() - begun
    return sent


async def _deliver_one(
    call: Call, request: bytes, spans: int, *, sent: Sent, room: asyncio.Semaphore, due: float
) -> None:
    try:
        await deliver(call, request, sent)
    finally:
        room.release()
    sent.latencies_s.append(time.perf_counter() - due)
    sent.spans += spans
