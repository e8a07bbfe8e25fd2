"""
What libraries for scoring agents take for the calls that `python -m bench calls FILE` wrote. Run by hand, in an
environment of their own that has none of our dependencies: `python -P tests/bench/libraries.py FILE`.

Only scorers that need no model are measured, on the same question: were the expected tools called, in any order,
whatever their arguments? Their input is built beforehand and not measured. No library may call home or ask a model.
"""

import asyncio
import importlib
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

QUIET = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
    "DEEPEVAL_DISABLE_DOTENV": "1",
    "RAGAS_DO_NOT_TRACK": "true",
    "LANGSMITH_TRACING": "false",
    "LANGSMITH_TEST_TRACKING": "false",
}
REPEATS = 3

Names = Sequence[str]
Case = tuple[Names, Names]
"""The names called and those expected."""
Work = Callable[[], Sequence[float]]
"""Gives the score of every case."""


def agentevals(cases: Sequence[Case]) -> Work:
    """
    LangChain's trajectory match: the expected calls are among those made.
    """
    match = importlib.import_module("agentevals.trajectory.match")
    evaluator = match.create_trajectory_match_evaluator(trajectory_match_mode="superset", tool_args_match_mode="ignore")
    pairs = [(_messages(called), _messages(expected)) for called, expected in cases]
    return lambda: [
        float(evaluator(outputs=outputs, reference_outputs=reference)["score"]) for outputs, reference in pairs
    ]


def _messages(names: Names) -> list[dict[str, object]]:
    calls = [{"function": {"name": name, "arguments": "{}"}} for name in names]
    return [{"role": "user", "content": "?"}, {"role": "assistant", "content": "", "tool_calls": calls}]


def deepeval(cases: Sequence[Case]) -> Work:
    """
    Tool correctness without available tools, which is the part that asks no model.
    """
    metrics, test_case = importlib.import_module("deepeval.metrics"), importlib.import_module("deepeval.test_case")
    metric = metrics.ToolCorrectnessMetric(model=_no_model(), async_mode=False)

    def tools(names: Names) -> list[Any]:
        return [test_case.ToolCall(name=name) for name in names]

    inputs = [
        test_case.LLMTestCase(input="?", actual_output="", tools_called=tools(called), expected_tools=tools(expected))
        for called, expected in cases
    ]
    return lambda: [float(metric.measure(case, _show_indicator=False)) for case in inputs]


def _no_model() -> object:
    """
    A model that fails when it is asked; the metric wants one even if it needs none.
    """
    base = importlib.import_module("deepeval.models").DeepEvalBaseLLM

    def refuse(*_: object) -> None:
        raise AssertionError("a model was asked")

    methods = {
        "load_model": lambda _: None,
        "generate": refuse,
        "a_generate": refuse,
        "get_model_name": lambda _: "none",
    }
    return type("NoModel", (base,), methods)()


def ragas(name: str, **settings: object) -> Callable[[Sequence[Case]], Work]:
    """
    One of the metrics of tool calls.
    """

    def prepare(cases: Sequence[Case]) -> Work:
        messages = importlib.import_module("ragas.messages")
        metric = getattr(importlib.import_module("ragas.metrics.collections"), name)(**settings)

        def calls(names: Names) -> list[Any]:
            return [messages.ToolCall(name=each, args={}) for each in names]

        inputs = [([messages.AIMessage(content="", tool_calls=calls(called))], calls(want)) for called, want in cases]

        async def score() -> list[float]:
            return [
                float((await metric.ascore(user_input=said, reference_tool_calls=want)).value) for said, want in inputs
            ]

        return lambda: asyncio.run(score())

    return prepare


SCORERS: dict[str, tuple[str, Callable[[Sequence[Case]], Work]]] = {
    "trajectory match, superset": ("agentevals", agentevals),
    "ToolCorrectnessMetric": ("deepeval", deepeval),
    "ToolCallF1": ("ragas", ragas("ToolCallF1")),
    "ToolCallAccuracy, flexible order": ("ragas", ragas("ToolCallAccuracy", strict_order=False)),
}


def main(file: Path) -> None:
    os.environ.update(QUIET)
    warnings.simplefilter("ignore")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    cases = [(line["called"], line["expected"]) for line in lines]
    for name, (library, prepare) in SCORERS.items():
        try:
            cpu_us, mean = _measure(prepare(cases), len(cases))
        except Exception as error:  # noqa: BLE001 # a library that does not run is told, and the next one measured
            row = f"does not run: {error!r}"
        else:
            row = f"{cpu_us:.0f} us a trace, mean score {mean:.3f}"
        sys.stdout.write(f"{library} {version(library)}, {name}: {row}\n")


def _measure(work: Work, traces: int) -> tuple[float, float]:
    """
    CPU time a trace, the least of some repetitions, and the mean score.
    """
    times, scores = [], work()
    for _ in range(REPEATS):
        begun = time.process_time()
        scores = work()
        times.append(time.process_time() - begun)
    return min(times) / traces * 1e6, sum(scores) / len(scores)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
