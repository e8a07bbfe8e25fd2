"""
Reading a trace: held span bytes become evidence.

A large trace is read in slices, between which the event loop gets a turn.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from proto_adapters.canonical import CanonicalSpan, Origin, Problem
from proto_adapters.decoding import DecodeOptions, decode_span
from proto_adapters.otlp_decode import digest
from service.buffer.trace_buffer import BufferedTrace, ReadSpan
from service.buffer.trace_evidence import TraceEvidence
from service.telemetry.recorder import Recorder

_logger = logging.getLogger(__name__)

SLICE = 64
"""Spans read before the loop gets a turn (design §2); with 256, acknowledging a small request took a quarter second."""


class Reader:
    """
    Reads spans into the evidence of their trace and counts what they were.
    """

    def __init__(self, options: DecodeOptions, recorder: Recorder) -> None:
        self._options = options
        self._recorder = recorder

    async def read(self, trace: BufferedTrace, *, with_copies: bool = False) -> list[ReadSpan]:
        """
        Read what *trace* holds; gives the distinct new spans, whose bytes are now the caller's; *with_copies* all.
        """
        fresh: list[ReadSpan] = []
        total = since_turn = 0
        for origin, spans in trace.take_held().items():
            for start in range(0, len(spans), SLICE):
                if since_turn >= SLICE:
                    await asyncio.sleep(0)
                    since_turn = 0
                part = spans[start : start + SLICE]
                fresh += self._read_slice(trace.evidence, origin, part, with_copies=with_copies)
                since_turn += len(part)
            total += len(spans)
        return self._finish(trace.evidence, fresh, total)

    def read_now(self, trace: BufferedTrace) -> list[ReadSpan]:
        """
        The same without a turn for the loop, for spans that leave at once.
        """
        held: Mapping[Origin, Sequence[bytes]] = trace.take_held()
        fresh = [span for origin, spans in held.items() for span in self._read_slice(trace.evidence, origin, spans)]
        return self._finish(trace.evidence, fresh, sum(map(len, held.values())))

    def read_again(self, evidence: TraceEvidence, origin: Origin, raw: bytes) -> ReadSpan | None:
        """
        Read one span that an earlier process read and counted; `None` if an equal copy was read before.
        """
        return next(iter(self._read_slice(evidence, origin, [raw])), None)

    def decode(self, origin: Origin, raw: bytes) -> ReadSpan:
        """
        A span beside any evidence.
        """
        return ReadSpan(origin, raw, self._decode(raw, origin))

    def read_ahead(self, trace: BufferedTrace) -> None:
        """
        Read what *trace* holds while it stays: the spans wait, and copies may still be compared with their bytes.
        """
        held: Mapping[Origin, Sequence[bytes]] = trace.take_held()
        fresh = [span for origin, spans in held.items() for span in self._read_slice(trace.evidence, origin, spans)]
        trace.wait_too(fresh)
        self._tell(fresh, sum(map(len, held.values())))

    def _read_slice(
        self, evidence: TraceEvidence, origin: Origin, spans: Iterable[bytes], *, with_copies: bool = False
    ) -> list[ReadSpan]:
        fresh = []
        for raw in spans:
            canonical = self._decode(raw, origin)
            if _observe(evidence, canonical, raw) or with_copies:
                fresh.append(ReadSpan(origin, raw, canonical))
        return fresh

    def _decode(self, raw: bytes, origin: Origin) -> CanonicalSpan | None:
        """
        A fault of ours in reading a span must cost only what it told: it counts as undecodable, and the fault is told.
        """
        try:
            return decode_span(raw, origin, self._options)
        except Exception:
            _logger.exception("reading a span failed")
            return None

    def _finish(self, evidence: TraceEvidence, fresh: list[ReadSpan], total: int) -> list[ReadSpan]:
        evidence.forget_bytes()
        self._tell(fresh, total)
        return fresh

    def _tell(self, fresh: Sequence[ReadSpan], total: int) -> None:
        self._count(span.canonical for span in fresh if span.canonical is not None)
        if total > len(fresh):
            self._recorder.deduplicated(total - len(fresh))

    def _count(self, spans: Iterable[CanonicalSpan]) -> None:
        dialects: Counter[str] = Counter()
        problems: Counter[Problem] = Counter()
        for span in spans:
            if span.dialects:
                dialects[span.dialects[0]] += 1
            if span.problems:
                problems.update(span.problems)
        unrecognised = problems[Problem.UNRECOGNISED_GENAI]
        if dialects or unrecognised:
            self._recorder.spans_read(dialects, unrecognised=unrecognised)
        if problems:
            self._recorder.problems(problems)


def _observe(evidence: TraceEvidence, canonical: CanonicalSpan | None, raw: bytes) -> bool:
    if canonical is None:
        return evidence.observe_undecodable(digest(raw))
    return evidence.observe(canonical, digest(raw), raw)
