"""
The one thread that writes the journal.

Whatever waits becomes one transaction (group commit); the event loop awaits it. A request that cannot be written is
refused. What tells of requests already taken is kept and written with the next group: until then it costs a repeated
delivery after a crash, never a loss.
"""

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import TypeVar, cast

from msgspec import Struct

from service.clock import Clock
from service.journal.records import StoredRequest
from service.journal.statements import Statement, add_request
from service.journal.store import Fsync, JournalStore
from service.telemetry.recorder import Recorder

_logger = logging.getLogger(__name__)

RETRY_SECONDS = 1.0
"""How long what could not be written waits for a further attempt."""
COMPACT_EVERY = 256
"""Groups between two looks at the free space in the file."""

_Answer = TypeVar("_Answer")


class JournalWriteFailed(Exception):
    """
    A request could not be made durable.
    """


class _Write(Struct, eq=False):
    statements: Sequence[Statement]
    position: int
    answer: "asyncio.Future[None] | None" = None
    """Somebody waits for it: nothing of it is kept if it cannot be written."""
    size: int = 0


class _Call(Struct, eq=False):
    function: Callable[[], object]
    answer: "asyncio.Future[object]"


class _Stop(Struct, eq=False):
    """Nothing comes after it."""


class JournalWriter:
    """
    Makes statements durable, in the order in which they are given. All methods belong to the event loop.
    """

    def __init__(self, store: JournalStore, fsync: Fsync, recorder: Recorder, clock: Clock) -> None:
        self._store = store
        self._fsync = fsync
        self._recorder = recorder
        self._clock = clock
        self._jobs: SimpleQueue[_Write | _Call | _Stop] = SimpleQueue()
        self._position = self._committed = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._kept: list[Statement] = []
        self._groups = 0

    def start(self) -> None:
        """
        Begin to write. What was put before is written first.
        """
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
        self._thread.start()

    def put(self, *statements: Statement) -> int:
        """
        Write *statements* as soon as possible; gives the position that `has_passed` is asked about.
        """
        if statements:
            self._position += 1
            self._jobs.put(_Write(statements, self._position))
        return self._position

    def has_passed(self, position: int) -> bool:
        """
        What was put at *position* is durable, or could not be written and will be tried again.
        """
        return self._committed >= position

    async def append(self, request: StoredRequest) -> None:
        """
        Return once *request* is durable. Raises `JournalWriteFailed`.
        """
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._position += 1
        self._jobs.put(_Write([add_request(request)], self._position, answer, len(request.payload)))
        await answer

    async def call(self, function: Callable[[], _Answer]) -> _Answer:
        """
        What *function* gives, called on the thread behind all that was put before.
        """
        answer: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._jobs.put(_Call(function, answer))
        return cast("_Answer", await answer)

    async def flush(self) -> None:
        """
        Return once everything put so far was written, or could not be. At once if nothing was started.
        """
        if self._thread is None:
            return
        await self.call(lambda: None)

    def close(self) -> None:
        """
        Write what waits, and close the file.
        """
        if self._thread is not None:
            self._jobs.put(_Stop())
            self._thread.join()
        self._store.close()

    # On the thread from here on, but for `_tell`.

    def _run(self) -> None:
        while True:
            group, last = self._next_group()
            for together in [[write] for write in group] if self._fsync is Fsync.ALWAYS else [group]:
                self._commit(together)
            if isinstance(last, _Call):
                self._answer(last)
            elif isinstance(last, _Stop):
                return

    def _next_group(self) -> tuple[list[_Write], _Call | _Stop | None]:
        """
        All writes that wait, up to something else.
        """
        group: list[_Write] = []
        try:
            job = self._jobs.get(timeout=RETRY_SECONDS if self._kept else None)
            while isinstance(job, _Write):
                group.append(job)
                job = self._jobs.get_nowait()
        except Empty:
            return group, None
        return group, job

    def _commit(self, group: list[_Write]) -> None:
        statements = [*self._kept, *(statement for write in group for statement in write.statements)]
        if not statements:
            return
        began_ns = self._clock.monotonic_ns()
        error: sqlite3.Error | None = None
        try:
            self._store.apply(statements)
            self._kept = []
        except sqlite3.Error as cause:
            error = cause
            self._kept += [statement for write in group if write.answer is None for statement in write.statements]
        self._tell_loop(self._tell, group, error, self._clock.monotonic_ns() - began_ns)
        self._compact_at_times()

    def _compact_at_times(self) -> None:
        self._groups += 1
        if self._groups % COMPACT_EVERY:
            return
        try:
            self._store.compact()
        except sqlite3.Error as error:
            _logger.warning("the journal could not be compacted: %s", error)

    def _answer(self, call: _Call) -> None:
        try:
            answer = call.function()
        except Exception as error:  # noqa: BLE001  # whoever called is told
            self._tell_loop(_set, call.answer, None, error)
        else:
            self._tell_loop(_set, call.answer, answer, None)

    def _tell_loop(self, function: Callable[..., None], *arguments: object) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(function, *arguments)

    def _tell(self, group: list[_Write], error: sqlite3.Error | None, took_ns: int) -> None:
        if error is not None:
            _logger.warning("the journal could not be written: %s", error)
        self._committed = group[-1].position if group else self._committed
        appended = [write for write in group if write.answer is not None]
        for write in appended:
            assert write.answer is not None
            _set(write.answer, None, None if error is None else JournalWriteFailed(str(error)))
        if error is None:
            self._recorder.journal_appended(len(appended), sum(write.size for write in appended))
            self._recorder.journal_synced(took_ns)


def _set(answer: "asyncio.Future[_Answer]", value: _Answer, error: Exception | None) -> None:
    if answer.done():
        return
    if error is None:
        answer.set_result(value)
    else:
        answer.set_exception(error)
