"""
What log records tell of completions whose trace has not been seen yet.

Pure: no clock, no I/O. Log records never open a trace; they wait for its first span, at most one `trace_timeout`.
"""

from collections import OrderedDict
from collections.abc import Callable

from msgspec import Struct

from proto_adapters.canonical import LogCompletion
from service.buffer.trace_evidence import SPAN_EVIDENCE_BYTES


class _Waiting(Struct):
    since_ns: int
    completions: list[tuple[LogCompletion, bytes]]


class WaitingLogs:
    """
    Log completions by trace id, oldest trace first out. Bounded by number and by time.
    """

    def __init__(self, *, limit: int, timeout_ns: int, dropped: Callable[[bytes], None] = lambda _: None) -> None:
        self._dropped = dropped
        self._limit = limit
        self._timeout_ns = timeout_ns
        self._traces: OrderedDict[bytes, _Waiting] = OrderedDict()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def size(self) -> int:
        """Estimated bytes of memory."""
        return self._count * SPAN_EVIDENCE_BYTES

    def add(self, completion: LogCompletion, digest: bytes, now_ns: int) -> None:
        waiting = self._traces.setdefault(completion.trace_id, _Waiting(now_ns, []))
        waiting.completions.append((completion, digest))
        self._count += 1
        while self._count > self._limit:
            self._drop_oldest()

    def take(self, trace_id: bytes) -> list[tuple[LogCompletion, bytes]]:
        """
        What waits for *trace_id*, with the digest of each record; nothing waits for it any more.
        """
        waiting = self._traces.pop(trace_id, None)
        if waiting is None:
            return []
        self._count -= len(waiting.completions)
        return waiting.completions

    def expire(self, now_ns: int) -> None:
        """
        Drop what has waited longer than one `trace_timeout`.
        """
        while self._traces and now_ns - next(iter(self._traces.values())).since_ns > self._timeout_ns:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        trace_id, waiting = self._traces.popitem(last=False)
        self._count -= len(waiting.completions)
        self._dropped(trace_id)
