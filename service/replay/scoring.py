"""
Scores one partition: every trace that its spans make up, every evidence document, in the order of the input.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from proto_adapters.decoding import DecodeOptions
from proto_adapters.split import OriginTable
from service.evidence import Trigger
from service.evidence_store.documents import EvidenceDocument
from service.replay.files import LENGTH_SIZE
from service.replay.partitions import read_chunks
from service.replay.results import ReplayResult, results_of_document, results_of_trace
from service.replay.traces import RecordedTrace, TraceCollector, assess_all
from service.root_condition import RootCondition
from service.scoring.assessment import Assessor
from service.session_evidence import TracePart, group_by_session

Placed = tuple[int, list[ReplayResult]]
"""The results of one closing, and the place of its first span or of its document in the input."""

PlacedTraces = list[tuple[int, RecordedTrace]]
PlacedDocuments = list[tuple[int, EvidenceDocument]]

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Placed)


class ReplayRules(Struct, frozen=True, eq=False):
    """
    What is scored against.
    """

    assessor: Assessor
    condition: RootCondition
    decoding: DecodeOptions
    with_sessions: bool = False


class ScoredPartition(Struct, frozen=True):
    """
    The file of the results of one partition, and what its traces hand to their sessions.
    """

    path: Path
    parts: list[TracePart]


RulesFactory = Callable[[], ReplayRules]
"""Makes the rules anew in the process that uses them; it must be picklable."""


def score_partition(path: Path, make_rules: RulesFactory) -> ScoredPartition:
    """
    Score the partition at *path*.
    """
    results, parts = path.with_suffix(".results"), list[TracePart]()
    with results.open("wb") as file:
        for placed in score_chunks(path, make_rules(), parts):
            line = _encoder.encode(placed)
            file.write(len(line).to_bytes(LENGTH_SIZE, "big") + line)
    path.unlink()
    return ScoredPartition(results, parts)


def score_sessions(parts: Iterable[TracePart], rules: ReplayRules) -> Iterator[ReplayResult]:
    """
    The results of the sessions that recorded traces belong to: each went idle, as far as a recording tells.
    """
    for session in group_by_session(parts):
        assessment = rules.assessor.assess_session(session)
        if assessment.is_eligible:
            yield from results_of_trace(assessment, Trigger.IDLE_TIMEOUT)


def read_results(path: Path) -> Iterator[Placed]:
    """
    The results of one partition in order.
    """
    with path.open("rb") as file:
        while prefix := file.read(LENGTH_SIZE):
            yield _decoder.decode(file.read(int.from_bytes(prefix, "big")))


def score_chunks(path: Path, rules: ReplayRules, parts: list[TracePart]) -> Iterator[Placed]:
    """
    The results of everything in one partition, by place; what belongs to sessions is added to *parts*.
    """
    traces, documents = _collect(path, rules.decoding)
    return heapq.merge(
        _score_traces(traces, rules, parts), _score_documents(documents, rules), key=lambda placed: placed[0]
    )


def _score_traces(traces: PlacedTraces, rules: ReplayRules, parts: list[TracePart]) -> Iterator[Placed]:
    for place, trace in traces:
        assessed = assess_all(trace, rules.assessor, rules.condition)
        if rules.with_sessions:
            parts += filter(None, (assessment.session_part for assessment, _ in assessed))
        yield place, [result for each in assessed for result in results_of_trace(*each)]


def _score_documents(documents: PlacedDocuments, rules: ReplayRules) -> Iterator[Placed]:
    newest = {(document.partition, document.occurrence): place for place, document in documents}
    for place, document in documents:
        is_superseded = newest[document.partition, document.occurrence] != place
        yield place, list(results_of_document(document, rules.assessor, is_superseded=is_superseded))


def _collect(path: Path, options: DecodeOptions) -> tuple[PlacedTraces, PlacedDocuments]:
    collector, table = TraceCollector(options), OriginTable()
    places: dict[bytes, int] = {}
    documents: PlacedDocuments = []
    for chunk in read_chunks(path):
        origins = [table.intern(resource, scope) for resource, scope in chunk.origins]
        for span in chunk.spans:
            trace = collector.add_span(origins[span.origin], span.data)
            if trace is not None:
                places.setdefault(trace.trace_id, span.place)
        for log in chunk.logs:
            collector.add_log(origins[log.origin], log.data)
        documents += chunk.documents
    return [(places[trace_id], trace) for trace_id, trace in collector.finish().items()], documents
