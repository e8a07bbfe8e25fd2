"""
The sidecar's pod, as kustomize builds it, run by podman: the agent's runs leave it scored.

What is changed for podman, which knows no native sidecars: toolscore stands beside the agent, not before it. The pod
has the network of the machine, on free ports, so that a Collector outside of it can be its downstream.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from e2e.collectors import Collector, filing_collector
from e2e.containers import MISSING, Engine
from e2e.delivered import roots_with_scores
from e2e.peers import wait_until
from e2e.shipped import free_address
from kubernetes_manifests import NO_KUSTOMIZE, containers, kustomized

Manifest = dict[str, Any]
IMAGE = "localhost/toolscore:latest"
ARRIVES_WITHIN_S = 60
VERDICT = "toolscore.evaluation.hotel_last.label"
pytestmark = pytest.mark.skipif(bool(MISSING or NO_KUSTOMIZE), reason=f"missing: {MISSING} {NO_KUSTOMIZE}")


def for_podman(downstream: str) -> Iterator[Manifest]:
    otlp, metrics = free_address(), free_address()
    host, _, port = metrics.rpartition(":")
    environ = {
        "DOWNSTREAM": downstream,
        "LISTEN_GRPC": otlp,
        "LISTEN_HTTP": free_address(),
        "LISTEN_HEALTH": free_address(),
        "METRICS_HOST": host,
        "METRICS_PORT": port,
        "DECISION_DELAY": "300ms",
        "OTEL_EXPORTER_OTLP_ENDPOINT": otlp,
        "DEMO_INTERVAL_SECONDS": "0.2",
    }
    for manifest in kustomized("sidecar"):
        if manifest["kind"] == "Deployment":
            _adapt(manifest["spec"]["template"]["spec"], environ)
        if manifest["kind"] in {"Deployment", "ConfigMap"}:
            yield manifest


def _adapt(pod: Manifest, environ: dict[str, str]) -> None:
    pod["containers"] = containers(pod)
    del pod["initContainers"]
    pod["hostNetwork"] = True
    for container in pod["containers"]:
        container["image"] = IMAGE
        container["env"] = [{"name": name, "value": value} for name, value in environ.items()]
        for key in ("restartPolicy", "ports", "startupProbe", "livenessProbe", "readinessProbe"):
            container.pop(key, None)


@pytest.fixture
def played(containers: Engine, tmp_path: Path) -> Iterator[Collector]:
    with filing_collector(tmp_path / "downstream") as last:
        file = tmp_path / "pod.yaml"
        file.write_text(yaml.safe_dump_all(for_podman(last.grpc)))
        containers.podman("play", "kube", str(file))
        try:
            yield last
        finally:
            containers.podman("play", "kube", "--down", str(file))


def verdicts(collector: Collector) -> set[object]:
    return {found.get(VERDICT) for found in roots_with_scores(collector.written("traces")).values()}


def test_the_runs_of_an_agent_leave_its_pod_scored(played: Collector, containers: Engine) -> None:
    arrived = wait_until(lambda: {"true", "false"} <= verdicts(played), within_s=ARRIVES_WITHIN_S)

    names = containers.podman("ps", "--all", "--format", "{{.Names}}").split()
    assert arrived, "\n".join(containers.logs(name) for name in names if "agent" in name)
