"""
The thread that writes the journal: what it says is durable is on disk, and a full disk refuses and never loses.
"""

import asyncio
import shutil
from pathlib import Path

import pytest
from doubles import ManualClock
from full_disk import a_full_disk

from service.journal.records import StoredRequest
from service.journal.statements import set_level
from service.journal.store import Fsync, JournalStore
from service.journal.writer import JournalWriteFailed, JournalWriter
from service.pipeline import Signal
from service.telemetry.recorder import NullRecorder


class SyncRecorder(NullRecorder):
    """
    Keeps how many requests each transaction made durable.
    """

    def __init__(self) -> None:
        self.groups: list[int] = []

    def journal_appended(self, requests: int, size: int) -> None:
        self.groups.append(requests)


def a_request(seq: int, size: int = 100) -> StoredRequest:
    return StoredRequest(seq, Signal.TRACES, 0, 1, bytes(size))


def a_writer(directory: Path, fsync: Fsync = Fsync.NEVER, recorder: NullRecorder | None = None) -> JournalWriter:
    return JournalWriter(JournalStore(directory, fsync), fsync, recorder or NullRecorder(), ManualClock())


def on_disk(directory: Path, copy: Path) -> tuple[list[int], dict[str, int]]:
    """
    What another process would find if this one were killed now.
    """
    shutil.copytree(directory, copy)
    store = JournalStore(copy, Fsync.NEVER)
    try:
        return [request.seq for request in store.requests(0, 1_000)], store.contents().levels
    finally:
        store.close()


@pytest.mark.parametrize("fsync", Fsync)
async def test_a_request_is_on_disk_when_it_is_acknowledged(tmp_path: Path, fsync: Fsync) -> None:
    writer = a_writer(tmp_path / "journal", fsync)
    writer.start()

    await writer.append(a_request(1))

    assert [1] == on_disk(tmp_path / "journal", tmp_path / "copy")[0]
    writer.close()


@pytest.mark.parametrize(("fsync", "expected"), [(Fsync.BATCH, [8]), (Fsync.ALWAYS, [1] * 8)], ids=["batch", "always"])
async def test_what_waits_is_one_transaction_unless_each_is_asked_for(
    tmp_path: Path, fsync: Fsync, expected: list[int]
) -> None:
    recorder = SyncRecorder()
    writer = a_writer(tmp_path, fsync, recorder)
    appending = [asyncio.create_task(writer.append(a_request(seq))) for seq in range(1, 9)]
    await asyncio.sleep(0)

    # All of them wait by now.
    writer.start()
    await asyncio.gather(*appending)

    assert expected == recorder.groups
    writer.close()


async def test_a_position_is_passed_when_it_is_on_disk(tmp_path: Path) -> None:
    writer = a_writer(tmp_path / "journal")
    position = writer.put(set_level("alive", 7))
    assert not writer.has_passed(position)

    writer.start()
    await writer.flush()

    assert writer.has_passed(position)
    assert {"alive": 7} == on_disk(tmp_path / "journal", tmp_path / "copy")[1]
    writer.close()


async def test_a_full_disk_refuses_requests_and_keeps_the_rest_for_later(tmp_path: Path) -> None:
    writer = a_writer(tmp_path / "journal")
    writer.start()
    await writer.append(a_request(1))

    with a_full_disk():
        position = writer.put(set_level("alive", 7))
        with pytest.raises(JournalWriteFailed):
            await writer.append(a_request(2, size=1_000_000))
        await writer.flush()
        assert writer.has_passed(position), "what was taken may leave"
    assert ([1], {}) == on_disk(tmp_path / "journal", tmp_path / "full")

    await writer.append(a_request(3))
    assert ([1, 3], {"alive": 7}) == on_disk(tmp_path / "journal", tmp_path / "copy")
    writer.close()


async def test_what_could_not_be_written_is_tried_again_by_itself(tmp_path: Path) -> None:
    writer = a_writer(tmp_path / "journal")
    writer.start()
    with a_full_disk():
        writer.put(set_level("alive", 7))
        await writer.flush()

    await asyncio.sleep(1.1)  # the pause of the thread, which no clock of ours moves
    await writer.flush()

    assert {"alive": 7} == on_disk(tmp_path / "journal", tmp_path / "copy")[1]
    writer.close()


async def test_what_waits_is_written_at_the_end(tmp_path: Path) -> None:
    writer = a_writer(tmp_path)
    writer.start()
    writer.put(set_level("alive", 8))
    writer.close()

    store = JournalStore(tmp_path, Fsync.NEVER)
    assert {"alive": 8} == store.contents().levels
    store.close()


async def test_a_fault_of_a_call_is_told_to_its_caller(tmp_path: Path) -> None:
    writer = a_writer(tmp_path)
    writer.start()

    with pytest.raises(ZeroDivisionError):
        await writer.call(lambda: 1 // 0)

    assert 2 == await writer.call(lambda: 2)
    writer.close()
