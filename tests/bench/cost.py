"""
What services cost, side by side: CPU seconds per span as ratios within one run, with median and spread.

In each round every service gets the same traffic in turn, for as long as the others, and sends to the same sink. Only
ratios within a round mean something: the machine may be busy with other things, and is busier in one round than in the
next. Nothing here fails for being slow.
"""

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from bench.corpus import Corpus
from bench.load import send
from bench.services import Service, Subject, yardstick
from bench.yardsticks import Yardstick
from msgspec import Struct

NOWHERE = "127.0.0.1:1"
WARM_UP_S = 1.0
SETTLING_S = 1.5
"""The longest that anything waits before it leaves: the delay of a decision and that of a batch."""


class Cost(Struct, frozen=True):
    """
    One measurement of one service.
    """

    cpu_us_per_span: float
    spans_per_second: float
    peak_bytes: int


class Costs(Struct, frozen=True):
    """
    All rounds of all services for one corpus.
    """

    corpus: Corpus
    rounds: list[dict[str, Cost]]

    def ratios(self, service: str, base: str) -> list[float]:
        """
        What *service* cost in each round, as multiples of *base*.
        """
        return [costs[service].cpu_us_per_span / costs[base].cpu_us_per_span for costs in self.rounds]

    def each(self, service: str) -> list[Cost]:
        return [costs[service] for costs in self.rounds]


def measure(corpus: Corpus, services: Mapping[str, Service], *, rounds: int, seconds: float) -> Costs:
    """
    Measure *services* in turn, *rounds* times over.
    """
    with tempfile.TemporaryDirectory() as folder, yardstick(Yardstick.NULL)(Path(folder), NOWHERE) as sink:
        measured = [
            {
                name: _measure_one(service, corpus, sink, Path(folder) / f"{number}-{place}", seconds)
                for place, (name, service) in enumerate(services.items())
            }
            for number in range(rounds)
        ]
    return Costs(corpus, measured)


def _measure_one(service: Service, corpus: Corpus, sink: Subject, directory: Path, seconds: float) -> Cost:
    directory.mkdir()
    with service(directory, sink.target) as subject:
        return asyncio.run(_load(subject, corpus, seconds))


async def _load(subject: Subject, corpus: Corpus, seconds: float) -> Cost:
    await send(subject.target, corpus, seconds=WARM_UP_S, first=1)
    await asyncio.sleep(SETTLING_S)
    before = subject.cpu_seconds()
    sent = await send(subject.target, corpus, seconds=seconds, first=1_000_000)
    await asyncio.sleep(SETTLING_S)
    cpu = subject.cpu_seconds() - before
    return Cost(cpu / sent.spans * 1e6, sent.spans / sent.seconds, subject.peak_bytes())


def report(costs: Costs, bases: Sequence[str]) -> str:
    """
    The measurements as a Markdown table.
    """
    head = ["service", "CPU s per 100,000 spans", *(f"x {base}" for base in bases), "peak MiB"]
    lines = [f"**{costs.corpus.name}**, {len(costs.rounds)} rounds, median [least-most]", ""]
    lines += ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    for name in costs.rounds[0]:
        cells = [_spread([cost.cpu_us_per_span / 10 for cost in costs.each(name)])]
        cells += [_spread(costs.ratios(name, base)) for base in bases]
        cells.append(f"{median(cost.peak_bytes for cost in costs.each(name)) / 2**20:.0f}")
        lines.append("| " + " | ".join([name, *cells]) + " |")
    return "\n".join(lines) + "\n"


def _spread(values: Sequence[float]) -> str:
    return f"{median(values):.2f} [{min(values):.2f}-{max(values):.2f}]"
