"""
All annotations that count now, as the one mapping that expectations are resolved with.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from service.annotations.annotations_file import AnnotationsFile
from service.annotations.held import HeldAnnotations
from service.annotations.reading import Columns
from service.clock import Clock
from service.config import ToolScoringConfig
from service.durations import SECOND
from service.telemetry.recorder import Gauge, Recorder

INTERVAL_NS = 2 * SECOND
"""How often the file is looked at."""


class LiveAnnotations(Mapping[str, Columns]):
    """
    What was put over HTTP, before what stands in the file. `changed` is called with each occurrence that changes.
    """

    def __init__(self, block: ToolScoringConfig, recorder: Recorder, clock: Clock) -> None:
        self._clock = clock
        self._held = HeldAnnotations(max_entries=block.annotations_api.max_entries, ttl_ns=block.annotations_api.ttl_ns)
        self.changed: Callable[[str], None] = _ignore
        self.file = (
            AnnotationsFile(Path(block.annotations_file), recorder, self._tell) if block.annotations_file else None
        )
        recorder.observe(Gauge.ANNOTATIONS, lambda: len(self._held))

    def put(self, occurrence: str, columns: Columns) -> None:
        """
        Set the annotation of *occurrence*: the newest word on it.
        """
        self.expire()
        self._held.put(occurrence, columns, self._clock.monotonic_ns())
        self._tell(occurrence)

    def delete(self, occurrence: str) -> bool:
        """
        Take back what was put; what the file says holds again. False if nothing was put.
        """
        if not self._held.delete(occurrence):
            return False
        self._tell(occurrence)
        return True

    async def watch(self) -> None:
        """
        Forget what expires, and follow the file, until cancelled.
        """
        while True:
            await asyncio.sleep(INTERVAL_NS / SECOND)
            self.expire()
            if self.file is not None:
                await self.file.reload_if_changed()

    def expire(self) -> None:
        self._held.expire(self._clock.monotonic_ns())

    def _tell(self, occurrence: str) -> None:
        self.changed(occurrence)

    def __getitem__(self, occurrence: str) -> Columns:
        put = self._held.get(occurrence, self._clock.monotonic_ns())
        return self._in_file[occurrence] if put is None else put

    def __iter__(self) -> Iterator[str]:
        return iter({*self._held.occurrences(), *self._in_file})

    def __len__(self) -> int:
        return len({*self._held.occurrences(), *self._in_file})

    @property
    def _in_file(self) -> Mapping[str, Columns]:
        return self.file.annotations if self.file else {}


def _ignore(_occurrence: str) -> None:
    return
