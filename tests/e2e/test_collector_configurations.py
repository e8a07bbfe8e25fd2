"""
Every shipped Collector configuration in a real Collector: traces in, the right traces out at the right place.
"""

import urllib.request
from pathlib import Path

import pytest
from conservation import assert_conserved, span_bag
from e2e.collectors import Collector, filing_collector
from e2e.delivered import log_records, roots_with_scores, spans
from e2e.peers import wait_until
from e2e.sending import send_over_grpc
from e2e.service_process import Settings, toolscore
from e2e.shipped import DEPLOY, free_address, shipped_collector, shipped_service
from e2e.trip_load import ACCURACY, EXPECTATION, GOOD, ORDER, Trips, trips

ARRIVES_WITHIN_S = 30
TIMES = 4
SCORING: Settings = {
    "decision_delay": "200ms",
    "expectations": [
        {
            "name": EXPECTATION,
            "match": {},
            "expected_tools": list(GOOD),
            "conditions": [{"condition_type": "tools_called_in_order", "name": ORDER, "tools": list(GOOD)}],
        }
    ],
}


def traces_at(collector: Collector) -> set[bytes]:
    return {span.trace_id for span in spans(collector.written("traces"))}


def has_all_spans(collector: Collector, requests: list[bytes]) -> bool:
    return len(span_bag(collector.written("traces"))) >= len(span_bag(requests))


def assert_scored(collector: Collector, sent: Trips) -> None:
    roots = roots_with_scores(collector.written("traces"))
    scores = {trace_id: root[f"toolscore.evaluation.{ACCURACY}.score"] for trace_id, root in roots.items()}
    labels = {trace_id: root[f"toolscore.evaluation.{ORDER}.label"] for trace_id, root in roots.items()}

    assert {trace_id: score for trace_id, (score, _) in sent.worth.items()} == pytest.approx(scores)
    assert {trace_id: label for trace_id, (_, label) in sent.worth.items()} == labels


def open_metrics(address: str) -> str:
    headers = {"Accept": "application/openmetrics-text; version=1.0.0"}
    with urllib.request.urlopen(
        urllib.request.Request(f"http://{address}/metrics", headers=headers), timeout=10
    ) as page:
        return str(page.read().decode())


def test_every_configuration_has_a_test() -> None:
    names = {file.stem for file in (DEPLOY / "collector").glob("*.yaml")}

    assert {"agent", "gateway", "load-balancing", "fan-out", "tail-sampling", "routing"} == names - {"kustomization"}


def test_scored_spans_pass_from_the_agent_to_the_gateway_and_scores_come_with_exemplars(tmp_path: Path) -> None:
    page = free_address()
    with (
        filing_collector(tmp_path / "backend") as backend,
        shipped_collector("gateway", tmp_path, TRACES_ENDPOINT=backend.grpc, LISTEN_METRICS=page) as gateway,
        shipped_service("sidecar", tmp_path, gateway) as service,
        shipped_collector("agent", tmp_path, TOOLSCORE_ENDPOINT=service.grpc) as agent,
    ):
        sent = trips(TIMES)
        send_over_grpc(agent, sent.requests)
        wait_until(lambda: has_all_spans(backend, sent.requests), within_s=ARRIVES_WITHIN_S)
        wait_until(lambda: "gen_ai_evaluation_score_count" in open_metrics(page), within_s=ARRIVES_WITHIN_S)
        metrics = open_metrics(page)

    assert_conserved(sent.requests, backend.written("traces"))
    assert_scored(backend, sent)
    exemplars = [
        line for line in metrics.splitlines() if line.startswith("gen_ai_evaluation_score_bucket") and "# {" in line
    ]
    assert exemplars
    assert all(any(trace_id.hex() in line for trace_id in sent.worth) for line in exemplars)


def test_beside_a_backend_spans_are_untouched_and_only_scores_come_from_toolscore(tmp_path: Path) -> None:
    with (
        filing_collector(tmp_path / "backend") as backend,
        filing_collector(tmp_path / "scores") as scores,
        shipped_service("scores-only", tmp_path, scores.grpc) as service,
        shipped_collector("fan-out", tmp_path, TRACES_ENDPOINT=backend.grpc, TOOLSCORE_ENDPOINT=service.grpc) as front,
    ):
        sent = trips(TIMES)
        send_over_grpc(front, sent.requests)
        wait_until(
            lambda: len(list(log_records(scores.written("logs")))) >= 2 * len(sent.worth), within_s=ARRIVES_WITHIN_S
        )
        wait_until(lambda: has_all_spans(backend, sent.requests), within_s=ARRIVES_WITHIN_S)

    assert span_bag(sent.requests) == span_bag(backend.written("traces"))
    assert {} == {trace: found for trace, found in roots_with_scores(backend.written("traces")).items() if found}
    assert [] == scores.written("traces")
    assert 2 * len(sent.worth) == len(list(log_records(scores.written("logs"))))


def test_tail_sampling_keeps_all_that_is_false_or_low(tmp_path: Path) -> None:
    with (
        filing_collector(tmp_path / "backend") as backend,
        shipped_collector(
            "tail-sampling", tmp_path, TRACES_ENDPOINT=backend.grpc, DECISION_WAIT="1s", KEEP_PERCENT="0"
        ) as sampling,
        toolscore(tmp_path / "toolscore", sampling, SCORING) as service,
    ):
        sent = trips(TIMES)
        send_over_grpc(service.grpc, sent.requests)
        wait_until(lambda: traces_at(backend) >= sent.bad, within_s=ARRIVES_WITHIN_S)

    assert sent.bad == traces_at(backend)
    kept = [request for request in sent.requests if {span.trace_id for span in spans([request])} <= sent.bad]
    assert_conserved(kept, backend.written("traces"))


def test_routing_sends_bad_traces_to_review_and_the_others_on_whole(tmp_path: Path) -> None:
    with (
        filing_collector(tmp_path / "backend") as backend,
        filing_collector(tmp_path / "review") as review,
        shipped_collector("routing", tmp_path, TRACES_ENDPOINT=backend.grpc, REVIEW_ENDPOINT=review.grpc) as routing,
        toolscore(tmp_path / "toolscore", routing, {**SCORING, "annotate": "all"}) as service,
    ):
        sent = trips(TIMES)
        send_over_grpc(service.grpc, sent.requests)
        wait_until(lambda: traces_at(backend) | traces_at(review) >= set(sent.worth), within_s=ARRIVES_WITHIN_S)

    assert (sent.good, sent.bad) == (traces_at(backend), traces_at(review))
    assert_conserved(sent.requests, [*backend.written("traces"), *review.written("traces")])


def test_load_balancing_finds_its_replicas_by_name(tmp_path: Path) -> None:
    with (
        filing_collector(tmp_path / "backend") as backend,
        toolscore(tmp_path / "toolscore", backend.grpc, SCORING) as service,
        shipped_collector(
            "load-balancing", tmp_path, REPLICAS_HOSTNAME="127.0.0.1", REPLICAS_PORT=service.grpc.rpartition(":")[2]
        ) as front,
    ):
        sent = trips(TIMES)
        send_over_grpc(front, sent.requests)
        wait_until(lambda: has_all_spans(backend, sent.requests), within_s=ARRIVES_WITHIN_S)

    assert_conserved(sent.requests, backend.written("traces"))
    assert_scored(backend, sent)
