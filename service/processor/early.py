"""
Early verdicts: what can be said of traces that are still open, while they grow.

Looked for at ticks, in traces that got new spans, and the more rarely the larger a trace is: the time spent on one
trace stays a small share of the time that passes.
"""

import asyncio
import logging

from service.buffer.trace_buffer import BufferedTrace, TraceBuffer
from service.clock import Clock
from service.evaluation import Evaluation
from service.processor.delivery import Delivery
from service.processor.outputs import Outputs
from service.processor.reading import Reader
from service.scoring.assessment import Assessment, Assessor

_logger = logging.getLogger(__name__)

PAUSE_PER_SPAN_NS = 4_000_000
"""Assembling and scoring takes about a hundredth of this for each span (40 µs, measured)."""


class EarlyVerdicts:
    """
    Delivers each early verdict of a trace once.
    """

    def __init__(
        self, reader: Reader, *, buffer: TraceBuffer, assessor: Assessor, outputs: Outputs, clock: Clock
    ) -> None:
        self._reader = reader
        self._buffer = buffer
        self._assessor = assessor
        self._outputs = outputs
        self._clock = clock
        self._changed: dict[bytes, BufferedTrace] = {}

    def note(self, trace: BufferedTrace) -> None:
        """
        New spans of *trace* came.
        """
        if _may_tell(trace):
            self._changed[trace.trace_id] = trace

    async def look(self, now_ns: int) -> None:
        """
        Look at the traces that changed, with turns for the loop in between.
        """
        for trace in list(self._changed.values()):
            if trace.early_after_ns > now_ns:
                continue
            self._changed.pop(trace.trace_id, None)
            if _may_tell(trace) and self._buffer.holds(trace):
                self._look_at(trace, now_ns)
                await asyncio.sleep(0)

    def _look_at(self, trace: BufferedTrace, now_ns: int) -> None:
        self._reader.read_ahead(trace)
        self._buffer.update_size(trace)
        trace.early_after_ns = now_ns + PAUSE_PER_SPAN_NS * len(trace.evidence.spans)
        try:
            self._tell(trace)
        except Exception:
            _logger.exception("looking for early verdicts failed")

    def _tell(self, trace: BufferedTrace) -> None:
        evidence = trace.evidence
        assessment = self._assessor.assess_early(trace.trace_id, list(evidence.spans.values()), evidence.logs)
        fresh = [each for each in assessment.evaluations if _key(each) not in trace.early_given]
        if fresh:
            trace.early_given.update(map(_key, fresh))
            self._outputs.send_early(assessment, [_delivery(assessment, evaluation) for evaluation in fresh])


def _may_tell(trace: BufferedTrace) -> bool:
    """
    After the first closing there are revisions.
    """
    return trace.is_open and not trace.is_closing and not trace.histories


def _key(evaluation: Evaluation) -> tuple[str, str | None]:
    return evaluation.identifier, evaluation.expectation


def _delivery(assessment: Assessment, evaluation: Evaluation) -> Delivery:
    return Delivery(
        evaluation=evaluation,
        coverage=assessment.evidence.coverage,
        partition=assessment.partition,
        occurrence=assessment.occurrence,
        trigger=None,
        is_final=False,
        is_early=True,
    )
