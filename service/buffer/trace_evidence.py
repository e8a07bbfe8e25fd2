"""
What is kept of the spans of one trace once they were read: the evidence, and which copies of a span were seen.

Pure: no clock, no I/O. Evidence outlives the span bytes (pass_through, early release, closed traces). Which copy of a
span counts does not depend on the order in which copies arrive (design §6.4).
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from proto_adapters.canonical import CanonicalSpan, LogCompletion

SPAN_EVIDENCE_BYTES = 920
"""Memory of one canonical span with its ids and dictionary entries; measured, rounded up."""
CALL_EVIDENCE_BYTES = 160


class SpanVersion(Struct, frozen=True, eq=False):
    """
    One of several differing copies of a span. `raw` is `None` if its bytes had left before the copies met.
    """

    digest: bytes
    span: CanonicalSpan
    raw: bytes | None

    @property
    def rank(self) -> tuple[bool, bytes]:
        """Smallest first: finished copies, then the copy that has left, then the smallest bytes."""
        return not self.span.has_ended, self.raw or b""


def choose_version(versions: Iterable[SpanVersion]) -> tuple[SpanVersion, bool]:
    """
    The copy that counts, and whether the copies conflict (design §6.4).

    Copies that share start and name, exactly one of them finished, are one span told twice: no conflict.
    """
    ranked = sorted(versions, key=lambda version: version.rank)
    finished = sum(1 for version in ranked if version.span.has_ended)
    names = {(version.span.start_ns, version.span.name) for version in ranked}
    return ranked[0], not (len(names) == 1 and finished == 1)


class TraceEvidence:
    """
    The distinct spans and log completions of one trace, as canonical values.
    """

    __slots__ = ("_counting", "_digests", "_fresh", "_logs", "_undecodable", "_versions", "copy_count", "size", "spans")

    def __init__(self) -> None:
        self.spans: dict[bytes, CanonicalSpan] = {}
        self.size = 0
        """Estimated bytes of memory."""
        self.copy_count = 0
        """Distinct copies of spans, readable or not."""
        self._digests: dict[bytes, bytes] = {}
        self._fresh: dict[bytes, bytes] = {}
        self._versions: dict[bytes, dict[bytes, SpanVersion]] = {}
        """Of spans with differing copies: by span id, then by digest."""
        self._counting: dict[bytes, SpanVersion] = {}
        """The one of them that counts."""
        self._logs: dict[bytes, LogCompletion] = {}
        self._undecodable: set[bytes] = set()

    @property
    def logs(self) -> list[LogCompletion]:
        return [self._logs[digest] for digest in sorted(self._logs)]

    @property
    def has_undecodable_spans(self) -> bool:
        return bool(self._undecodable)

    @property
    def has_conflicts(self) -> bool:
        return any(choose_version(versions.values())[1] for versions in self._versions.values())

    def copies(self) -> Iterator[CanonicalSpan]:
        """
        Every distinct copy of every span, also those that do not count.
        """
        for span_id, span in self.spans.items():
            versions = self._versions.get(span_id)
            yield from (version.span for version in versions.values()) if versions else (span,)

    def observe(self, span: CanonicalSpan, digest: bytes, raw: bytes) -> bool:
        """
        Take one span; False if an equal copy was taken before.
        """
        known = self._digests.get(span.span_id)
        if known is None:
            self._digests[span.span_id] = digest
            self._fresh[span.span_id] = raw
            self.spans[span.span_id] = span
            self.copy_count += 1
            self.size += SPAN_EVIDENCE_BYTES + CALL_EVIDENCE_BYTES * len(span.embedded_calls)
            return True
        return known != digest and self._observe_version(span, digest, raw)

    def _observe_version(self, span: CanonicalSpan, digest: bytes, raw: bytes) -> bool:
        span_id = span.span_id
        versions = self._versions.get(span_id)
        if versions is None:
            first = SpanVersion(self._digests[span_id], self.spans[span_id], self._fresh.get(span_id))
            versions = self._versions[span_id] = {first.digest: first}
            self._counting[span_id] = first
        if digest in versions:
            return False
        version = versions[digest] = SpanVersion(digest, span, raw)
        self.copy_count += 1
        if version.rank < self._counting[span_id].rank:
            self._counting[span_id] = version
            self.spans[span_id] = span
        self.size += SPAN_EVIDENCE_BYTES + len(raw)
        return True

    def forget_bytes(self) -> None:
        """
        The bytes of the spans taken so far leave: from now on only their digests can be compared.
        """
        self._fresh.clear()

    def observe_undecodable(self, digest: bytes) -> bool:
        """
        Count one span whose bytes cannot be read; False if it was counted before.
        """
        if digest in self._undecodable:
            return False
        self._undecodable.add(digest)
        self.copy_count += 1
        self.size += 64
        return True

    def observe_log(self, completion: LogCompletion, digest: bytes) -> bool:
        """
        Take what a log record tells of a completion; False if an equal record was taken before.
        """
        if digest in self._logs:
            return False
        self._logs[digest] = completion
        self.size += SPAN_EVIDENCE_BYTES + CALL_EVIDENCE_BYTES * len(completion.embedded_calls)
        return True
