"""
The file of the journal: what is written comes back, and damage costs only what it hit.
"""

import shutil
from pathlib import Path

import pytest

from service.evidence import Trigger
from service.journal.records import Release, SpanPart, StoredDecision, StoredRequest, TraceState
from service.journal.statements import (
    PAGE_SIZE,
    add_decision,
    add_done,
    add_release,
    add_request,
    put_trace,
    remove_done,
    remove_release,
    remove_request,
    set_level,
    settle_release,
)
from service.journal.store import FILE, MIN_FREE_BYTES, Fsync, JournalStore, JournalUnusable, StoredRelease
from service.pipeline import Signal

STATE = TraceState(trace_id=b"t" * 16, through=3, first_ns=1, last_ns=2, opened_ns=1, span_count=4, byte_count=5)
RELEASE = Release(trace=1, through=3, spans=[SpanPart(b"d" * 16, b"root", {"toolscore.trigger": "root_span"})])
DECISION = StoredDecision(b"u" * 16, Trigger.ROOT_SPAN, {"toolscore.coverage": "complete"})


def a_request(seq: int, payload: bytes = b"payload") -> StoredRequest:
    return StoredRequest(seq, Signal.TRACES, 10 * seq, 2, payload)


def opened(directory: Path, fsync: Fsync = Fsync.NEVER) -> JournalStore:
    return JournalStore(directory, fsync)


def written(directory: Path, *payloads: bytes, settle: bool = True) -> None:
    """
    A journal with one request for each payload; unless *settle*, they stand in the write-ahead log only.
    """
    store = opened(directory)
    for seq, payload in enumerate(payloads, start=1):
        store.apply([add_request(a_request(seq, payload))])
    if settle:
        store.close()
        return
    shutil.copytree(directory, directory.with_name("crashed"))
    store.close()


def payloads_of(store: JournalStore) -> list[bytes]:
    found: list[bytes] = []
    after = 0
    while batch := store.requests(after, 1_000):
        found += [request.payload for request in batch]
        after = batch[-1].seq
    return found


def test_everything_comes_back_as_it_was_written(tmp_path: Path) -> None:
    store = opened(tmp_path)
    requests = [a_request(1), a_request(2)]
    statements = [add_request(request) for request in requests]
    statements += [put_trace(1, STATE), add_release(1, RELEASE), add_release(2, RELEASE), settle_release(2)]
    store.apply([*statements, add_decision(1, DECISION), add_done(1, b"t"), set_level("alive", 7)])
    store.close()

    again = opened(tmp_path)
    contents = again.contents()

    assert requests == again.requests(0, 1_000)
    assert {1: STATE} == contents.traces
    assert {1: StoredRelease(RELEASE, is_settled=False), 2: StoredRelease(RELEASE, is_settled=True)} == (
        contents.releases
    )
    assert ({1: DECISION}, {(1, b"t")}, {"alive": 7}, STATE.through, 0) == (
        contents.decisions,
        contents.done,
        contents.levels,
        contents.last_seq,
        again.damaged,
    )
    again.close()


@pytest.mark.parametrize(("fsync", "level"), [(Fsync.BATCH, 2), (Fsync.ALWAYS, 2), (Fsync.NEVER, 0)])
def test_a_commit_is_synced_unless_the_operating_system_may_decide(tmp_path: Path, fsync: Fsync, level: int) -> None:
    store = opened(tmp_path, fsync)

    assert (level,) == store._connection.execute("PRAGMA synchronous").fetchone()
    assert ("wal",) == store._connection.execute("PRAGMA journal_mode").fetchone()
    store.close()


def test_nobody_else_may_read_it(tmp_path: Path) -> None:
    store = opened(tmp_path / "journal")
    store.apply([add_request(a_request(1))])

    assert {0o700, 0o600} == {
        path.stat().st_mode & 0o777 for path in [tmp_path / "journal", *(tmp_path / "journal").iterdir()]
    }
    store.close()


def test_what_is_removed_is_gone(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.apply([add_request(a_request(1)), add_done(1, b"t"), add_release(1, RELEASE)])
    store.apply([remove_request(1), remove_done(1), remove_release(1)])

    contents = store.contents()

    assert ([], {}, set(), 0) == (store.requests(0, 1_000), contents.releases, contents.done, contents.last_seq)
    store.close()


def test_requests_are_read_a_few_mebibytes_at_a_time(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.apply([add_request(a_request(seq, bytes(3 * 1024 * 1024))) for seq in (1, 2, 3)])

    assert [1, 2] == [request.seq for request in store.requests(0, 1_000)]
    assert [3] == [request.seq for request in store.requests(2, 1_000)]
    store.close()


def test_a_transaction_that_fails_leaves_nothing(tmp_path: Path) -> None:
    store = opened(tmp_path)

    with pytest.raises(Exception, match="UNIQUE"):
        store.apply([add_request(a_request(1)), add_request(a_request(1))])

    assert [] == store.requests(0, 1_000)
    store.close()


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    store = opened(tmp_path)

    with pytest.raises(JournalUnusable, match="another process uses it"):
        opened(tmp_path)

    store.close()
    opened(tmp_path).close()


def test_a_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(JournalUnusable):
        opened(tmp_path / "file" / "journal")


def test_a_torn_tail_costs_only_what_was_never_acknowledged(tmp_path: Path) -> None:
    directory = tmp_path / "journal"
    written(directory, b"one", b"two", b"three" * 10_000, settle=False)
    log = tmp_path / "crashed" / (FILE + "-wal")
    with log.open("r+b") as file:
        file.truncate(log.stat().st_size - PAGE_SIZE)

    store = opened(tmp_path / "crashed")

    assert ([b"one", b"two"], 0) == (payloads_of(store), store.damaged)
    store.close()


def test_a_damaged_log_costs_what_comes_behind_and_is_reported(tmp_path: Path) -> None:
    written(tmp_path / "journal", *(b"%d" % number * 20_000 for number in range(6)), settle=False)
    log = tmp_path / "crashed" / (FILE + "-wal")
    damage(log, at=log.read_bytes().index(b"3" * 1_000) + 10)

    store = opened(tmp_path / "crashed")

    assert [b"0" * 20_000, b"1" * 20_000, b"2" * 20_000] == payloads_of(store)
    assert 3 == store.damaged
    store.close()


def damage(file: Path, *, at: int, size: int = 1) -> None:
    with file.open("r+b") as opened_file:
        opened_file.seek(at)
        opened_file.write(b"\xff" * size)


def test_a_damaged_request_costs_itself(tmp_path: Path) -> None:
    written(tmp_path, b"one" * 100, b"two" * 100, b"three" * 100)
    damage(tmp_path / FILE, at=(tmp_path / FILE).read_bytes().index(b"two" * 100) + 7)

    store = opened(tmp_path)

    assert [b"one" * 100, b"three" * 100] == payloads_of(store)
    assert (1, 2) == (store.damaged, store.lost_items)
    store.close()
    again = opened(tmp_path)
    assert 0 == again.damaged, "reported once"
    again.close()


def test_damaged_pages_cost_the_records_on_them(tmp_path: Path) -> None:
    payloads = [b"%03d" % number * 2_000 for number in range(60)]
    written(tmp_path, *payloads)
    content = (tmp_path / FILE).read_bytes()
    page = content.index(b"030" * 1_000) // PAGE_SIZE
    damage(tmp_path / FILE, at=page * PAGE_SIZE, size=PAGE_SIZE)

    store = opened(tmp_path)
    left = payloads_of(store)

    assert set(left) < set(payloads)
    assert len(payloads) - len(left) <= 4
    assert store.damaged
    store.apply([add_request(a_request(100, b"after"))])
    store.close()
    assert (tmp_path / (FILE + ".damaged")).exists()


@pytest.mark.parametrize("content", [b"no database" * 10_000, b"\x00" * 100_000], ids=["garbage", "zeros"])
def test_a_file_that_is_no_journal_is_set_aside(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)

    store = opened(tmp_path)
    store.apply([add_request(a_request(1))])

    assert ([b"payload"], 1) == (payloads_of(store), store.damaged)
    assert content == (tmp_path / (FILE + ".damaged")).read_bytes()
    store.close()


def test_a_damaged_state_is_left_out(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.apply([put_trace(1, STATE), ("UPDATE traces SET body = ?", (b"damaged",))])
    store.close()

    again = opened(tmp_path)

    assert ({}, 1) == (again.contents().traces, again.damaged)
    again.close()


def test_a_file_that_is_mostly_free_is_compacted(tmp_path: Path) -> None:
    store = opened(tmp_path)
    payload = bytes(1024 * 1024)
    count = MIN_FREE_BYTES // len(payload) + 8
    for seq in range(1, count):
        store.apply([add_request(a_request(seq, payload))])
    assert not store.compact(), "all of it is used"
    for seq in range(2, count):
        store.apply([remove_request(seq)])
    before = store.size

    assert store.compact()

    assert (1, True) == (len(store.requests(0, 1_000)), store.size < before // 8)
    store.close()


def test_freed_space_is_used_again(tmp_path: Path) -> None:
    store = opened(tmp_path)
    for seq in range(1, 200):
        store.apply([add_request(a_request(seq, bytes(256 * 1024))), remove_request(seq - 4)])

    assert store.size < 40 * 1024 * 1024
    store.close()
