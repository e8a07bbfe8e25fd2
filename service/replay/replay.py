"""
Replay: recorded files in, results out, in the order of the input whatever the number of processes.

Reading and scoring are the two passes of `partitions`; with more than one job both run in processes of their own, a
bounded number of steps ahead. Recorded data waits in a private temporary folder meanwhile. Only where sessions are
scored too is something held of every trace: the calls of those that belong to one. Sessions come after all traces.
"""

import heapq
import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol, TypeVar

from service.replay.partitions import PartitionFiles, partition_count, read_batches, take_apart
from service.replay.results import ReplayResult
from service.replay.scoring import RulesFactory, ScoredPartition, read_results, score_partition, score_sessions

AHEAD = 2
"""Steps that each process is ahead of what was taken from it."""

In = TypeVar("In")
Out = TypeVar("Out")


class Progress(Protocol):
    """
    Is told how far replay has come.
    """

    def read(self, size: int) -> None:
        """Bytes of the input files."""

    def scored(self, done: int, total: int) -> None:
        """Partitions."""


class NoProgress:
    def read(self, size: int) -> None: ...
    def scored(self, done: int, total: int) -> None: ...


NO_PROGRESS = NoProgress()


def replay(
    paths: Sequence[Path], make_rules: RulesFactory, *, jobs: int = 1, progress: Progress = NO_PROGRESS
) -> Iterator[ReplayResult]:
    """
    The results of all evaluations in the files at *paths*, read as one recording. Raises `UnreadableFile`.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="toolscore-replay-")))
        pool = stack.enter_context(_processes(jobs)) if jobs > 1 else None
        partitions = _partition(paths, folder, jobs, pool, progress)
        score = partial(score_partition, make_rules=make_rules)
        scored: list[ScoredPartition] = []
        for partition in run_in_order(pool, score, partitions, ahead=AHEAD * jobs):
            scored.append(partition)
            progress.scored(len(scored), len(partitions))
        results = (read_results(partition.path) for partition in scored)
        for _, closing in heapq.merge(*results, key=lambda placed: placed[0]):
            yield from closing
        yield from score_sessions((part for partition in scored for part in partition.parts), make_rules())


def _processes(jobs: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))


def _partition(
    paths: Sequence[Path], folder: Path, jobs: int, pool: ProcessPoolExecutor | None, progress: Progress
) -> Sequence[Path]:
    count = partition_count(paths, jobs)
    files = PartitionFiles(folder, count)
    try:
        take = partial(take_apart, count=count)
        for chunks in run_in_order(pool, take, read_batches(paths, progress.read), ahead=AHEAD * jobs):
            files.append(chunks)
    finally:
        filled = files.close()
    return filled


def run_in_order(
    pool: ProcessPoolExecutor | None, function: Callable[[In], Out], inputs: Iterable[In], *, ahead: int
) -> Iterator[Out]:
    """
    *function* of each input in order, at most *ahead* inputs being worked on; here, if there is no *pool*.
    """
    if pool is None:
        yield from map(function, inputs)
        return
    running: deque[Future[Out]] = deque()
    for each in inputs:
        running.append(pool.submit(function, each))
        if len(running) >= ahead:
            yield running.popleft().result()
    while running:
        yield running.popleft().result()
