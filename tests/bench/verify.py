"""
Correctness at speed: every span that was sent arrives once, as it was sent but for our attributes on the roots.

Spans are compared as protobuf's own library writes them, fields unknown to OTLP included, so that nothing of ours
judges itself.
"""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from bench.corpus import Corpus
from bench.load import send
from bench.services import Service
from bench.yardsticks import serve
from e2e.peers import free_port
from msgspec import Struct
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

OURS = "toolscore."
SCORE = "toolscore.evaluation.tool_selection_accuracy.status"
ALL_WITHIN_S = 30.0
POLL_EVERY_S = 0.25


class Verification(Struct, frozen=True):
    """
    What became of the spans; all but `sent` and `scored_roots` must be 0.
    """

    sent: int
    lost: int
    changed: int
    duplicated: int
    unscored_roots: int
    scored_roots: int

    @property
    def is_clean(self) -> bool:
        return not (self.lost or self.changed or self.duplicated or self.unscored_roots) and self.scored_roots > 0


def verify(corpus: Corpus, service: Service, *, passes: int = 1) -> Verification:
    """
    Send *corpus* through *service* and compare what leaves with what was sent.
    """
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_verify(corpus, service, Path(folder), passes))


async def _verify(corpus: Corpus, service: Service, directory: Path, passes: int) -> Verification:
    arrived: list[bytes] = []

    async def keep(request: bytes, context: object) -> bytes:
        del context
        arrived.append(request)
        return b""

    port = free_port()
    sink = await serve(keep, port)
    with service(directory, f"127.0.0.1:{port}") as subject:
        sent = await send(subject.target, corpus, passes=passes, keep=True)
        await _arrival(arrived, sent.spans)
    await sink.stop(1)
    return _compared(sent.requests, arrived)


async def _arrival(arrived: list[bytes], wanted: int) -> None:
    """
    Wait until *wanted* spans arrived, or no more are to be expected; then for what should not come any more.
    """
    for _ in range(round(ALL_WITHIN_S / POLL_EVERY_S)):
        if sum(1 for request in arrived for _ in _spans(request)) >= wanted:
            break
        await asyncio.sleep(POLL_EVERY_S)
    await asyncio.sleep(2 * POLL_EVERY_S)


def _compared(sent: list[bytes], arrived: list[bytes]) -> Verification:
    expected = {_identity(span): span.SerializeToString() for request in sent for span in _spans(request)}
    copies: Counter[tuple[bytes, bytes]] = Counter()
    changed = unscored = scored = 0
    for span in (span for request in arrived for span in _spans(request)):
        identity = _identity(span)
        copies[identity] += 1
        has_score = SCORE in _take_ours(span)
        changed += span.SerializeToString() != expected.get(identity)
        if not span.parent_span_id:
            scored += has_score
            unscored += not has_score
    return Verification(
        sent=len(expected),
        lost=len(expected.keys() - copies.keys()),
        changed=changed,
        duplicated=sum(count - 1 for count in copies.values()),
        unscored_roots=unscored,
        scored_roots=scored,
    )


def _take_ours(span: Span) -> set[str]:
    """
    Take our attributes off *span*; gives their keys.
    """
    ours = {pair.key for pair in span.attributes if pair.key.startswith(OURS)}
    if ours:
        others = [pair for pair in span.attributes if pair.key not in ours]
        del span.attributes[:]
        span.attributes.extend(others)
    return ours


def _identity(span: Span) -> tuple[bytes, bytes]:
    return span.trace_id, span.span_id


def _spans(request: bytes) -> Iterator[Span]:
    for resource in ExportTraceServiceRequest.FromString(request).resource_spans:
        for scope in resource.scope_spans:
            yield from scope.spans
