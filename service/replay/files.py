"""
Files of recorded OTLP and of stored evidence: JSON lines, one request or document each, as the Collector's file
exporter and our evidence store write them, or serialised requests, each after its length. Either may be gzipped.

Reads files and nothing else; a file of any size is streamed.
"""

import gzip
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from msgspec import Struct

from proto_adapters.otlp_json import logs_from_json, metrics_from_json, traces_from_json
from proto_adapters.split import UndecodableRequest
from service.evidence_store.documents import EvidenceDocument, EvidenceRefused, decode_document
from service.pipeline import Signal

GZIP_MAGIC = b"\x1f\x8b"
LENGTH_SIZE = 4
MAX_REQUEST_BYTES = 128 * 1024 * 1024
JSON_BEGINS = b"{[ \t\r\n\xef"
"""No length of a request that we would read begins with one of these bytes."""

JSON_READERS = {
    b"resourceSpans": (Signal.TRACES, traces_from_json),
    b"resourceLogs": (Signal.LOGS, logs_from_json),
    b"resourceMetrics": (Signal.METRICS, metrics_from_json),
}
FIRST_MEMBER = re.compile(rb'\s*\{\s*"(\w+)"')
"""An OTLP/JSON request begins with the member that tells its signal."""
EMPTY_REQUEST = re.compile(rb"\s*\{\s*\}\s*")
"""Of whatever signal: what holds nothing has no member to tell it."""
EVIDENCE_MARK = b'"toolscore.evidence"'


class RecordedRequest(NamedTuple):
    signal: Signal
    payload: bytes


class Record(Struct, frozen=True):
    """
    One line or frame of a file, not yet read. `place` is for messages.
    """

    place: str
    is_json: bool
    data: bytes


class UnreadableFile(ValueError):
    """
    A file, or a line of it, is neither recorded OTLP nor stored evidence. The message names file and place.
    """


def read_requests(path: Path) -> Iterator[RecordedRequest]:
    """
    The requests of *path* in order. Raises `UnreadableFile`, also while it is being read.
    """
    for record in read_records(path):
        request = parse_record(record)
        if isinstance(request, EvidenceDocument):
            raise UnreadableFile(f"{record.place}: stored evidence holds no spans; toolscore replay scores it")
        yield request


def read_log_requests(path: Path) -> Iterator[RecordedRequest]:
    """
    Only the requests of log records, without reading the others. Raises `UnreadableFile`.
    """
    for record in read_records(path):
        begin = FIRST_MEMBER.match(record.data) if record.is_json else None
        if begin is not None and begin[1] == b"resourceLogs":
            request = parse_record(record)
            assert isinstance(request, RecordedRequest)
            yield request


def read_records(path: Path, progress: Callable[[int], None] = lambda _: None) -> Iterator[Record]:
    """
    The lines or frames of *path* in order; *progress* is told how many bytes of the file were read, each time.

    Raises `UnreadableFile`, also while it is being read.
    """
    try:
        with path.open("rb") as raw, _expanded(raw) as file:
            records = _records(path, file)
            position = 0
            for record in records:
                yield record
                progress(raw.tell() - position)
                position = raw.tell()
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableFile(f"{path}: {error}") from error


def _expanded(raw: BinaryIO) -> BinaryIO:
    is_gzip = raw.read(2) == GZIP_MAGIC
    raw.seek(0)
    return cast("BinaryIO", gzip.open(raw, "rb")) if is_gzip else raw


def _records(path: Path, file: BinaryIO) -> Iterator[Record]:
    first = file.read(1)
    if not first:
        return iter(())
    return _lines(path, first, file) if first in JSON_BEGINS else _frames(path, first, file)


def _lines(path: Path, first: bytes, file: BinaryIO) -> Iterator[Record]:
    number, line = 1, first + (b"" if first == b"\n" else file.readline(MAX_REQUEST_BYTES))
    while line:
        if len(line) >= MAX_REQUEST_BYTES:
            raise UnreadableFile(f"{path}:{number}: longer than {MAX_REQUEST_BYTES} bytes")
        if text := line.strip():
            yield Record(f"{path}:{number}", is_json=True, data=text)
        number, line = number + 1, file.readline(MAX_REQUEST_BYTES)


def _frames(path: Path, first: bytes, file: BinaryIO) -> Iterator[Record]:
    number, prefix = 1, first + file.read(LENGTH_SIZE - 1)
    while prefix:
        length = int.from_bytes(prefix, "big")
        payload = file.read(length) if len(prefix) == LENGTH_SIZE and length <= MAX_REQUEST_BYTES else b""
        if len(prefix) < LENGTH_SIZE or len(payload) < length:
            raise UnreadableFile(f"{path}: request {number} is cut, or this is no file of OTLP requests")
        yield Record(f"{path}: request {number}", is_json=False, data=payload)
        number, prefix = number + 1, file.read(LENGTH_SIZE)


def parse_record(record: Record) -> RecordedRequest | EvidenceDocument:
    """
    What stands in *record*. Raises `UnreadableFile`.
    """
    if not record.is_json:
        return RecordedRequest(Signal.TRACES, record.data)
    try:
        if _is_evidence(record.data):
            return decode_document(record.data)
        return read_json_request(record.data)
    except (UndecodableRequest, EvidenceRefused) as error:
        raise UnreadableFile(f"{record.place}: {error}") from error


def _is_evidence(line: bytes) -> bool:
    begin = FIRST_MEMBER.match(line)
    return (begin is None or begin[1] not in JSON_READERS) and EVIDENCE_MARK in line


def read_json_request(text: bytes) -> RecordedRequest:
    """
    One OTLP/JSON request of any signal. Raises `UndecodableRequest`.
    """
    if EMPTY_REQUEST.fullmatch(text):
        return RecordedRequest(Signal.TRACES, b"")
    begin = FIRST_MEMBER.match(text.removeprefix(b"\xef\xbb\xbf"))
    if begin is None or begin[1] not in JSON_READERS:
        raise UndecodableRequest("neither resourceSpans nor resourceLogs nor resourceMetrics")
    signal, read = JSON_READERS[begin[1]]
    return RecordedRequest(signal, read(text.removeprefix(b"\xef\xbb\xbf")))
