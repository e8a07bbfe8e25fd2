"""
Annotations that came in over HTTP: bounded in number, size and age.

Pure: no clock, no lock, no I/O. The event loop is its only owner.
"""

from collections import OrderedDict
from collections.abc import Iterator

from msgspec import Struct

from service.annotations.reading import Columns

MAX_BYTES = 16 * 1024 * 1024
ENTRY_BYTES = 400
"""What an entry costs beyond its text; measured, rounded up."""


class _Held(Struct, frozen=True):
    columns: Columns
    expires_ns: int
    size: int


class HeldAnnotations:
    """
    Annotations by occurrence, each until it is replaced, expires, or is pushed out as the oldest.
    """

    def __init__(self, *, max_entries: int, ttl_ns: int, max_bytes: int = MAX_BYTES) -> None:
        self._max_entries = max_entries
        self._ttl_ns = ttl_ns
        self._max_bytes = max_bytes
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return len(self._held)

    def put(self, occurrence: str, columns: Columns, now_ns: int) -> None:
        """
        Hold *columns*, in place of what was held for *occurrence*.
        """
        self.delete(occurrence)
        texts = (occurrence, *columns, *columns.values())
        entry = _Held(columns, now_ns + self._ttl_ns, ENTRY_BYTES + sum(map(len, texts)))
        self._held[occurrence] = entry
        self._size += entry.size
        while len(self._held) > self._max_entries or self._size > self._max_bytes:
            self._drop_oldest()

    def get(self, occurrence: str, now_ns: int) -> Columns | None:
        entry = self._held.get(occurrence)
        return None if entry is None or entry.expires_ns <= now_ns else entry.columns

    def delete(self, occurrence: str) -> bool:
        """
        Forget what is held for *occurrence*; False if nothing is.
        """
        entry = self._held.pop(occurrence, None)
        if entry is None:
            return False
        self._size -= entry.size
        return True

    def expire(self, now_ns: int) -> None:
        """
        Forget what is too old; the oldest come first, since all live equally long.
        """
        while self._held and next(iter(self._held.values())).expires_ns <= now_ns:
            self._drop_oldest()

    def occurrences(self) -> Iterator[str]:
        return iter(self._held)

    def _drop_oldest(self) -> None:
        _, entry = self._held.popitem(last=False)
        self._size -= entry.size
