"""
`toolscore replay` on files of different sizes: spans per second, and memory that does not follow the size.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from bench.agent_traffic import EXPECTED_TOOLS
from bench.corpus import Corpus
from msgspec import Struct

LENGTH_SIZE = 4
SAMPLE_EVERY_S = 0.02
MIB = 2**20


class Replayed(Struct, frozen=True):
    """
    One replay of one file.
    """

    size: int
    spans: int
    jobs: int
    seconds: float
    peak_bytes: int
    """The most that all its processes had at one time."""

    def __str__(self) -> str:
        rate = f"{self.spans / self.seconds:,.0f}"
        return (
            f"| {self.size / MIB:,.0f} | {self.spans:,} | {self.jobs} | {self.seconds:.1f} | {rate} "
            f"| {self.peak_bytes / MIB:.0f} |"
        )


HEAD = "| MiB | spans | jobs | seconds | spans/s | peak MiB |\n| ---: | ---: | ---: | ---: | ---: | ---: |"


def measure(corpus: Corpus, sizes: list[int], jobs: list[int]) -> Iterator[Replayed]:
    """
    Replay a file of each of *sizes* bytes with each number of *jobs*.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "recorded.binpb"
        for size in sizes:
            spans = _write(file, corpus, size)
            for number in jobs:
                yield _replay(file, spans, number)


def _write(file: Path, corpus: Corpus, size: int) -> int:
    """
    Passes of *corpus* until the file has *size* bytes; gives the number of spans.
    """
    with file.open("wb") as output:
        for number in count(1):
            for request in corpus.requests(number):
                output.write(len(request).to_bytes(LENGTH_SIZE, "big") + request)
            if output.tell() >= size:
                return number * corpus.span_count
    raise AssertionError


def _replay(file: Path, spans: int, jobs: int) -> Replayed:
    options = ["--expect", ",".join(EXPECTED_TOOLS), "--json", "--jobs", str(jobs)]
    command = [sys.executable, "-m", "service", "replay", *options, str(file)]
    begun, peak = time.perf_counter(), 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            peak = max(peak, sum(map(_resident_bytes, _family(process.pid))))
            time.sleep(SAMPLE_EVERY_S)
    assert process.returncode == 0
    return Replayed(file.stat().st_size, spans, jobs, time.perf_counter() - begun, peak)


def _family(pid: int) -> Iterator[int]:
    """
    A process and all that it started.
    """
    yield pid
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return
    for child in children:
        yield from _family(int(child))


def _resident_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:")), 0)
