"""
A damaged journal made anew from the records that can still be read.

A page of the file that cannot be read hides the records on it; those around it are found by asking for one key after
another. The damaged file is kept beside the new one, for whoever wants to look at it.
"""

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from service.journal.statements import PAGE_SIZE, TABLES, Parameter

SEARCH = 4_096
"""Keys without a record, one after the other, behind which no further record is looked for."""
NEXT = {
    "requests": ("SELECT min(seq) FROM requests WHERE seq >= ?", "SELECT * FROM requests WHERE seq = ?"),
    "traces": ("SELECT min(key) FROM traces WHERE key >= ?", "SELECT * FROM traces WHERE key = ?"),
    "releases": ("SELECT min(key) FROM releases WHERE key >= ?", "SELECT * FROM releases WHERE key = ?"),
    "decisions": ("SELECT min(key) FROM decisions WHERE key >= ?", "SELECT * FROM decisions WHERE key = ?"),
    "sessions": ("SELECT min(key) FROM sessions WHERE key >= ?", "SELECT * FROM sessions WHERE key = ?"),
    "session_parts": ("SELECT min(key) FROM session_parts WHERE key >= ?", "SELECT * FROM session_parts WHERE key = ?"),
    "ended_sessions": (
        "SELECT min(key) FROM ended_sessions WHERE key >= ?",
        "SELECT * FROM ended_sessions WHERE key = ?",
    ),
}
INSERT = {
    "requests": "INSERT INTO requests VALUES (?, ?, ?, ?, ?, ?)",
    "traces": "INSERT INTO traces VALUES (?, ?, ?)",
    "releases": "INSERT INTO releases VALUES (?, ?, ?, ?)",
    "decisions": "INSERT INTO decisions VALUES (?, ?, ?)",
    "sessions": "INSERT INTO sessions VALUES (?, ?, ?)",
    "session_parts": "INSERT INTO session_parts VALUES (?, ?, ?)",
    "ended_sessions": "INSERT INTO ended_sessions VALUES (?, ?, ?)",
}
SMALL = {
    "SELECT seq, part FROM done": "INSERT INTO done VALUES (?, ?)",
    "SELECT name, value FROM levels": "INSERT INTO levels VALUES (?, ?)",
}

Row = tuple[Parameter, ...]


def salvage(path: Path) -> int:
    """
    Put a whole file in the place of the one at *path*; gives the number of records known to be lost, at least 1.
    """
    fresh = path.with_name(path.name + ".salvaged")
    fresh.unlink(missing_ok=True)
    fresh.touch(0o600)
    with closing(sqlite3.connect(fresh, isolation_level=None)) as new:
        new.execute(f"PRAGMA page_size = {PAGE_SIZE}")
        new.executescript(TABLES)
        lost = 0
        with suppress(sqlite3.Error), closing(sqlite3.connect(path, isolation_level=None)) as old:
            old.execute("SELECT count(*) FROM sqlite_master")
            lost = _copy(old, new)
    _set_aside(path)
    fresh.replace(path)
    return max(1, lost)


def _copy(old: sqlite3.Connection, new: sqlite3.Connection) -> int:
    new.execute("BEGIN")
    lost = sum(_copy_records(old, new, table) for table in NEXT)
    for select, insert in SMALL.items():
        with suppress(sqlite3.DatabaseError):
            new.executemany(insert, old.execute(select))
    new.execute("COMMIT")
    return lost


def _copy_records(old: sqlite3.Connection, new: sqlite3.Connection, table: str) -> int:
    find, read = NEXT[table]
    key, lost, misses = 0, 0, 0
    while misses < SEARCH:
        try:
            (found,) = old.execute(find, (key,)).fetchone()
            if found is None:
                break
            key = found
            new.execute(INSERT[table], old.execute(read, (key,)).fetchone())
            misses = 0
        except sqlite3.DatabaseError:
            lost += misses == 0
            misses += 1
        key += 1
    return lost


def _set_aside(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        part = path.with_name(path.name + suffix)
        if part.exists():
            part.replace(path.with_name(path.name + suffix + ".damaged"))
