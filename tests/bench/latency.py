"""
How long a sender waits for its acknowledgement, and how long a verdict takes, at a part of the full load.

An open loop sends to every service in turn at the same rate, a share of what toolscore took in a closed loop of the
same run. A verdict counts from when the request with the last span of a trace was due, to when its root arrives at the
next hop with the score on it, less the delay that is configured.
"""

import asyncio
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from bench.corpus import Corpus, Template
from bench.load import send
from bench.paced import send_paced
from bench.services import DELAY_S, Service, Subject
from bench.yardsticks import serve
from e2e.peers import free_port
from msgspec import Struct

from proto_adapters.split import OriginTable, read_ids, split_traces

SHARE = 0.4
CLOSED_LOOP_S = 5.0
WARM_UP_S = 2.0
SETTLING_S = 2.0


class Latency(Struct, frozen=True):
    """
    One measurement of one service, in milliseconds; no verdicts if it gives none.
    """

    acknowledged: list[float]
    verdicts: list[float]


class Latencies(Struct, frozen=True):
    """
    All rounds of all services at one rate.
    """

    spans_per_second: float
    rounds: list[dict[str, Latency]]

    def report(self, base: str) -> str:
        """
        A Markdown table with ratios to *base*.
        """
        head = ["service", "ack p50 ms", "ack p99 ms", f"p99 x {base}", "verdict p50 ms", "verdict p99 ms"]
        lines = [f"{self.spans_per_second:,.0f} spans/s, {len(self.rounds)} rounds, median [least-most]", ""]
        lines += ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
        lines += ["| " + " | ".join([name, *self._cells(name, base)]) + " |" for name in self.rounds[0]]
        return "\n".join(lines)

    def _cells(self, name: str, base: str) -> list[str]:
        own, bases = [each[name] for each in self.rounds], [each[base] for each in self.rounds]
        p99 = [share_of(each.acknowledged, 0.99) for each in own]
        ratios = [value / share_of(other.acknowledged, 0.99) for value, other in zip(p99, bases, strict=True)]
        cells = [_spread([share_of(each.acknowledged, 0.5) for each in own]), _spread(p99), _spread(ratios)]
        for share in (0.5, 0.99):
            values = [share_of(each.verdicts, share) for each in own if each.verdicts]
            cells.append(_spread(values) if values else "")
        return cells


def share_of(values: Sequence[float], share: float) -> float:
    """
    The value that *share* of *values* do not exceed.
    """
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def _spread(values: Sequence[float]) -> str:
    return f"{median(values):.1f} [{min(values):.1f}-{max(values):.1f}]"


def measure(corpus: Corpus, services: Mapping[str, Service], *, rated: str, rounds: int, seconds: float) -> Latencies:
    """
    Measure *services* in turn at a share of the load that the service *rated* carries.
    """
    with tempfile.TemporaryDirectory() as folder:
        rate = SHARE * _most(services[rated], corpus, Path(folder) / "rated")
        measured = [
            {
                name: _measure_one(service, corpus, Path(folder) / f"{number}-{place}", rate, seconds)
                for place, (name, service) in enumerate(services.items())
            }
            for number in range(rounds)
        ]
    return Latencies(rate, measured)


class Arrivals:
    """
    A next hop that only notes what came when; it is read afterwards, so as not to disturb the sender beside it.
    """

    def __init__(self) -> None:
        self.requests: list[tuple[float, bytes]] = []

    async def take(self, request: bytes, context: object) -> bytes:
        del context
        self.requests.append((time.perf_counter(), request))
        return b""


class Departures:
    """
    When the request that holds the root of each trace was due.
    """

    def __init__(self, corpus: Corpus) -> None:
        self._roots = {template: list(roots_in(template.stamped(0))) for template in corpus.templates}
        self.due: dict[bytes, float] = {}

    def note(self, template: Template, number: int, due: float) -> None:
        mark = number.to_bytes(4, "big")
        for trace_id in self._roots[template]:
            self.due[trace_id[:-4] + mark] = due


def roots_in(request: bytes) -> list[bytes]:
    """
    The ids of the traces whose roots *request* holds.
    """
    spans = (span for _, items in split_traces(request, OriginTable()).groups for span in items)
    return [ids.trace_id for ids in map(read_ids, spans) if ids is not None and ids.parent_span_id is None]


def _most(service: Service, corpus: Corpus, directory: Path) -> float:
    directory.mkdir()
    return asyncio.run(_closed_loop(service, corpus, directory))


async def _closed_loop(service: Service, corpus: Corpus, directory: Path) -> float:
    port = free_port()
    sink = await serve(Arrivals().take, port)
    with service(directory, f"127.0.0.1:{port}") as subject:
        sent = await send(subject.target, corpus, seconds=CLOSED_LOOP_S)
    await sink.stop(1)
    return sent.spans / sent.seconds


def _measure_one(service: Service, corpus: Corpus, directory: Path, rate: float, seconds: float) -> Latency:
    directory.mkdir()
    return asyncio.run(_open_loop(service, corpus, directory, rate, seconds))


async def _open_loop(service: Service, corpus: Corpus, directory: Path, rate: float, seconds: float) -> Latency:
    arrivals, departures, port = Arrivals(), Departures(corpus), free_port()
    sink = await serve(arrivals.take, port)
    with service(directory, f"127.0.0.1:{port}") as subject:
        await _warm_up(subject, corpus, rate)
        arrivals.requests.clear()
        sent = await send_paced(
            subject.target,
            corpus,
            spans_per_second=rate,
            seconds=seconds,
            first=1_000_000,
            on_leaving=departures.note,
        )
        await asyncio.sleep(SETTLING_S)
    await sink.stop(1)
    came = {trace_id: at for at, request in arrivals.requests for trace_id in roots_in(request)}
    waits = [at - departures.due[trace_id] - DELAY_S for trace_id, at in came.items() if trace_id in departures.due]
    return Latency([1e3 * each for each in sent.latencies_s], [1e3 * each for each in waits])


async def _warm_up(subject: Subject, corpus: Corpus, rate: float) -> None:
    await send_paced(subject.target, corpus, spans_per_second=rate, seconds=WARM_UP_S)
    await asyncio.sleep(SETTLING_S)
