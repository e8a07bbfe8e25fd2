"""
Files of recorded OTLP: one JSON request a line, as the Collector's file exporter writes them, or serialised requests,
each after its length. Either may be gzipped.

Reads files and nothing else; a file of any size is streamed.
"""

import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from proto_adapters.otlp_json import logs_from_json, metrics_from_json, traces_from_json
from proto_adapters.split import UndecodableRequest
from service.pipeline import Signal

GZIP_MAGIC = b"\x1f\x8b"
LENGTH_SIZE = 4
MAX_REQUEST_BYTES = 256 * 1024 * 1024

JSON_READERS = {
    b"resourceSpans": (Signal.TRACES, traces_from_json),
    b"resourceLogs": (Signal.LOGS, logs_from_json),
    b"resourceMetrics": (Signal.METRICS, metrics_from_json),
}
FIRST_MEMBER = re.compile(rb'\s*\{\s*"(\w+)"')
"""An OTLP/JSON request begins with the member that tells its signal."""


class RecordedRequest(NamedTuple):
    signal: Signal
    payload: bytes


class UnreadableFile(ValueError):
    """
    A file, or a line of it, is not recorded OTLP. The message names file and place.
    """


def read_requests(path: Path) -> Iterator[RecordedRequest]:
    """
    The requests of *path* in order. Raises `UnreadableFile`, also while it is being read.
    """
    try:
        with _open(path) as file:
            first = file.read(1)
            if not first:
                return
            if first in b"{[ \t\r\n\xef":
                yield from _json_lines(path, first, file)
            else:
                yield from _frames(path, first, file)
    except (OSError, EOFError) as error:
        raise UnreadableFile(f"{path}: {error}") from error


def _open(path: Path) -> BinaryIO:
    with path.open("rb") as file:
        is_gzip = file.read(2) == GZIP_MAGIC
    return cast("BinaryIO", gzip.open(path, "rb")) if is_gzip else path.open("rb")


def _json_lines(path: Path, first: bytes, file: BinaryIO) -> Iterator[RecordedRequest]:
    for number, line in enumerate(file, start=1):
        text = (first + line if number == 1 else line).strip()
        if not text:
            continue
        try:
            yield read_json_request(text)
        except UndecodableRequest as error:
            raise UnreadableFile(f"{path}:{number}: {error}") from error


def read_json_request(text: bytes) -> RecordedRequest:
    """
    One OTLP/JSON request of any signal. Raises `UndecodableRequest`.
    """
    begin = FIRST_MEMBER.match(text)
    if begin is None or begin[1] not in JSON_READERS:
        raise UndecodableRequest("neither resourceSpans nor resourceLogs nor resourceMetrics")
    signal, read = JSON_READERS[begin[1]]
    return RecordedRequest(signal, read(text))


def _frames(path: Path, first: bytes, file: BinaryIO) -> Iterator[RecordedRequest]:
    number, prefix = 1, first + file.read(LENGTH_SIZE - 1)
    while prefix:
        length = int.from_bytes(prefix, "big")
        payload = file.read(length) if len(prefix) == LENGTH_SIZE and length <= MAX_REQUEST_BYTES else b""
        if len(prefix) < LENGTH_SIZE or len(payload) < length:
            raise UnreadableFile(f"{path}: request {number} is cut, or this is no file of OTLP requests")
        yield RecordedRequest(Signal.TRACES, payload)
        number, prefix = number + 1, file.read(LENGTH_SIZE)
