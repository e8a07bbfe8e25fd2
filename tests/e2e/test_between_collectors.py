"""
The service in its place: load, a real Collector, the service, a real Collector, files.
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from conservation import assert_conserved
from e2e.agent_runs import AGENT, REQUIRED, RUNS, Recorded, record_runs
from e2e.collectors import Collector
from e2e.delivered import attributes, histogram_totals, log_records, roots_with_scores
from e2e.passage import pass_load
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

ORDER = "lookup_before_refund"
ACCURACY = "tool_selection_accuracy"
TIMES = 4
MODES = ("hold", "pass_through")
SCORING = {
    "decision_delay": "200ms",
    "expectations": [
        {
            "name": "refund",
            "match": {"agent_name": AGENT},
            "expected_tools": list(REQUIRED),
            "conditions": [{"condition_type": "tools_called_in_order", "name": ORDER, "tools": list(REQUIRED)}],
        }
    ],
}


@dataclass(frozen=True)
class Passage:
    """
    What went in at one end, and what the last Collector holds after everything was stopped in order.
    """

    sent: Recorded
    last: Collector


@pytest.fixture(scope="module")
def passages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Passage]:
    return {mode: _pass(tmp_path_factory.mktemp(mode), mode) for mode in MODES}


def _pass(directory: Path, mode: str) -> Passage:
    sent: list[Recorded] = []

    def send(target: str) -> list[bytes]:
        sent.append(record_runs(OTLPSpanExporter(endpoint=target, insecure=True), times=TIMES))
        return sent[0].requests

    last = pass_load(directory, {**SCORING, "mode": mode}, send, events=2 * TIMES * len(RUNS))
    return Passage(sent[0], last)


@pytest.fixture
def held(passages: dict[str, Passage]) -> Passage:
    return passages["hold"]


@pytest.fixture(params=MODES)
def passage(request: pytest.FixtureRequest, passages: dict[str, Passage]) -> Passage:
    return passages[str(request.param)]


def test_every_span_comes_out_exactly_once_and_unchanged(passage: Passage) -> None:
    assert_conserved(passage.sent.requests, passage.last.written("traces"))


def test_the_root_of_every_run_carries_its_scores(held: Passage) -> None:
    roots = roots_with_scores(held.last.written("traces"))

    for trace_id, run in held.sent.run_of_trace.items():
        root = roots[trace_id]
        assert run.accuracy == root[f"toolscore.evaluation.{ACCURACY}.score"]
        assert run.order == root[f"toolscore.evaluation.{ORDER}.label"]
        assert ("complete", "root_span") == (root["toolscore.coverage"], root["toolscore.trigger"])
        assert ("refund", "policy") == (root["toolscore.expectation"], root["toolscore.expected_source"])


def test_a_trace_without_an_agent_passes_unmarked(held: Passage) -> None:
    roots = roots_with_scores(held.last.written("traces"))

    assert [{}] == [found for trace_id, found in roots.items() if trace_id not in held.sent.run_of_trace]


def test_a_span_that_is_not_held_carries_nothing_of_ours(passages: dict[str, Passage]) -> None:
    roots = roots_with_scores(passages["pass_through"].last.written("traces"))

    assert roots
    assert [] == [found for found in roots.values() if found]


def test_every_evaluation_arrives_as_one_event_on_its_trace(passage: Passage) -> None:
    arrived = Counter(
        (record.trace_id, str(found["gen_ai.evaluation.name"]), found.get("gen_ai.evaluation.score.label"))
        for record in log_records(passage.last.written("logs"))
        if record.event_name == "gen_ai.evaluation.result" and (found := attributes(record.attributes))
    )

    expected = Counter[tuple[bytes, str, object]]()
    for trace_id, run in passage.sent.run_of_trace.items():
        expected.update([(trace_id, ACCURACY, None), (trace_id, ORDER, run.order)])
    assert expected == arrived


def test_the_score_histogram_counts_each_number_once_and_no_undetermined_verdict(passage: Passage) -> None:
    totals = histogram_totals(passage.last.written("metrics"), "gen_ai.evaluation.score", "gen_ai.evaluation.name")

    runs = passage.sent.run_of_trace.values()
    verdicts = [run.order == "true" for run in runs if run.order != "undetermined"]
    assert {
        ACCURACY: (len(runs), sum(run.accuracy for run in runs)),
        ORDER: (len(verdicts), float(sum(verdicts))),
    } == totals
