"""
Releases: the span bytes of a trace on their way out, some of them with attributes appended.

Pure: bytes in, bytes out. Nothing in a span changes but what is added, and our own forged keys that are cut from the
spans that are written to (design §9).
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from proto_adapters.canonical import NO_ATTRIBUTES, Attributes, Origin
from proto_adapters.otlp_encode import cut_attributes, encode_attributes
from proto_adapters.wire import is_overgrown
from service.buffer.trace_buffer import ReadSpan
from service.processor.settings import Annotate
from service.processor.signals import PREFIX


class Annotated(NamedTuple):
    groups: dict[Origin, list[bytes]]
    forged_removed: int
    has_root: bool
    """The root is among the spans and carries the attributes."""


class Annotator:
    """
    Writes attributes on spans as they leave.
    """

    def __init__(self, annotate: Annotate, *, drop_untrusted: bool, kept: Collection[str] = frozenset()) -> None:
        self._annotate = annotate
        self._drop_untrusted = drop_untrusted
        self._kept = kept

    def annotate(
        self, spans: Iterable[ReadSpan], root_id: bytes | None, attributes: Attributes, others: Attributes
    ) -> Annotated:
        """
        *spans* by origin: the root with *attributes*, every other span with *others*; overgrown ones as they came.
        """
        groups: dict[Origin, list[bytes]] = {}
        root_record, other_record = self._encode(attributes), self._encode(others)
        forged_removed, has_root = 0, False
        for origin, raw, canonical in spans:
            is_root = canonical is not None and canonical.span_id == root_id
            record = root_record if is_root else other_record
            span = raw
            if record and canonical is not None and not is_overgrown(raw):
                span, removed = self._append(raw, record)
                forged_removed += removed
                has_root = has_root or is_root
            groups.setdefault(origin, []).append(span)
        return Annotated(groups, forged_removed, has_root)

    @staticmethod
    def bare(spans: Iterable[ReadSpan]) -> dict[Origin, list[bytes]]:
        """
        *spans* by origin, as they came.
        """
        groups: dict[Origin, list[bytes]] = {}
        for origin, raw, _ in spans:
            groups.setdefault(origin, []).append(raw)
        return groups

    def others(self, attributes: Attributes) -> Attributes:
        """
        What the spans beside the root carry of the root's *attributes*.
        """
        return attributes if self._annotate is Annotate.ALL else NO_ATTRIBUTES

    def _encode(self, attributes: Attributes) -> bytes:
        return b"" if self._annotate is Annotate.NONE else encode_attributes(attributes)

    def _append(self, span: bytes, record: bytes) -> tuple[bytes, int]:
        if not self._drop_untrusted:
            return span + record, 0
        cut, removed = cut_attributes(span, PREFIX, self._kept)
        return cut + record, removed
