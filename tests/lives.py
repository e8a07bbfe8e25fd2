"""
A service that is killed and comes back: one processor after the other on the same journal.

A kill is a copy of the journal's files at that moment, which is all that a process leaves behind; the next life starts
on the copy, with a monotonic clock that starts anew.
"""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

from doubles import ManualClock
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from processing import SECOND_NS, Processing, plain
from wire_spans import trace_request

from service.pipeline import Signal
from service.processor.journalled import Journalled


class Lives:
    """
    The lives of one service. What is sent and what comes out is kept over all of them.
    """

    def __init__(self, root: Path, *, journal: Mapping[str, object] | None = None, **tool_scoring: Any) -> None:  # noqa: ANN401  # plain values of a test
        self._root = root
        self._journal = journal or {}
        self._number = 0
        self._tool_scoring = tool_scoring
        self._buried: list[Processing] = []
        self.sent: list[bytes] = []
        self.life = self._born(ManualClock())

    @property
    def directory(self) -> Path:
        return self._root / str(self._number)

    def _born(self, clock: ManualClock) -> Processing:
        journal = {"directory": str(self.directory), "fsync": "never", **self._journal}
        return Processing(clock=clock, buffer={"journal": journal}, **self._tool_scoring)

    @property
    def journal(self) -> Journalled:
        assert self.life.journal is not None
        return self.life.journal

    async def begin(self) -> Self:
        """
        Take up what is there.
        """
        self.journal.start()
        await self.life.processor.recover()
        return self

    async def send(self, *spans: bytes) -> None:
        """
        Send *spans* in one request.
        """
        request = trace_request(spans, service="shop", scope="tests")
        await self.life.processor.consume(Signal.TRACES, request)
        self.sent.append(request)

    async def after(self, seconds: float) -> Self:
        """
        Let time pass, and everybody have turns.
        """
        self.life.clock.advance(round(seconds * SECOND_NS))
        await self.turn()
        self.life.clock.advance(SECOND_NS // 4)
        await self.turn()
        return self

    async def turn(self) -> None:
        """
        Close what is due, let it leave once it is durable, and write down that it arrived.
        """
        for _ in range(2):
            await self.life.processor.tick()
            await self.journal.flush()

    async def kill(self, *, downtime: float = 0, harm: Callable[[Path], None] = lambda _: None) -> None:
        """
        End this life where it stands; the next one begins *downtime* seconds later, after some *harm* was done.
        """
        left_behind = self._root / str(self._number + 1)
        shutil.copytree(self.directory, left_behind)
        self.journal.close()
        self._number += 1
        harm(left_behind)
        await self._go_on(downtime)

    async def stop(self, *, downtime: float = 0, harm: Callable[[Path], None] = lambda _: None) -> None:
        """
        End this life in order.
        """
        await self.life.processor.shutdown()
        await self.journal.flush()
        self.journal.close()
        harm(self.directory)
        await self._go_on(downtime)

    async def _go_on(self, downtime: float) -> None:
        self._buried.append(self.life)
        self.life = self._born(ManualClock(self.life.clock.now_ns() + round(downtime * SECOND_NS)))
        await self.begin()

    async def end(self) -> None:
        """
        No more lives.
        """
        await self.journal.flush()
        self.journal.close()
        self._buried.append(self.life)

    def born_again(self) -> Processing:
        """
        A second process on the same directory.
        """
        return self._born(ManualClock())

    @property
    def lived(self) -> list[Processing]:
        """Every life, the last one included."""
        return self._buried if self.life in self._buried else [*self._buried, self.life]

    @property
    def requests(self) -> list[bytes]:
        """Trace requests that arrived downstream."""
        return [request for life in self.lived for request in life.outlets[Signal.TRACES].requests]

    @property
    def released(self) -> list[Span]:
        return [span for life in self.lived for span in life.released]

    @property
    def histories(self) -> dict[bytes, list[tuple[object, ...]]]:
        """What was delivered of each trace, once for each idempotency id, in order."""
        found: dict[bytes, dict[object, tuple[object, ...]]] = {}
        for life in self.lived:
            for event in life.events:
                facts = {each.key: plain(each.value) for each in event.attributes}
                told = found.setdefault(event.trace_id, {})
                identity = facts.pop("toolscore.idempotency_id")
                delivery = tuple(sorted((key, str(value)) for key, value in facts.items()))
                assert told.setdefault(identity, delivery) == delivery, "one id, one result"
        return {trace_id: list(told.values()) for trace_id, told in found.items()}

    @property
    def on_disk(self) -> int:
        """Requests that the journal still holds."""
        return len(self.journal.ledger)
