"""
The tables of the journal and all that is ever written to them.

Pure: a statement is its text and its parameters; `store` carries them out, many in one transaction.
"""

from msgspec import Struct

from service.journal.records import Release, StoredDecision, StoredRequest, TraceState, checksum, encode
from service.journal.session_records import EndedSession, StoredPart, StoredSession

Parameter = int | str | bytes
Statement = tuple[str, tuple[Parameter, ...]]

PAGE_SIZE = 16_384
"""Requests are large: 4 KiB pages take half as much again of the processor."""
TABLES = """
CREATE TABLE IF NOT EXISTS requests (
    seq INTEGER PRIMARY KEY, signal TEXT, at_ns INTEGER, item_count INTEGER, checksum INTEGER, payload BLOB);
CREATE TABLE IF NOT EXISTS done (seq INTEGER, part BLOB, PRIMARY KEY (seq, part)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS traces (key INTEGER PRIMARY KEY, checksum INTEGER, body BLOB);
CREATE TABLE IF NOT EXISTS releases (
    key INTEGER PRIMARY KEY, checksum INTEGER, body BLOB, is_settled INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS decisions (key INTEGER PRIMARY KEY, checksum INTEGER, body BLOB);
CREATE TABLE IF NOT EXISTS sessions (key INTEGER PRIMARY KEY, checksum INTEGER, body BLOB);
CREATE TABLE IF NOT EXISTS session_parts (key INTEGER PRIMARY KEY, checksum INTEGER, body BLOB);
CREATE TABLE IF NOT EXISTS ended_sessions (key INTEGER PRIMARY KEY, checksum INTEGER, body BLOB);
CREATE TABLE IF NOT EXISTS levels (name TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID;
"""
RECORDS = {
    "requests": "SELECT seq, checksum, payload, item_count FROM requests",
    "traces": "SELECT key, checksum, body, 0 FROM traces",
    "releases": "SELECT key, checksum, body, 0 FROM releases",
    "decisions": "SELECT key, checksum, body, 0 FROM decisions",
    "sessions": "SELECT key, checksum, body, 0 FROM sessions",
    "session_parts": "SELECT key, checksum, body, 0 FROM session_parts",
    "ended_sessions": "SELECT key, checksum, body, 0 FROM ended_sessions",
}
"""Everything that has a checksum: key, checksum, bytes, number of items."""
REMOVE = {
    "requests": "DELETE FROM requests WHERE seq = ?",
    "traces": "DELETE FROM traces WHERE key = ?",
    "releases": "DELETE FROM releases WHERE key = ?",
    "decisions": "DELETE FROM decisions WHERE key = ?",
    "sessions": "DELETE FROM sessions WHERE key = ?",
    "session_parts": "DELETE FROM session_parts WHERE key = ?",
    "ended_sessions": "DELETE FROM ended_sessions WHERE key = ?",
}
PASSED_ON = b""
"""The part of a request that leaves as it came, beside the parts of its traces."""

ALIVE = "alive"
"""Service time at which a process was known to run."""
SINCE = "since"
"""Wall time from which on nothing that was accepted is missing here."""
REPLICAS = "replicas"
"""Wall time of the last change of the set of replicas."""
SESSIONS_SINCE = "sessions_since"
"""The same for sessions, which may have been switched on later."""
MARK = "mark:"
"""Prefix of what happened to all traces that were open at some service time."""

ADD_REQUEST = "INSERT INTO requests VALUES (?, ?, ?, ?, ?, ?)"


def add_request(request: StoredRequest) -> Statement:
    signal, seq = str(request.signal), request.seq
    check = checksum(request.payload, seq)
    return ADD_REQUEST, (seq, signal, request.at_ns, request.item_count, check, request.payload)


def remove_request(seq: int) -> Statement:
    return REMOVE["requests"], (seq,)


def add_done(seq: int, part: bytes) -> Statement:
    """
    One part of a request is needed no longer, but others are.
    """
    return "INSERT OR IGNORE INTO done VALUES (?, ?)", (seq, part)


def remove_done(seq: int) -> Statement:
    return "DELETE FROM done WHERE seq = ?", (seq,)


def put_trace(key: int, state: TraceState) -> Statement:
    body = encode(state)
    return "INSERT OR REPLACE INTO traces VALUES (?, ?, ?)", (key, checksum(body, key), body)


def remove_trace(key: int) -> Statement:
    return REMOVE["traces"], (key,)


def add_release(key: int, release: Release) -> Statement:
    body = encode(release)
    return "INSERT INTO releases (key, checksum, body) VALUES (?, ?, ?)", (key, checksum(body, key), body)


def settle_release(key: int) -> Statement:
    """
    All of it was accepted downstream, or refused for good.
    """
    return "UPDATE releases SET is_settled = 1 WHERE key = ?", (key,)


def remove_release(key: int) -> Statement:
    return REMOVE["releases"], (key,)


def add_decision(key: int, decision: StoredDecision) -> Statement:
    body = encode(decision)
    return "INSERT INTO decisions VALUES (?, ?, ?)", (key, checksum(body, key), body)


def remove_decisions(through: int) -> Statement:
    return "DELETE FROM decisions WHERE key <= ?", (through,)


def put_session(key: int, session: StoredSession) -> Statement:
    return "INSERT OR REPLACE INTO sessions VALUES (?, ?, ?)", _record(key, session)


def remove_session(key: int) -> Statement:
    return REMOVE["sessions"], (key,)


def put_part(key: int, part: StoredPart) -> Statement:
    return "INSERT OR REPLACE INTO session_parts VALUES (?, ?, ?)", _record(key, part)


def remove_part(key: int) -> Statement:
    return REMOVE["session_parts"], (key,)


def add_ended(key: int, session: EndedSession) -> Statement:
    return "INSERT INTO ended_sessions VALUES (?, ?, ?)", _record(key, session)


def remove_ended(through: int) -> Statement:
    return "DELETE FROM ended_sessions WHERE key <= ?", (through,)


def drop_sessions() -> list[Statement]:
    """
    Nothing is known of sessions any longer.
    """
    return [
        ("DELETE FROM sessions", ()),
        ("DELETE FROM session_parts", ()),
        ("DELETE FROM ended_sessions", ()),
        ("DELETE FROM levels WHERE name = ?", (SESSIONS_SINCE,)),
    ]


def _record(key: int, record: Struct) -> tuple[Parameter, ...]:
    body = encode(record)
    return key, checksum(body, key), body


def set_level(name: str, value: int) -> Statement:
    return "INSERT OR REPLACE INTO levels VALUES (?, ?)", (name, value)
