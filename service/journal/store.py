"""
The file of the journal: SQLite with a write-ahead log, one directory for one process.

Nothing here knows of threads or the event loop; `writer` is the only caller once the service runs. Damage costs the
records that it hit: they are left out, counted, and the file is made anew from the others (`salvage`).
"""

import fcntl
import logging
import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from enum import StrEnum
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from service.journal.records import (
    Release,
    StoredDecision,
    StoredRequest,
    TraceState,
    checksum,
    decode,
)
from service.journal.salvage import salvage
from service.journal.session_records import EndedSession, StoredPart, StoredSession
from service.journal.statements import ALIVE, PAGE_SIZE, RECORDS, REMOVE, TABLES, Statement
from service.journal.wal import count_lost_commits
from service.pipeline import Signal

_logger = logging.getLogger(__name__)

FILE = "journal.db"
LOCK = "lock"
PRIVATE, PRIVATE_DIRECTORY = 0o600, 0o700
"""Prompts and answers stand in spans; SQLite gives its log the rights of the file."""
CHECKPOINT_PAGES = 1_024
LOG_SIZE_LIMIT = 64 * 1024 * 1024
"""What the write-ahead log is cut back to after a checkpoint."""
MIN_FREE_BYTES = 64 * 1024 * 1024
"""Less free space in the file than this is kept for the next requests."""
READ_BYTES = 4 * 1024 * 1024

_Body = TypeVar("_Body")


class Fsync(StrEnum):
    """
    `buffer.journal.fsync`.
    """

    BATCH = "batch"
    """One sync for all requests that wait."""
    ALWAYS = "always"
    """One for each request."""
    NEVER = "never"
    """The operating system decides: a crash of the process loses nothing, one of the machine may."""


class JournalUnusable(Exception):
    """
    The directory cannot be used: another process has it, or it cannot be written.
    """


class StoredRelease(Struct, frozen=True):
    release: Release
    is_settled: bool


class Contents(Struct, frozen=True):
    """
    All that is stored beside the requests.
    """

    traces: dict[int, TraceState]
    releases: dict[int, StoredRelease]
    decisions: dict[int, StoredDecision]
    sessions: dict[int, StoredSession]
    session_parts: dict[int, StoredPart]
    ended_sessions: dict[int, EndedSession]
    done: set[tuple[int, bytes]]
    levels: dict[str, int]
    last_seq: int
    """The last request that anything here tells of."""
    alive_ns: int
    """Service time up to which a process is known to have run."""


class JournalStore:
    """
    One open journal. `damaged` counts the records that were lost before it was opened.
    """

    def __init__(self, directory: Path, fsync: Fsync) -> None:
        """
        Raises `JournalUnusable`.
        """
        self._path = directory / FILE
        self._fsync = fsync
        self.damaged = 0
        self.lost_items = 0
        """Items of the damaged requests, as far as they can be told."""
        try:
            directory.mkdir(mode=PRIVATE_DIRECTORY, parents=True, exist_ok=True)
            self._lock = _lock(directory / LOCK)
            self._path.touch(PRIVATE)
        except OSError as error:
            raise JournalUnusable(str(error)) from error
        try:
            self._connection = self._open()
        except (sqlite3.Error, OSError) as error:
            os.close(self._lock)
            raise JournalUnusable(str(error)) from error

    def _open(self) -> sqlite3.Connection:
        try:
            return self._open_whole()
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            _logger.warning("the journal is damaged, what can be read of it is kept: %s", error)
        self.damaged += salvage(self._path)
        return self._open_whole()

    def _open_whole(self) -> sqlite3.Connection:
        """
        Raises `sqlite3.DatabaseError` where reading all of it fails.
        """
        connection = _connect(self._path, self._fsync)
        try:
            frames = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[1]
            lost = count_lost_commits(self._path.with_name(FILE + "-wal"), frames=frames, page_size=PAGE_SIZE)
            connection.executescript(TABLES)
            self._verify(connection)
            self.damaged += lost
        except BaseException:
            connection.close()
            raise
        return connection

    def _verify(self, connection: sqlite3.Connection) -> None:
        """
        Read everything once, and drop the records whose checksum is wrong.
        """
        for table, query in RECORDS.items():
            damaged = [
                (key, items) for key, check, body, items in connection.execute(query) if not _is_whole(key, check, body)
            ]
            connection.executemany(REMOVE[table], [(key,) for key, _ in damaged])
            self.damaged += len(damaged)
            self.lost_items += sum(items for _, items in damaged)

    def apply(self, statements: Iterable[Statement]) -> None:
        """
        Carry out *statements* in one transaction. Raises `sqlite3.Error`, and then nothing of it happened.
        """
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            for text, run in groupby(statements, key=itemgetter(0)):
                connection.executemany(text, [parameters for _, parameters in run])
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def contents(self) -> Contents:
        """
        What is stored beside the requests.
        """
        run = self._connection.execute
        settled = dict(run("SELECT key, is_settled FROM releases"))
        releases = self._bodies("SELECT key, body FROM releases ORDER BY key", Release)
        traces = self._bodies("SELECT key, body FROM traces ORDER BY key", TraceState)
        done = set(run("SELECT seq, part FROM done"))
        levels = dict(run("SELECT name, value FROM levels"))
        last_seq, last_ns = run("SELECT max(seq), max(at_ns) FROM requests").fetchone()
        return Contents(
            traces=traces,
            releases={key: StoredRelease(release, bool(settled[key])) for key, release in releases.items()},
            decisions=self._bodies("SELECT key, body FROM decisions ORDER BY key", StoredDecision),
            sessions=self._bodies("SELECT key, body FROM sessions ORDER BY key", StoredSession),
            session_parts=self._bodies("SELECT key, body FROM session_parts ORDER BY key", StoredPart),
            ended_sessions=self._bodies("SELECT key, body FROM ended_sessions ORDER BY key", EndedSession),
            done=done,
            levels=levels,
            last_seq=max(last_seq or 0, *(seq for seq, _ in done), *(state.through for state in traces.values()), 0),
            alive_ns=max(levels.get(ALIVE, 0), last_ns or 0),
        )

    def _bodies(self, query: str, form: type[_Body]) -> dict[int, _Body]:
        bodies = {key: decode(body, form) for key, body in self._connection.execute(query)}
        self.damaged += sum(body is None for body in bodies.values())
        return {key: body for key, body in bodies.items() if body is not None}

    def requests(self, after: int, last: int) -> list[StoredRequest]:
        """
        Some requests numbered above *after*, in order, up to *last*; none if there is none.
        """
        query = (
            "SELECT seq, signal, at_ns, item_count, payload FROM requests WHERE seq BETWEEN ? + 1 AND ? ORDER BY seq"
        )
        found: list[StoredRequest] = []
        size = 0
        with closing(self._connection.execute(query, (after, last))) as rows:
            for seq, signal, at_ns, item_count, payload in rows:
                found.append(StoredRequest(seq, Signal(signal), at_ns, item_count, payload))
                size += len(payload)
                if size >= READ_BYTES:
                    break
        return found

    @property
    def size(self) -> int:
        """Bytes of the files."""
        names = (FILE, FILE + "-wal")
        return sum(path.stat().st_size for name in names if (path := self._path.with_name(name)).exists())

    def compact(self) -> bool:
        """
        Give free space back once it is most of the file and what is used can be copied in an instant.
        """
        (pages,) = self._connection.execute("PRAGMA page_count").fetchone()
        (free,) = self._connection.execute("PRAGMA freelist_count").fetchone()
        used = pages - free
        if free * PAGE_SIZE < MIN_FREE_BYTES or used * PAGE_SIZE > MIN_FREE_BYTES:
            return False
        self._connection.execute("VACUUM")
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return True

    def close(self) -> None:
        self._connection.close()
        os.close(self._lock)


def _is_whole(key: int, check: object, body: object) -> bool:
    return isinstance(body, bytes) and checksum(body, key) == check


def _lock(path: Path) -> int:
    """
    A lock that ends with the process, however it ends.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise OSError("another process uses it") from error
    return descriptor


def _connect(path: Path, fsync: Fsync) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        for pragma in (
            f"page_size = {PAGE_SIZE}",
            "locking_mode = EXCLUSIVE",
            "journal_mode = WAL",
            f"synchronous = {'OFF' if fsync is Fsync.NEVER else 'FULL'}",
            f"wal_autocheckpoint = {CHECKPOINT_PAGES}",
            f"journal_size_limit = {LOG_SIZE_LIMIT}",
        ):
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection
