"""
Readable parts of sessions for unit tests: real traces of `builders`, closed by their root.
"""

from collections.abc import Iterable
from typing import Any

from builders import TraceBuilder, a_trace

from service.app.processing import build_assessor
from service.config import config_from_tree
from service.evidence import CoverageReason
from service.scoring.assessment import Assessment, Assessor
from service.scoring.evidence import ClosingFacts
from service.session_evidence import SessionEvidence, TracePart, in_place


def an_assessor(**tool_scoring: Any) -> Assessor:  # noqa: ANN401 # plain values of a configuration
    return build_assessor(config_from_tree({"processors": {"tool_scoring": tool_scoring}}, environ={}).tool_scoring)


def a_turn(number: int = 1, *, start: float = 0, session: str = "s", **fields: object) -> TraceBuilder:
    """
    A trace of one agent run in the session, to which spans may be added.
    """
    return a_trace(number).agent("planner", start, start + 100, **({"session_id": session} | fields))


def an_assessment(trace: TraceBuilder, reasons: Iterable[CoverageReason] = ()) -> Assessment:
    facts = ClosingFacts(reasons=frozenset(reasons))
    return an_assessor().assess(trace.trace_id, trace.spans, trace.logs, facts)


def a_part(trace: TraceBuilder, reasons: Iterable[CoverageReason] = ()) -> TracePart:
    part = an_assessment(trace, reasons).session_part
    assert part is not None
    return part


def a_session(*traces: TraceBuilder, reasons: Iterable[CoverageReason] = ()) -> SessionEvidence:
    parts = in_place(map(a_part, traces))
    return SessionEvidence(key=parts[0].key, parts=parts, reasons=frozenset(reasons))
