"""
Drives an OTLP/gRPC receiver with a corpus, again and again under fresh trace ids.

Closed loop: a number of requests is always in flight, so what is measured is the most that the receiver takes.
"""

import asyncio
import time
from collections.abc import Iterator
from itertools import count

import grpc
import grpc.aio
from bench.corpus import Corpus, Template
from bench.yardsticks import EXPORT_TRACES, UNLIMITED
from msgspec import Struct

IN_FLIGHT = 8
Call = grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]
RETRIED = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED)


class Sent(Struct):
    """
    What was sent and acknowledged.
    """

    spans: int = 0
    requests: list[bytes] = []
    """Kept only if asked for."""
    retries: int = 0
    seconds: float = 0.0
    latencies_s: list[float] = []

    def latency_ms(self, share: float) -> float:
        """
        The latency that *share* of the requests did not exceed.
        """
        ordered = sorted(self.latencies_s)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1e3


async def send(
    target: str,
    corpus: Corpus,
    *,
    seconds: float | None = None,
    passes: int | None = None,
    first: int = 1,
    keep: bool = False,
) -> Sent:
    """
    Send *corpus* for some *seconds*, or *passes* times, numbering passes from *first* on.
    """
    sent = Sent()
    work = stamped_passes(corpus, first, passes)
    begun = time.perf_counter()
    deadline = None if seconds is None else begun + seconds
    async with grpc.aio.insecure_channel(target, options=UNLIMITED) as channel:
        call = channel.unary_unary(EXPORT_TRACES, bytes, bytes)
        await asyncio.gather(*(_worker(call, work, sent, deadline, keep=keep) for _ in range(IN_FLIGHT)))
    sent.seconds = time.perf_counter() - begun
    return sent


def stamped_passes(corpus: Corpus, first: int, passes: int | None = None) -> Iterator[tuple[Template, int]]:
    """
    The templates of one pass after another with the number of the pass; without end if *passes* is None.
    """
    numbers = count(first) if passes is None else range(first, first + passes)
    return ((template, number) for number in numbers for template in corpus.templates)


async def _worker(
    call: Call,
    work: Iterator[tuple[Template, int]],
    sent: Sent,
    deadline: float | None,
    *,
    keep: bool,
) -> None:
    for template, number in work:
        if deadline is not None and time.perf_counter() > deadline:
            return
        request = template.stamped(number)
        begun = time.perf_counter()
        await deliver(call, request, sent)
        sent.latencies_s.append(time.perf_counter() - begun)
        sent.spans += template.span_count
        if keep:
            sent.requests.append(request)


async def deliver(call: Call, request: bytes, sent: Sent) -> None:
    """
    Send until it is acknowledged, counting what was refused.
    """
    while True:
        try:
            await call(request, timeout=30)
        except grpc.aio.AioRpcError as error:
            if error.code() not in RETRIED:
                raise
            sent.retries += 1
            await asyncio.sleep(0.05)
        else:
            return


def wait_until_ready(target: str) -> None:
    """
    Wait until a gRPC server listens on *target*.
    """
    with grpc.insecure_channel(target, options=UNLIMITED) as channel:
        grpc.channel_ready_future(channel).result(60)
