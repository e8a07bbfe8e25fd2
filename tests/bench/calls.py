"""
The tool calls of a corpus, for other scorers to score, and what the service takes to score the same traces.
"""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.agent_traffic import EXPECTED_TOOLS, Profile, synthetic_corpus
from bench.stages import Parts
from msgspec import Struct

from service.evidence import Trigger
from service.scoring.assessment import Assessment
from service.scoring.scorer import evaluate
from service.scoring.settings import DEFAULT_SCORING

REPEATS = 5


class Scored(Struct, frozen=True):
    """
    CPU time for a trace: of its spans into scores, and of its calls into scores.
    """

    traces: int
    calls: int
    from_spans_us: float
    from_calls_us: float

    def __str__(self) -> str:
        head = f"{self.traces} traces, {self.calls} calls"
        return f"{head}: {self.from_spans_us:.0f} us a trace from spans, {self.from_calls_us:.0f} us from calls"


def score_and_write(file: Path, *, traces: int) -> Scored:
    """
    Score *traces* runs, and write their calls to *file*: one trace a line, the names called and the names expected.
    """
    parts = Parts()
    buffered = parts.buffered(synthetic_corpus(Profile.CONTENT, batch=128, traces=traces).requests())
    read = [(trace, parts.reader.read_now(trace)) for trace in buffered]

    def from_spans() -> list[Assessment]:
        plans = [parts.planner.plan(trace, Trigger.ROOT_SPAN, spans) for trace, spans in read]
        return [plan.occurrences[0].assessment for plan in plans]

    assessments = from_spans()
    _write(file, assessments)
    return Scored(
        traces=len(assessments),
        calls=sum(len(each.trace.called_names) for each in assessments),
        from_spans_us=_least_us(from_spans) / traces,
        from_calls_us=_least_us(lambda: [evaluate(a.evidence, a.resolution, DEFAULT_SCORING) for a in assessments])
        / traces,
    )


def _write(file: Path, assessments: Sequence[Assessment]) -> None:
    lines = [{"called": list(each.trace.called_names), "expected": EXPECTED_TOOLS} for each in assessments]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def _least_us(work: Callable[[], object]) -> float:
    """
    CPU time of *work*, the least of some repetitions.
    """
    times = []
    for _ in range(REPEATS):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return min(times) * 1e6
