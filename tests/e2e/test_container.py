"""
The image, built from the checkout and run as it is meant to run: no root, nothing writable, no capabilities.
"""

import json
from pathlib import Path

import pytest
from conservation import assert_conserved
from e2e.agent_runs import record_runs
from e2e.collectors import filing_collector
from e2e.containers import MISSING, Engine
from e2e.peers import answers, wait_until
from e2e.sending import send_over_grpc
from e2e.service_process import Addresses, configuration_file
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

IMAGE = "toolscore:latest"
LOCKED_DOWN = ("--read-only", "--cap-drop=all", "--security-opt", "no-new-privileges", "--memory", "512m")
CONFIGURATION = "/etc/toolscore/toolscore.yaml"
READY_WITHIN_S = 30
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"{MISSING} missing: no container can be built")


def test_the_image_runs_as_an_unprivileged_user_and_checks_its_own_health(containers: Engine) -> None:
    image = json.loads(containers.podman("image", "inspect", IMAGE))[0]

    assert "10001:10001" == image["Config"]["User"]
    assert ["CMD", "toolscore", "healthcheck"] == image["Healthcheck"]["Test"]


def test_the_image_holds_no_tools_of_development(containers: Engine) -> None:
    command = "import importlib.util as u; print([n for n in ('pytest', 'mypy', 'hatchling') if u.find_spec(n)])"

    assert "[]" == containers.podman("run", "--rm", "--entrypoint", "python", IMAGE, "-c", command)


def test_a_locked_down_container_passes_spans_on_and_ends_cleanly_when_told_to(
    containers: Engine, tmp_path: Path
) -> None:
    requests, addresses = record_runs(InMemorySpanExporter()).requests, Addresses()
    with filing_collector(tmp_path / "b") as last:
        file = configuration_file(tmp_path, addresses, last.grpc, {"decision_delay": "200ms"})
        options = (
            "--detach",
            "--name",
            "p1",
            "--no-healthcheck",
            "--network",
            "host",
            "-v",
            f"{file}:{CONFIGURATION}:ro",
        )
        containers.podman("run", *options, *LOCKED_DOWN, IMAGE, "serve", "--config", CONFIGURATION)
        assert wait_until(lambda: answers(addresses.ready), within_s=READY_WITHIN_S), containers.logs("p1")
        containers.podman("exec", "p1", "toolscore", "healthcheck", "--endpoint", addresses.health)
        send_over_grpc(addresses.grpc, requests)
        containers.podman("stop", "--time", "30", "p1")

    assert "0" == containers.podman("inspect", "p1", "--format", "{{.State.ExitCode}}")
    assert_conserved(requests, last.written("traces"))
