"""
docker-compose.yml, brought up as it stands: the demo agent's runs come out scored, in Prometheus and in Jaeger.

Grafana stays out, behind its profile. Images of registries are stood in for by images of the same names.
"""

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from e2e.compose import MISSING, Compose, compose
from e2e.containers import MISSING as NO_ENGINE
from e2e.containers import Engine
from e2e.peers import free_port, wait_until

ARRIVES_WITHIN_S = 90
WITHOUT_GRAFANA = {"demo-agent", "collector-agent", "toolscore", "collector-gateway", "prometheus", "jaeger"}
SCORES = 'gen_ai_evaluation_score_count{gen_ai_evaluation_name="tool_selection_accuracy",job="toolscore-scores"}'
pytestmark = pytest.mark.skipif(bool(NO_ENGINE or MISSING), reason=f"missing: {NO_ENGINE} {MISSING}")


@dataclass(frozen=True)
class Stack:
    compose: Compose
    prometheus: str
    jaeger: str

    def scores(self) -> float:
        """
        Selection scores that Prometheus holds.
        """
        found = get(f"{self.prometheus}/api/v1/query", query=f"sum({SCORES})")["data"]["result"]
        return float(found[0]["value"][1]) if found else 0.0

    def tagged(self, tag: str) -> set[str]:
        """
        The values of a tag, over the spans of all services that Jaeger knows.
        """
        services = get(f"{self.jaeger}/api/services")["data"] or []
        traces = [trace for each in services for trace in get(f"{self.jaeger}/api/traces", service=each)["data"] or []]
        spans = [span for trace in traces for span in trace["spans"]]
        return {str(found["value"]) for span in spans for found in span["tags"] if found["key"] == tag}


def get(address: str, **parameters: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{address}?{urllib.parse.urlencode(parameters)}", timeout=10) as response:
        answer: dict[str, Any] = json.load(response)
    return answer


@pytest.fixture(scope="module")
def stack(compose_images: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    directory = tmp_path_factory.mktemp("compose")
    names = ("OTLP_GRPC_PORT", "OTLP_HTTP_PORT", "PROMETHEUS_PORT", "JAEGER_PORT")
    ports = {name: str(free_port()) for name in names}
    with compose(compose_images, directory, DEMO_INTERVAL_SECONDS="0.2", **ports) as composed:
        composed.run("up", "--detach", "--no-build")
        yield Stack(
            composed,
            f"http://127.0.0.1:{ports['PROMETHEUS_PORT']}",
            f"http://127.0.0.1:{ports['JAEGER_PORT']}",
        )


def test_every_service_but_grafana_comes_up(stack: Stack) -> None:
    assert WITHOUT_GRAFANA == set(stack.compose.run("ps", "--services", "--filter", "status=running").split())


def test_scores_arrive_in_prometheus_through_the_gateway(stack: Stack) -> None:
    assert wait_until(lambda: stack.scores() > 0, within_s=ARRIVES_WITHIN_S), stack.compose.run("logs", "--tail", "30")


def test_spans_arrive_in_the_trace_view_with_their_verdicts(stack: Stack) -> None:
    verdict = "toolscore.evaluation.hotel_last.label"

    assert wait_until(lambda: {"true", "false"} <= stack.tagged(verdict), within_s=ARRIVES_WITHIN_S), stack.compose.run(
        "logs", "--tail", "30"
    )


def test_exemplars_in_prometheus_lead_to_traces_of_the_trace_view(stack: Stack) -> None:
    assert wait_until(lambda: bool(exemplars(stack)), within_s=ARRIVES_WITHIN_S)
    trace_id = exemplars(stack)[0]

    assert wait_until(lambda: has_trace(stack, trace_id), within_s=ARRIVES_WITHIN_S)


def exemplars(stack: Stack) -> list[str]:
    address = f"{stack.prometheus}/api/v1/query_exemplars"
    selector = SCORES.replace("_count", "_bucket")
    found = get(address, query=selector, start="0", end="9999999999")["data"]
    return [exemplar["labels"]["trace_id"] for series in found for exemplar in series["exemplars"]]


def has_trace(stack: Stack, trace_id: str) -> bool:
    try:
        return bool(get(f"{stack.jaeger}/api/traces/{trace_id}")["data"])
    except urllib.error.HTTPError:
        return False
