"""
The service under lasting load while its next hop restarts and stands still: does memory stay flat, does all arrive?

The load is a share of what the service took in a short closed loop before. Runs for as long as it is told, by hand.
"""

import asyncio
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from bench.corpus import Corpus
from bench.load import Sent, send
from bench.paced import send_paced
from bench.services import Service, Subject
from bench.yardsticks import serve
from e2e.peers import free_port
from msgspec import Struct

from proto_adapters.split import OriginTable, read_ids, split_traces

if TYPE_CHECKING:
    import grpc.aio

SHARE = 0.7
CLOSED_LOOP_S = 15.0
FAULT_EVERY_S = 20.0
FAULT_S = 3.0
SAMPLE_EVERY_S = 1.0
DRAIN_WITHIN_S = 120.0
"""A request that failed waits up to 30 s for its next try; a trace whose root was not sent, for its timeout."""
MARK_SIZE = 4


class Arrivals:
    """
    Which spans came, by the pass that they belong to; a complete pass is remembered by its number alone.
    """

    def __init__(self, corpus: Corpus) -> None:
        self._wanted = corpus.span_count
        self._origins = OriginTable()
        self._open: dict[bytes, set[tuple[bytes, bytes]]] = {}
        self._complete: set[bytes] = set()
        self.repeated = 0

    @property
    def distinct(self) -> int:
        return len(self._complete) * self._wanted + sum(map(len, self._open.values()))

    def take(self, request: bytes) -> None:
        for _, spans in split_traces(request, self._origins).groups:
            for span in spans:
                ids = read_ids(span)
                assert ids is not None
                self._note(ids.trace_id, ids.span_id)

    def _note(self, trace_id: bytes, span_id: bytes) -> None:
        number = trace_id[-MARK_SIZE:]
        came = self._open.setdefault(number, set()) if number not in self._complete else None
        if came is None or (trace_id, span_id) in came:
            self.repeated += 1
            return
        came.add((trace_id, span_id))
        if len(came) == self._wanted:
            self._complete.add(number)
            del self._open[number]


class FaultySink:
    """
    A next hop that keeps account of what came, and can go away or stand still for a while.
    """

    def __init__(self, arrivals: Arrivals) -> None:
        self._arrivals = arrivals
        self._port = free_port()
        self._answers = asyncio.Event()
        self._answers.set()
        self._server: grpc.aio.Server | None = None
        self.target = f"127.0.0.1:{self._port}"

    async def start(self) -> None:
        self._server = await serve(self._take, self._port)

    async def stop(self) -> None:
        assert self._server is not None
        await self._server.stop(0)

    async def restart(self) -> None:
        await self.stop()
        try:
            await asyncio.sleep(FAULT_S)
        finally:
            await self.start()

    async def pause(self) -> None:
        self._answers.clear()
        try:
            await asyncio.sleep(FAULT_S)
        finally:
            self._answers.set()

    async def fail_in_turn(self) -> None:
        """
        Restart and pause by turns, until cancelled.
        """
        while True:
            for fault in (self.restart, self.pause):
                await asyncio.sleep(FAULT_EVERY_S - FAULT_S)
                await fault()

    async def _take(self, request: bytes, context: object) -> bytes:
        del context
        await self._answers.wait()
        self._arrivals.take(request)
        return b""


class Window(Struct, frozen=True):
    """
    What was sampled within one stretch of time.
    """

    minutes: float
    resident_bytes: list[int]
    spans: int
    retries: int

    def row(self) -> str:
        middle, most = median(self.resident_bytes) / 2**20, max(self.resident_bytes) / 2**20
        return f"| {self.minutes:.0f} | {middle:.0f} | {most:.0f} | {self.spans:,} | {self.retries} |"


HEAD = "| minutes | resident MiB, median | most | spans acknowledged | retries |\n| ---: | ---: | ---: | ---: | ---: |"


class Soak(Struct, frozen=True):
    """
    What a soak gave.
    """

    most_spans_per_second: float
    windows: list[Window]
    sent: int
    lost: int
    repeated: int

    @property
    def growth(self) -> float:
        """
        Median memory of the last window as a multiple of that of the second: the first is warming up.
        """
        medians = [median(window.resident_bytes) for window in self.windows]
        return medians[-1] / medians[min(1, len(medians) - 1)]

    def __str__(self) -> str:
        rates = f"{self.most_spans_per_second:,.0f} spans/s sustained, {SHARE:.0%} of it sent"
        account = f"sent {self.sent:,}, lost {self.lost}, repeated {self.repeated}, growth {self.growth:.2f}"
        return "\n".join([rates, HEAD, *(window.row() for window in self.windows), account])


def soak(
    corpus: Corpus, service: Service, *, minutes: float, window_s: float, tell: Callable[[str], None] = print
) -> Soak:
    """
    Load *service* for some *minutes*; each window is told when it ends.
    """
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_soak(corpus, service, Path(folder), seconds=minutes * 60, window_s=window_s, tell=tell))


async def _soak(
    corpus: Corpus, service: Service, directory: Path, *, seconds: float, window_s: float, tell: Callable[[str], None]
) -> Soak:
    arrivals = Arrivals(corpus)
    sink = FaultySink(arrivals)
    await sink.start()
    with service(directory, sink.target) as subject:
        closed = await send(subject.target, corpus, seconds=CLOSED_LOOP_S)
        most = closed.spans / closed.seconds
        tell(f"{most:,.0f} spans/s sustained")
        sent, windows = Sent(), list[Window]()
        beside = [
            asyncio.create_task(sink.fail_in_turn()),
            asyncio.create_task(_sample(subject, sent, windows, window_s, tell)),
        ]
        try:
            await send_paced(
                subject.target, corpus, spans_per_second=SHARE * most, seconds=seconds, first=1_000_000, sent=sent
            )
        finally:
            await _cancel(beside)
        total = closed.spans + sent.spans
        await _drained(arrivals, total)
    await sink.stop()
    return Soak(most, windows, total, total - arrivals.distinct, arrivals.repeated)


async def _sample(
    subject: Subject, sent: Sent, windows: list[Window], window_s: float, tell: Callable[[str], None]
) -> None:
    begun, spans, retries = time.perf_counter(), 0, 0
    while True:
        samples: list[int] = []
        ends = begun + (len(windows) + 1) * window_s
        try:
            while time.perf_counter() < ends:
                await asyncio.sleep(SAMPLE_EVERY_S)
                samples.append(subject.resident_bytes())
        finally:
            minutes = (time.perf_counter() - begun) / 60
            windows.append(Window(minutes, samples, sent.spans - spans, sent.retries - retries))
            tell(windows[-1].row())
        spans, retries = sent.spans, sent.retries


async def _cancel(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _drained(arrivals: Arrivals, wanted: int) -> None:
    """
    Wait until *wanted* spans came, or no more are to be expected.
    """
    deadline = time.perf_counter() + DRAIN_WITHIN_S
    while time.perf_counter() < deadline:
        if arrivals.distinct >= wanted:
            return
        await asyncio.sleep(0.5)
