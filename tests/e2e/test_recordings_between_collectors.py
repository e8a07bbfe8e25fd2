"""
Every recording of a real agent through two real Collectors and the service between them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
from conservation import assert_conserved
from e2e.collectors import Collector
from e2e.delivered import Attributes, roots_with_scores, spans
from e2e.passage import pass_load
from e2e.sending import send_over_grpc
from recorded import BUNDLES, Recording, recordings

from proto_adapters.tool_names import comparison_key

EXPECTED = ("search_flights", "get_weather", "book_hotel")
ORDER = "one_after_the_other"
SCORING = {
    "decision_delay": "500ms",
    "idle_timeout": "2s",
    "trace_timeout": "10s",
    "tool_selection_accuracy": {"metric_name": "tool_selection_accuracy", "expected_tools": list(EXPECTED)},
    "expectations": [
        {
            "name": "trip",
            "match": {},
            "conditions": [{"condition_type": "tools_called_in_order", "name": ORDER, "tools": list(EXPECTED)}],
        }
    ],
}
COMPLETE_AT_LEAST = 15
NAMESPACED = {"python/semantic-kernel-default", "javascript/claude-agent-sdk-openinference"}
"""Bundles whose spans name a tool as the model sees it: `trips-search_flights`, `mcp__travel__search_flights`."""


@dataclass(frozen=True)
class Delivered:
    """
    The recordings that were sent, and what our attributes say of each trace.
    """

    recordings: Sequence[Recording]
    last: Collector
    roots: dict[bytes, Attributes]

    def scored(self, scenario: str) -> Iterator[tuple[Recording, Attributes]]:
        """
        The recordings of *scenario* whose one trace arrived whole, with its scores.
        """
        for recording in self.recordings:
            trace_ids = {span.trace_id for span in spans(recording.requests)}
            root = self.roots.get(next(iter(trace_ids)), {}) if len(trace_ids) == 1 else {}
            if recording.scenario == scenario and root.get("toolscore.coverage") == "complete":
                yield recording, root


@pytest.fixture(scope="module")
def delivered(tmp_path_factory: pytest.TempPathFactory) -> Delivered:
    sent = [recording for bundle in BUNDLES for recording in recordings(bundle)]

    def send(target: str) -> list[bytes]:
        requests = [request for recording in sent for request in recording.requests]
        send_over_grpc(target, requests)
        return requests

    last = pass_load(tmp_path_factory.mktemp("recordings"), SCORING, send)
    return Delivered(sent, last, roots_with_scores(last.written("traces")))


def test_every_recorded_span_comes_out_exactly_once_and_unchanged(delivered: Delivered) -> None:
    requests = [request for recording in delivered.recordings for request in recording.requests]

    assert_conserved(requests, delivered.last.written("traces"))


def accuracy(recording: Recording) -> float:
    """
    What the tools are worth that the program really ran. A name with a namespace is another name.
    """
    called = {comparison_key(name) for name in recording.truth.called} if recording.bundle not in NAMESPACED else set()
    return len({comparison_key(name) for name in EXPECTED} & called) / len(EXPECTED)


@pytest.mark.parametrize("scenario", ["sequential", "wrong_order", "retry"])
def test_selection_is_scored_by_what_the_program_really_called(scenario: str, delivered: Delivered) -> None:
    scored = list(delivered.scored(scenario))

    assert len(scored) >= COMPLETE_AT_LEAST
    found = {recording.id: root.get("toolscore.evaluation.tool_selection_accuracy.score") for recording, root in scored}
    assert {recording.id: accuracy(recording) for recording, _ in scored} == found


@pytest.mark.parametrize(("scenario", "impossible"), [("sequential", "false"), ("wrong_order", "true")])
def test_no_verdict_contradicts_the_order_in_which_the_program_called(
    scenario: str, impossible: str, delivered: Delivered
) -> None:
    labels = {
        recording.id: root[f"toolscore.evaluation.{ORDER}.label"]
        for recording, root in delivered.scored(scenario)
        if accuracy(recording) == 1.0
    }

    assert [] == [name for name, label in labels.items() if label == impossible]
    assert [] != [name for name, label in labels.items() if label != "undetermined"]
