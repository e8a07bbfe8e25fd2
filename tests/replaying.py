"""
Replay in tests: what came out of a processor beside what replay says of the same spans or of the stored evidence.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from processing import Processing

from proto_adapters.otlp_json import logs_to_json
from service.app.evidence import kept_facts
from service.app.replaying import rules_factory
from service.config import ToolScoringConfig
from service.evidence_store.contents import document_of
from service.evidence_store.documents import encode_document
from service.processor.outputs import Scored
from service.replay.replay import replay
from service.replay.results import ReplayResult

Said = tuple[object, ...]
"""The `evaluation` part of a result, as far as `replay --json` tells it."""


def framed(requests: Iterable[bytes]) -> bytes:
    """
    A file of serialised requests, each after its length.
    """
    return b"".join(len(request).to_bytes(4, "big") + request for request in requests)


def log_lines(requests: Iterable[bytes]) -> bytes:
    return "".join(logs_to_json(request) + "\n" for request in requests).encode()


def stored(processing: Processing, scored: Scored) -> bytes:
    """
    The evidence document of one closing, as the evidence store writes it.
    """
    assessment = scored.assessment
    document = document_of(
        assessment,
        scored.trigger,
        revisions=scored.revisions,
        annotation=processing.annotations.get(assessment.facts.occurrence),
        kept=kept_facts(processing.block),
    )
    return encode_document(document)


def replayed(block: ToolScoringConfig, *paths: Path, jobs: int = 1) -> list[ReplayResult]:
    return list(replay(paths, rules_factory(block), jobs=jobs))


def said_online(closings: Iterable[Scored]) -> list[Said]:
    """
    What the processor made of each closing.
    """
    return [
        (
            closing.assessment.occurrence,
            evaluation.name,
            evaluation.expectation and str(evaluation.expectation),
            evaluation.status,
            evaluation.score,
            evaluation.label,
            evaluation.bounds and evaluation.bounds.lower,
            evaluation.bounds and evaluation.bounds.upper,
            evaluation.missing,
            evaluation.reason,
            evaluation.explanation,
            closing.assessment.evidence.coverage.reasons,
        )
        for closing in closings
        for evaluation in closing.assessment.evaluations
    ]


def said_in_replay(results: Iterable[ReplayResult]) -> list[Said]:
    return [
        (
            line.occurrence,
            line.evaluation,
            line.expectation,
            line.status,
            line.score,
            line.label,
            line.lower,
            line.upper,
            line.missing,
            result.reason,
            result.explanation,
            line.reasons,
        )
        for result in results
        for line in [result.line]
    ]


def delivered(closings: Iterable[Scored]) -> list[tuple[str, int, str]]:
    """
    What left: evaluation, revision, idempotency id.
    """
    deliveries = [delivery for closing in closings for delivery in closing.deliveries]
    return [(each.evaluation.name, each.revision, each.idempotency_id) for each in deliveries]


def lines(results: Sequence[ReplayResult]) -> list[dict[str, object]]:
    """
    As `--json` prints them.
    """
    return [msgspec.json.decode(result.line.to_json()) for result in results]
