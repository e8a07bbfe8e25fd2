"""
Values read from files, and read again when the files change.

A replaced file that cannot be used keeps the old value in force: a slip in rotating a certificate must not cut off who
is connected. It is counted, logged, and tried again at each look.
"""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from service.clock import Clock, SystemClock
from service.telemetry.recorder import Recorder, Reloadable

T = TypeVar("T")

_logger = logging.getLogger(__name__)


class Reloading(Generic[T]):
    """
    The newest usable value that *load* makes of the files at *paths*. Interval 0 never looks again.

    grpcio asks for certificates from threads of its own; two of them at once may both load, which does no harm.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        load: Callable[[], T],
        recorder: Recorder,
        *,
        interval_ns: int,
        clock: Clock | None = None,
    ) -> None:
        self._paths = paths
        self._load = load
        self._recorder = recorder
        self._interval_ns = interval_ns
        self._clock = clock or SystemClock()
        self._signature = self._look()
        self._value = load()
        self._next_look_ns = self._clock.monotonic_ns() + interval_ns

    def current(self) -> T:
        """
        Never raises once it was made; costs a `stat` for each file, once in an interval.
        """
        now_ns = self._clock.monotonic_ns()
        if self._paths and self._interval_ns and now_ns >= self._next_look_ns:
            self._next_look_ns = now_ns + self._interval_ns
            self._reload_if_changed()
        return self._value

    def _reload_if_changed(self) -> None:
        signature = self._look()
        if signature == self._signature:
            return
        try:
            self._value = self._load()
        except (OSError, ValueError) as error:
            self._recorder.reloaded(Reloadable.CREDENTIALS, succeeded=False)
            _logger.warning("%s changed but cannot be used, the old one stays: %s", self._names(), error)
            return
        self._signature = signature
        self._recorder.reloaded(Reloadable.CREDENTIALS, succeeded=True)
        _logger.info("%s was read again", self._names())

    def _look(self) -> list[tuple[int, int, int] | None]:
        return [_signature(path) for path in self._paths]

    def _names(self) -> str:
        return ", ".join(map(str, self._paths))


def _signature(path: Path) -> tuple[int, int, int] | None:
    """Enough to see a change; symbolic links are followed, since Kubernetes swaps those."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
