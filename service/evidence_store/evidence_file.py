"""
The file of stored evidence: one document for each closing, appended off the event loop.

Documents wait in memory, up to a limit, while a batch is being written; what cannot be written is counted as lost and
never holds up scoring. A file that was moved away is followed by a new one at the same path, so rotation needs no
signal. A line is whole or absent: what a failed write left behind is cut off again.
"""

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from service.errors import ConfigError
from service.evidence_store.contents import KeptFacts, document_of
from service.evidence_store.documents import LINE_START, encode_document
from service.processor.outputs import Scored
from service.telemetry.recorder import Recorder

_logger = logging.getLogger(__name__)

MAX_WAITING_BYTES = 32 * 1024 * 1024
MODE = 0o640
CHUNK_BYTES = 64 * 1024
CONFIG_PATH = "processors::tool_scoring::evidence::file"


class EvidenceFile:
    """
    Stores every closing that it observes. Implements `service.processor.outputs.Observer`.
    """

    def __init__(
        self,
        file: "AppendedFile",
        kept: KeptFacts,
        recorder: Recorder,
        *,
        annotations: Mapping[str, Mapping[str, str]],
        max_waiting_bytes: int = MAX_WAITING_BYTES,
    ) -> None:
        self._file = file
        self._kept = kept
        self._recorder = recorder
        self._annotations = annotations
        self._max_waiting_bytes = max_waiting_bytes
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._has_news = asyncio.Event()
        self._is_failing = self._is_closing = False
        self._writing: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """
        Open the file and write from now on what comes. Raises `ConfigError` if the file cannot be opened.
        """
        try:
            await asyncio.to_thread(self._file.open)
        except OSError as error:
            raise ConfigError([(CONFIG_PATH, error.strerror or str(error))]) from error
        self._writing = asyncio.create_task(self._run())

    def scored(self, scored: Scored) -> None:
        """
        Take one closing; it is counted when it is written or lost.
        """
        line = self._line(scored)
        if line is None or self._waiting_bytes + len(line) > self._max_waiting_bytes:
            self._recorder.evidence_written(succeeded=False)
            return
        self._waiting.append(line)
        self._waiting_bytes += len(line)
        self._has_news.set()

    def _line(self, scored: Scored) -> bytes | None:
        assessment = scored.assessment
        document = document_of(
            assessment,
            scored.trigger,
            revisions=scored.revisions,
            annotation=self._annotations.get(assessment.facts.occurrence),
            kept=self._kept,
        )
        try:
            return encode_document(document)
        except UnicodeEncodeError:  # half of a surrogate pair in a name, which no JSON text can hold
            return None

    async def _run(self) -> None:
        while not self._is_closing or self._waiting:
            await self._has_news.wait()
            self._has_news.clear()  # before the write: what comes meanwhile is news again
            await self._flush()

    async def _flush(self) -> None:
        """
        Write what waits, and count what became of it.
        """
        lines, self._waiting = self._waiting, []
        if not lines:
            return
        written = await asyncio.to_thread(self._file.append, lines)
        self._waiting_bytes -= sum(map(len, lines))
        for number in range(len(lines)):
            self._recorder.evidence_written(succeeded=number < written)
        self._tell(is_failing=written < len(lines))

    def _tell(self, *, is_failing: bool) -> None:
        if is_failing != self._is_failing:
            self._is_failing = is_failing
            _logger.warning("evidence %s", "cannot be written, it is lost" if is_failing else "is written again")

    async def close(self) -> None:
        """
        Write what still waits, and close the file.
        """
        self._is_closing = True
        self._has_news.set()
        if self._writing is not None:
            await self._writing
        self._file.close()


class AppendedFile:
    """
    Whole lines at the end of a file. Used by one thread at a time.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def open(self) -> int:
        """
        Open the file, made new if need be. A line of ours that a crash cut short is taken away. Raises `OSError`.
        """
        descriptor = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, MODE)
        try:
            _end_last_line(descriptor)
        except OSError:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        return descriptor

    def append(self, lines: Sequence[bytes]) -> int:
        """
        Append *lines*, and tell how many of them the file holds.
        """
        try:
            descriptor = self._current()
            begin = os.fstat(descriptor).st_size
        except OSError:
            return 0
        written = self._write(descriptor, b"".join(lines))
        whole = size = 0
        for line in lines:
            if size + len(line) > written:
                break
            whole, size = whole + 1, size + len(line)
        if size < written:
            _cut(descriptor, begin + size)
        return whole

    def _current(self) -> int:
        """
        The file at the path: another one than before if that was moved away or deleted.
        """
        if self._descriptor is not None and not self._is_current(self._descriptor):
            self.close()
        return self.open() if self._descriptor is None else self._descriptor

    def _is_current(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), self._path.stat())
        except OSError:
            return False

    def _write(self, descriptor: int, data: bytes) -> int:
        """
        Write as much of *data* as the file takes. The disk may be full, or gone: the caller counts what is missing.
        """
        view = memoryview(data)
        written = 0
        with suppress(OSError):
            while written < len(data):
                written += os.write(descriptor, view[written:])
        return written

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def _cut(descriptor: int, size: int) -> None:
    try:
        os.ftruncate(descriptor, size)
    except OSError:
        _logger.warning("part of an evidence document could not be taken out of the file again")


def _end_last_line(descriptor: int) -> None:
    size = os.fstat(descriptor).st_size
    if not size or os.pread(descriptor, 1, size - 1) == b"\n":
        return
    start = _start_of_last_line(descriptor, size)
    if os.pread(descriptor, len(LINE_START), start) == LINE_START:
        os.ftruncate(descriptor, start)
    else:
        os.write(descriptor, b"\n")


def _start_of_last_line(descriptor: int, size: int) -> int:
    end = size
    while end:
        start = max(0, end - CHUNK_BYTES)
        found = os.pread(descriptor, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
