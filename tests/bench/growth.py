"""
How cost grows: one curve for each thing that there may be much of.

A curve is a piece of work for each of several sizes, with the number of units in it; cost per unit should stay flat.
Work is measured as CPU time for the plots, and counted as executed lines of Python for the test, which are the same on
every machine.
"""

import asyncio
import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from bench.agent_traffic import EXPECTED_TOOLS, Profile, synthetic_corpus
from bench.stages import MINUTE_NS, Parts, Run, finish, pass_through
from dialect_views import span_view
from msgspec import Struct
from msgspec.structs import replace
from scoring_builders import a_tool_call, tool_spans
from session_builders import a_part, a_turn

from proto_adapters.canonical import AttributeValue, SpanView
from proto_adapters.dialects import DIALECTS, Dialect
from proto_adapters.span_read import read_span
from proto_adapters.split import split_traces
from service.buffer.sessions import SessionLimits, SessionStore
from service.conditions import parse_condition
from service.config.expectations import ExpectationConfig
from service.evaluation import Bounds, Evaluation, Status
from service.evidence import Coverage, Partition
from service.pipeline import Signal
from service.scoring.conditions import evaluate_condition
from service.scoring.expectations import OccurrenceFacts, Resolver
from service.scoring.settings import DEFAULT_SCORING
from service.telemetry.otel_recorder import OtelRecorder
from service.telemetry.recorder import Subject

TURNS = 1_040
"""Spans read for the curve of dialects; a multiple of its sizes for counting."""


class Work(Struct, frozen=True):
    """
    One piece of work, and how many units it is.
    """

    run: Run
    units: int


class Curve(Struct, frozen=True):
    """
    How the cost of one *unit* depends on the number of *things*.
    """

    name: str
    things: str
    unit: str
    sizes: tuple[int, ...]
    small_sizes: tuple[int, int]
    """Two sizes for counting, the second four times the first."""
    work: Callable[[int], Work]


def open_traces(count: int) -> Work:
    """
    Requests into a buffer with *count* open traces, and a look at the deadlines.
    """
    requests = synthetic_corpus(Profile.LEAN, batch=128, traces=count, at_once=count, spans=2).requests()
    parts = Parts()
    splits = [split_traces(request, parts.origins) for request in requests]
    intake, buffer = parts.intake()

    def run() -> None:
        for split in splits:
            intake.take_spans(split, 0)
            assert buffer.next_due(1) is None

    return Work(run, 2 * count)


def spans_per_trace(count: int) -> Work:
    """
    One trace of *count* spans, from requests to requests.
    """
    requests = synthetic_corpus(Profile.LEAN, batch=128, traces=1, spans=count).requests()
    parts = Parts()
    processor = parts.processor()
    return Work(lambda: asyncio.run(pass_through(processor, parts.clock, requests)), count)


def attempts_per_tool(count: int) -> Work:
    """
    The order of two tools, each called *count* times, all overlapping the next.
    """
    calls = [a_tool_call("ab"[place % 2], 10 * place, 10 * place + 15) for place in range(2 * count)]
    evidence = tool_spans(*calls)
    condition = parse_condition({"condition_type": "tools_called_in_order", "tools": ["a", "b"]})
    return Work(lambda: evaluate_condition(condition, evidence, "policy", DEFAULT_SCORING), 2 * count)


def expectations(count: int) -> Work:
    """
    As many occurrences as there are entries, of twenty sorts, each fitting the last entries only.
    """
    entries = [
        ExpectationConfig.model_validate(
            {
                "name": f"entry-{number}",
                "match": {"agent_name": f"agent-{number}"},
                "expected_tools": list(EXPECTED_TOOLS),
            }
        )
        for number in range(count)
    ]
    resolver = Resolver(entries=entries)
    sorts = [
        OccurrenceFacts(agent_name=f"agent-{count - 1 - number % min(20, count)}", has_agent=True)
        for number in range(count)
    ]
    for facts in sorts[:20]:
        resolver.resolve(facts)
    return Work(lambda: [resolver.resolve(facts) for facts in sorts], count)


def label_sets(count: int) -> Work:
    """
    Scores of *count* different agents into the metrics, and a collection of them.
    """
    recorder = OtelRecorder(Parts().clock)
    evaluation = Evaluation(
        name="selection",
        type="t",
        version="1",
        identifier="i",
        status=Status.SCORED,
        score=0.5,
        bounds=Bounds(0.5, 0.5),
    )
    subjects = [
        Subject(partition=Partition.TRACE, coverage=Coverage(), agent_name=f"agent-{number}") for number in range(count)
    ]

    def run() -> None:
        for subject in subjects:
            recorder.scored(evaluation, subject, enters_histogram=True)
        recorder.collect()

    return Work(run, count)


def sessions_open(count: int) -> Work:
    """
    A further trace for each of *count* open sessions, and a look at which is due.
    """
    first = a_part(a_turn())
    store = SessionStore(SessionLimits(max_sessions=count))
    for number in range(count):
        store.add(replace(first, session_id=f"s{number}", occurrence=f"a{number}"), 0)
    further = [replace(first, session_id=f"s{number}", occurrence=f"b{number}") for number in range(count)]

    def run() -> None:
        for part in further:
            store.add(part, 1)
            assert store.next_due(1) is None

    return Work(run, count)


def dialects(count: int) -> Work:
    """
    Tool spans that differ in which of *count* dialects marks them, by turns.
    """
    views = [_marked_view(dialect) for dialect in DIALECTS[:count]]
    turns = [views[number % count] for number in range(TURNS)]
    return Work(lambda: [read_span(view) for view in turns], TURNS)


def _marked_view(dialect: Dialect) -> SpanView:
    """
    A tool span with the first key that *dialect* is known by, or its scope.
    """
    known = dialect.recognised_by
    told: dict[str, AttributeValue] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "lookup"}
    marks: dict[str, AttributeValue] = dict.fromkeys((key.replace("*", "x") for key in known.keys[:1]), "x")
    return span_view(told | marks, scope=next(iter(known.scopes), "").replace("*", "x"))


def deadlines(count: int) -> Work:
    """
    *count* traces that are all due at once, scored and released.
    """
    requests = synthetic_corpus(Profile.LEAN, batch=128, traces=count, at_once=count, spans=2).requests()
    parts = Parts()
    processor = parts.processor()
    for request in requests:
        finish(processor.consume(Signal.TRACES, request))
    parts.clock.advance(MINUTE_NS)
    return Work(lambda: finish(processor.tick()), 2 * count)


CURVES = (
    Curve("open traces", "open traces", "span taken", (100, 1_000, 10_000, 50_000), (50, 200), open_traces),
    Curve("traces due", "traces due at once", "span released", (100, 1_000, 5_000), (20, 80), deadlines),
    Curve("spans per trace", "spans in the trace", "span", (100, 1_000, 10_000), (100, 400), spans_per_trace),
    Curve(
        "attempts per tool",
        "attempts of each tool",
        "attempt",
        (1, 10, 100, 1_000, 10_000),
        (50, 200),
        attempts_per_tool,
    ),
    Curve("expectations", "entries configured", "occurrence", (1, 10, 100, 1_000), (50, 200), expectations),
    Curve("sessions open", "sessions open", "trace added", (10, 100, 1_000, 10_000), (50, 200), sessions_open),
    Curve("dialects", "dialects in the traffic", "span read", (1, 3, 13, len(DIALECTS)), (13, 52), dialects),
    Curve("label sets", "agents in the metrics", "score", (10, 100, 1_000), (50, 200), label_sets),
)


def cpu_us_per_unit(curve: Curve, size: int, *, repeats: int = 3) -> float:
    """
    CPU time of one unit, the least of some repetitions.
    """
    return min(_cpu_us(curve.work(size)) for _ in range(repeats))


def _cpu_us(work: Work) -> float:
    gc.collect()
    begun = time.process_time()
    work.run()
    return (time.process_time() - begun) / work.units * 1e6


def lines_per_unit(curve: Curve, size: int) -> float:
    """
    Lines of Python that one unit executes, once memos are warm.
    """
    curve.work(size).run()
    work = curve.work(size)
    with _counted_lines() as counted:
        work.run()
    return counted[0] / work.units


@contextmanager
def _counted_lines() -> Iterator[list[int]]:
    counted = [0]

    def trace(frame: FrameType, event: str, argument: Any) -> Any:  # noqa: ANN401 # the type of `sys.settrace`
        del frame, argument
        counted[0] += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield counted
    finally:
        sys.settrace(before)
