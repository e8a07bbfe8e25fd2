"""
A real Prometheus scrapes the service and holds the scores of the load that was sent.
"""

import subprocess
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from e2e.agent_runs import RUNS, Recorded, record_runs
from e2e.collectors import filing_collector
from e2e.peers import wait_until
from e2e.prometheus_process import MISSING, Prometheus, prometheus
from e2e.service_process import Addresses, toolscore
from e2e.test_between_collectors import ACCURACY, ORDER, SCORING
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

TIMES = 3
SCRAPED_WITHIN_S = 60
pytestmark = pytest.mark.skipif(MISSING is not None, reason=str(MISSING))


@dataclass(frozen=True)
class Watched:
    """
    A service that took a load, watched by a Prometheus that has seen all of it.
    """

    service: Addresses
    prometheus: Prometheus
    sent: Recorded
    begin: float


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    directory = tmp_path_factory.mktemp("watched")
    with (
        filing_collector(directory / "b") as last,
        toolscore(directory / "toolscore", last.grpc, SCORING) as service,
        prometheus(directory / "prometheus", [service.metrics]) as watcher,
    ):
        begin = time.time()
        sent = record_runs(OTLPSpanExporter(endpoint=service.grpc, insecure=True), times=TIMES)
        scored = f'sum(gen_ai_evaluation_score_count{{gen_ai_evaluation_name="{ACCURACY}"}})'
        wait_until(lambda: watcher.query(scored) == {frozenset(): len(RUNS) * TIMES}, within_s=SCRAPED_WITHIN_S)
        yield Watched(service, watcher, sent, begin)


def total(watched: Watched, expression: str) -> float:
    return sum(watched.prometheus.query(expression).values())


def test_prometheus_holds_the_sum_and_the_number_of_the_scores(watched: Watched) -> None:
    selector = f'{{gen_ai_evaluation_name="{ACCURACY}",gen_ai_agent_name="refund-agent"}}'

    assert TIMES * len(RUNS) == total(watched, f"gen_ai_evaluation_score_count{selector}")
    assert TIMES * sum(run.accuracy for run in RUNS.values()) == total(
        watched, f"gen_ai_evaluation_score_sum{selector}"
    )


@pytest.mark.parametrize("verdict", ["true", "false", "undetermined"])
def test_prometheus_counts_each_verdict(verdict: str, watched: Watched) -> None:
    selector = f'{{gen_ai_evaluation_name="{ORDER}",outcome="{verdict}"}}'

    expected = TIMES * sum(run.order == verdict for run in RUNS.values())
    assert expected == total(watched, f"toolscore_evaluations_total{selector}")


def test_exemplars_lead_to_scored_traces(watched: Watched) -> None:
    found = watched.prometheus.exemplars("gen_ai_evaluation_score_bucket", watched.begin, time.time())

    sent = {trace_id.hex() for trace_id in watched.sent.run_of_trace}
    assert found
    assert {each["trace_id"] for each in found} <= sent


def test_the_exposition_passes_the_lint_of_prometheus(watched: Watched) -> None:
    request = urllib.request.Request(
        f"http://{watched.service.metrics}/metrics", headers={"Accept": "text/plain;version=0.0.4"}
    )
    with urllib.request.urlopen(request, timeout=10) as response:
        exposition = response.read()

    lint = subprocess.run(["promtool", "check", "metrics"], input=exposition, capture_output=True, check=False)

    assert (0, "") == (lint.returncode, lint.stderr.decode())
