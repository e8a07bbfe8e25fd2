"""
`annotations_file`: read at start, and again when it changes.

A file that cannot be read as a whole stops the start; later it keeps the annotations of the last good one in force,
is told in the log and counted. It is read and parsed off the event loop.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from pathlib import Path

from service.annotations.reading import MAX_FILE_BYTES, Columns, Problems, UnreadableAnnotations, read_annotations
from service.errors import ConfigError
from service.telemetry.recorder import Recorder, Reloadable

_logger = logging.getLogger(__name__)

MAX_TOLD = 10
CONFIG_PATH = "processors::tool_scoring::annotations_file"

Signature = tuple[int, int, int]


class AnnotationsFile:
    """
    The annotations of the last good version of the file. *changed* is told each occurrence whose annotation changed.
    """

    def __init__(self, path: Path, recorder: Recorder, changed: Callable[[str], None]) -> None:
        self._path = path
        self._recorder = recorder
        self._changed = changed
        self._signature: Signature | None = None
        self.annotations: Mapping[str, Columns] = {}

    def load(self) -> None:
        """
        Read the file for the first time. Raises `ConfigError`.
        """
        self._signature = _signature(self._path)
        try:
            self.annotations, problems = read_annotations_file(self._path)
        except UnreadableAnnotations as error:
            raise ConfigError([(CONFIG_PATH, f"{self._path.name} {error}")]) from error
        self._tell(problems)

    async def reload_if_changed(self) -> None:
        """
        Read the file if it is not the one that was read last.
        """
        signature = await asyncio.to_thread(_signature, self._path)
        if signature == self._signature:
            return
        self._signature = signature
        try:
            annotations, problems = await asyncio.to_thread(read_annotations_file, self._path)
        except UnreadableAnnotations as error:
            self._recorder.reloaded(Reloadable.ANNOTATIONS, succeeded=False)
            _logger.warning("%s changed but cannot be used, the old annotations stay: it %s", self._path, error)
            return
        self._recorder.reloaded(Reloadable.ANNOTATIONS, succeeded=True)
        self._tell(problems)
        self._replace(annotations)

    def _replace(self, annotations: Mapping[str, Columns]) -> None:
        before, self.annotations = self.annotations, annotations
        for occurrence in before.keys() | annotations.keys():
            if before.get(occurrence) != annotations.get(occurrence):
                self._changed(occurrence)

    def _tell(self, problems: Problems) -> None:
        for path, message in problems[:MAX_TOLD]:
            _logger.warning("%s: %s: %s", self._path, path, message)
        if len(problems) > MAX_TOLD:
            _logger.warning("%s: %d more annotations cannot be read", self._path, len(problems) - MAX_TOLD)


def read_annotations_file(path: Path) -> tuple[Mapping[str, Columns], Problems]:
    """
    All annotations of the file at *path*. Raises `UnreadableAnnotations`.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise UnreadableAnnotations(f"cannot be read: {error.strerror or error}") from error
    return read_annotations(content)


def _signature(path: Path) -> Signature | None:
    """Enough to see a change; symbolic links are followed, since Kubernetes swaps those."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
