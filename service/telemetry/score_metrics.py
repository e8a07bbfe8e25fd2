"""
Metrics about agents: what evaluations say, by the configured dimensions.

Values in, counts out: no clock (the time of an exemplar is a parameter), no I/O. Ids go into exemplars and never into
dimensions (design §9).
"""

from service.evaluation import Evaluation, Verdict
from service.telemetry import instruments
from service.telemetry.lifetimes import Labels
from service.telemetry.meter import Meter, SeenOn
from service.telemetry.recorder import Subject

MAX_VALUE_LENGTH = 200
"""Of a dimension. Senders choose these values, and each is held as long as its series."""

DEFINITE = {Verdict.TRUE, Verdict.FALSE}


class ScoreMetrics:
    def __init__(self, meter: Meter, dimensions: tuple[str, ...] = ()) -> None:
        self._dimensions = dimensions
        self._score = meter.histogram(instruments.GEN_AI_EVALUATION_SCORE, dimensions)
        self._evaluations = meter.counter(instruments.EVALUATIONS, dimensions)
        self._missing_tools = meter.counter(instruments.MISSING_TOOLS, dimensions)
        self._revisions = meter.counter(instruments.REVISIONS)
        self._overturned_verdicts = meter.counter(instruments.OVERTURNED_VERDICTS)
        self._early_verdicts = meter.counter(instruments.EARLY_VERDICTS)

    def count(self, evaluation: Evaluation, subject: Subject) -> None:
        base, dimensions = self._labels(evaluation, subject)
        reason = evaluation.reason or ""
        self._evaluations.add(1, (*base, outcome(evaluation), subject.coverage.label, reason, *dimensions))
        if evaluation.score is not None:
            for tool in evaluation.missing:
                self._missing_tools.add(1, (*base, tool, *dimensions))

    def enter(self, evaluation: Evaluation, subject: Subject, now_ns: int) -> None:
        """
        Put the score into the histogram. One that is no number does not enter (`undetermined` is not 0).
        """
        if evaluation.score is None:
            return
        base, dimensions = self._labels(evaluation, subject)
        seen_on = SeenOn(now_ns, subject.trace_id, subject.span_id) if subject.trace_id else None
        self._score.record(evaluation.score, (*base, *dimensions), seen_on)

    def revise(self, before: Evaluation, after: Evaluation) -> None:
        labels = (after.name, outcome(before), outcome(after))
        self._revisions.add(1, labels)
        if before.label != after.label and {before.label, after.label} <= DEFINITE:
            self._overturned_verdicts.add(1, labels)

    def decide_early(self, evaluation: Evaluation) -> None:
        self._early_verdicts.add(1, (evaluation.name, outcome(evaluation)))

    def _labels(self, evaluation: Evaluation, subject: Subject) -> tuple[Labels, Labels]:
        base = (
            evaluation.name,
            evaluation.expectation or "",
            subject.partition,
            label_value(subject.service_name),
            label_value(subject.agent_name or ""),
        )
        if not self._dimensions:
            return base, ()
        values = dict(subject.dimensions)
        return base, tuple(label_value(values.get(key, "")) for key in self._dimensions)


def outcome(evaluation: Evaluation) -> str:
    """
    The verdict of a condition, or the status of what has none.
    """
    return evaluation.label or evaluation.status


def label_value(text: str) -> str:
    """
    *text* cut to the limit, and without what UTF-8 cannot hold (lone surrogates out of JSON).
    """
    cut = text[:MAX_VALUE_LENGTH]
    return cut if cut.isascii() else cut.encode("utf-8", "replace").decode()
