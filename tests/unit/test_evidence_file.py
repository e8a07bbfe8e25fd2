"""
The evidence file: whole lines, in order, whatever happens to the disk; what cannot be written is counted.
"""

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from doubles import ManualClock, eventually
from processing import Processing
from wire_spans import agent, tool

from service.app.evidence import kept_facts
from service.errors import ConfigError
from service.evidence_store.documents import LINE_START, decode_document
from service.evidence_store.evidence_file import AppendedFile, EvidenceFile
from service.processor.outputs import Scored
from service.telemetry.otel_recorder import OtelRecorder

FULL = Path("/dev/full")


async def closings(count: int = 3) -> list[Scored]:
    processing = Processing()
    for number in range(count):
        trace = bytes([number + 1]) * 16
        await processing.send(tool("a", trace=trace), agent(trace=trace))
    await processing.after(5)
    return processing.closings


class Stored:
    """
    An evidence file with what was counted of it.
    """

    def __init__(self, file: Path | AppendedFile, **settings: int) -> None:
        self.recorder = OtelRecorder(ManualClock())
        appended = file if isinstance(file, AppendedFile) else AppendedFile(file)
        self.file = EvidenceFile(appended, kept_facts(Processing().block), self.recorder, annotations={}, **settings)

    def counted(self) -> dict[object, float]:
        return {
            (point.attributes or {})["outcome"]: point.value  # type: ignore[union-attr]
            for resource in self.recorder.collect().resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == "toolscore.evidence.documents"
            for point in metric.data.data_points
        }


async def test_every_closing_is_a_line_in_order(tmp_path: Path) -> None:
    path = tmp_path / "evidence.jsonl"
    stored = Stored(path)
    await stored.file.start()

    for closing in await closings():
        stored.file.scored(closing)
    await stored.file.close()

    documents = [decode_document(line) for line in path.read_bytes().splitlines()]
    assert [f"{number:02}" * 16 for number in (1, 2, 3)] == [document.occurrence for document in documents]
    assert {"success": 3} == stored.counted()


async def test_a_file_that_was_moved_away_is_followed_by_a_new_one(tmp_path: Path) -> None:
    path, moved = tmp_path / "evidence.jsonl", tmp_path / "evidence.1.jsonl"
    file = AppendedFile(path)
    file.open()
    assert 1 == file.append([b"one\n"])

    path.rename(moved)
    assert 1 == file.append([b"two\n"])
    file.close()

    assert (b"one\n", b"two\n") == (moved.read_bytes(), path.read_bytes())


@pytest.mark.skipif(not FULL.exists(), reason="needs a device that is always full")
async def test_a_full_disk_loses_documents_and_nothing_else() -> None:
    stored = Stored(FULL)
    await stored.file.start()

    for closing in await closings():
        stored.file.scored(closing)
    await stored.file.close()

    assert {"failure": 3} == stored.counted()


class SlowFile(AppendedFile):
    """
    A file on a disk that waits to be told.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.is_writing, self.may_write = threading.Event(), threading.Event()

    def append(self, lines: Sequence[bytes]) -> int:
        self.is_writing.set()
        assert self.may_write.wait(10)
        return super().append(lines)


async def test_what_comes_during_a_write_is_written_next(tmp_path: Path) -> None:
    """
    Nothing else has to come for it.
    """
    file = SlowFile(tmp_path / "evidence.jsonl")
    stored = Stored(file)
    await stored.file.start()
    first, second = await closings(2)
    stored.file.scored(first)
    await asyncio.to_thread(file.is_writing.wait)

    stored.file.scored(second)
    file.may_write.set()

    await eventually(lambda: stored.counted() == {"success": 2})
    await stored.file.close()


async def test_what_waits_is_bounded(tmp_path: Path) -> None:
    stored = Stored(tmp_path / "evidence.jsonl", max_waiting_bytes=3_000)

    for closing in await closings(9):
        stored.file.scored(closing)
    lost = stored.counted()["failure"]
    await stored.file.start()
    await stored.file.close()

    assert 0 < lost < 9
    assert {"failure": lost, "success": 9 - lost} == stored.counted()


def test_the_beginning_of_a_line_that_did_not_fit_is_cut_off(tmp_path: Path) -> None:
    """
    A disk that fills up in the middle of a batch keeps the whole lines of it.
    """
    path = tmp_path / "evidence.jsonl"
    file = LimitedFile(path, limit=12)
    file.open()

    assert 2 == file.append([b"one\n", b"two\n", b"three\n"])
    file.close()

    assert b"one\ntwo\n" == path.read_bytes()


class LimitedFile(AppendedFile):
    """
    A file on a disk that takes *limit* bytes.
    """

    def __init__(self, path: Path, *, limit: int) -> None:
        super().__init__(path)
        self._limit = limit

    def _write(self, descriptor: int, data: bytes) -> int:
        return super()._write(descriptor, data[: self._limit])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"whole\n" + LINE_START + b',"cut', b"whole\nnew\n"),
        (LINE_START + b"x" * 200_000, b"new\n"),
        (b"whole\n", b"whole\nnew\n"),
        (b"of somebody else", b"of somebody else\nnew\n"),
        (b"", b"new\n"),
    ],
    ids=["a line cut by a crash", "a long one", "whole", "not ours", "empty"],
)
def test_new_lines_begin_on_their_own(before: bytes, after: bytes, tmp_path: Path) -> None:
    path = tmp_path / "evidence.jsonl"
    path.write_bytes(before)
    file = AppendedFile(path)

    file.append([b"new\n"])
    file.close()

    assert after == path.read_bytes()


async def test_a_path_that_cannot_be_opened_ends_the_start(tmp_path: Path) -> None:
    stored = Stored(tmp_path / "absent" / "evidence.jsonl")

    with pytest.raises(ConfigError, match="evidence::file"):
        await stored.file.start()


async def test_scoring_does_not_wait_for_the_disk(tmp_path: Path) -> None:
    """
    `scored` returns before anything is written.
    """
    path = tmp_path / "evidence.jsonl"
    stored = Stored(path)
    await stored.file.start()
    (closing,) = await closings(1)

    stored.file.scored(closing)

    assert 0 == path.stat().st_size
    await stored.file.close()
    assert path.stat().st_size
