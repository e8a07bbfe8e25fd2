"""
The most recent occurrences, in a ring that is bounded by number and by bytes.

What is held is encoded, so that its size is exact and nothing of a trace is kept alive. Owned by the event loop; pages
read snapshots.
"""

from collections import OrderedDict
from collections.abc import Callable

import msgspec
from msgspec import Struct

from service.clock import Clock
from service.live_page.record import Detail, Summary
from service.live_page.recording import detail_of, summary_of, token_of
from service.processor.outputs import Scored
from service.scoring.settings import ScoringSettings

MAX_OCCURRENCES = 1_000
MAX_BYTES = 32 * 1024 * 1024
ENTRY_BYTES = 1_024
"""Memory of one entry beside what is encoded: objects, keys, its place in the dictionaries."""

_encoder = msgspec.msgpack.Encoder()
_summaries = msgspec.msgpack.Decoder(Summary)
_details = msgspec.msgpack.Decoder(Detail)


class Entry(Struct, frozen=True):
    """
    One occurrence, encoded.
    """

    encoded_summary: bytes
    encoded_detail: bytes
    result_ids: tuple[str, ...]

    @property
    def size(self) -> int:
        return ENTRY_BYTES + len(self.encoded_summary) + len(self.encoded_detail)

    @property
    def summary(self) -> Summary:
        return _summaries.decode(self.encoded_summary)

    @property
    def detail(self) -> Detail:
        return _details.decode(self.encoded_detail)


class RecentOccurrences:
    """
    Keeps what was closed last. Implements `service.processor.outputs.Observer`.
    """

    def __init__(
        self,
        clock: Clock,
        settings: ScoringSettings,
        *,
        max_occurrences: int = MAX_OCCURRENCES,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._clock = clock
        self._settings = settings
        self._max_occurrences = max_occurrences
        self._max_bytes = max_bytes
        self._entries: OrderedDict[str, Entry] = OrderedDict()
        self._tokens_by_result: dict[str, str] = {}
        self._listeners: list[Callable[[Summary], None]] = []
        self.size = 0
        self.seen_count = 0
        """Occurrences and revisions that were taken."""

    def __len__(self) -> int:
        return len(self._entries)

    def listen(self, listener: Callable[[Summary], None]) -> None:
        """
        Tell *listener* of each occurrence that is taken. It must be quick and must not raise.
        """
        self._listeners.append(listener)

    def scored(self, scored: Scored) -> None:
        """
        Take one closing.
        """
        self.seen_count += 1
        before = self._take_out(token_of(scored.assessment))
        summary = summary_of(scored, self._clock.now_ns())
        detail = detail_of(scored, summary, self._settings, before.detail if before else None)
        self._put(summary, detail)
        for listener in self._listeners:
            listener(summary)

    def _put(self, summary: Summary, detail: Detail) -> None:
        ids = tuple(outcome.idempotency_id for outcome in summary.outcomes if outcome.idempotency_id)
        entry = Entry(_encoder.encode(summary), _encoder.encode(detail), ids)
        self._entries[summary.token] = entry
        self._tokens_by_result.update(dict.fromkeys(ids, summary.token))
        self.size += entry.size
        while len(self._entries) > self._max_occurrences or (self.size > self._max_bytes and self._entries):
            self._take_out(next(iter(self._entries)))

    def _take_out(self, token: str) -> Entry | None:
        entry = self._entries.pop(token, None)
        if entry is not None:
            self.size -= entry.size
            for result_id in entry.result_ids:
                self._tokens_by_result.pop(result_id, None)
        return entry

    def get(self, token: str) -> Entry | None:
        return self._entries.get(token)

    def newest_first(self) -> list[Entry]:
        """
        A snapshot of all that is held.
        """
        return list(reversed(self._entries.values()))

    def find(self, text: str) -> str | None:
        """
        The token of the occurrence that *text* names: an idempotency id, a trace id or the beginning of one.
        """
        text = text.strip().lower()
        if text in self._tokens_by_result:
            return self._tokens_by_result[text]
        return next((token for token in reversed(self._entries) if token.startswith(text)), None) if text else None
