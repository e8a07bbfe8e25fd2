"""
The tables of the journal and all that is ever written to them.

Pure: a statement is its text and its parameters; `store` carries them out, many in one transaction.
"""

from service.journal.records import Release, StoredDecision, StoredRequest, TraceState, checksum, encode

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
CREATE TABLE IF NOT EXISTS levels (name TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID;
"""
RECORDS = {
    "requests": "SELECT seq, checksum, payload, item_count FROM requests",
    "traces": "SELECT key, checksum, body, 0 FROM traces",
    "releases": "SELECT key, checksum, body, 0 FROM releases",
    "decisions": "SELECT key, checksum, body, 0 FROM decisions",
}
"""Everything that has a checksum: key, checksum, bytes, number of items."""
REMOVE = {
    "requests": "DELETE FROM requests WHERE seq = ?",
    "traces": "DELETE FROM traces WHERE key = ?",
    "releases": "DELETE FROM releases WHERE key = ?",
    "decisions": "DELETE FROM decisions WHERE key = ?",
}
PASSED_ON = b""
"""The part of a request that leaves as it came, beside the parts of its traces."""

ALIVE = "alive"
"""Service time at which a process was known to run."""
SINCE = "since"
"""Wall time from which on nothing that was accepted is missing here."""
REPLICAS = "replicas"
"""Wall time of the last change of the set of replicas."""
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


def set_level(name: str, value: int) -> Statement:
    return "INSERT OR REPLACE INTO levels VALUES (?, ?)", (name, value)
