"""
The commands of deploy/README.md, run as they are printed in a copy of the checkout.

`docker` is a script that hands `compose` to Debian's docker-compose, over podman and with stand-in images.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from e2e.compose import MISSING, PROJECT, compose
from e2e.containers import MISSING as NO_ENGINE
from e2e.containers import ROOT, Engine

GUIDE = (ROOT / "deploy" / "README.md").read_text()
RUN_WITHIN_S = 600
DOCKER = """\
#!/bin/sh
[ "$1" = compose ] || exit 64
shift
exec docker-compose "$@"
"""
SERVICES_UP = 6
needs_containers = pytest.mark.skipif(bool(NO_ENGINE or MISSING), reason=f"missing: {NO_ENGINE} {MISSING}")


def commands(section: str) -> str:
    """
    The shell commands of one section of the guide.
    """
    found = re.search(rf"^## {section}\n(.*?)(?=^## |\Z)", GUIDE, re.MULTILINE | re.DOTALL)
    assert found is not None
    (script,) = re.findall(r"^```sh\n(.*?)^```$", found[1], re.MULTILINE | re.DOTALL)
    return str(script)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """
    A copy of what is or would be committed.
    """
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in (name for name in names if name and not name.startswith("tests/") and (ROOT / name).is_file()):
        target = tmp_path / "checkout" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    return tmp_path / "checkout"


def run_as_printed(section: str, checkout: Path, environ: Mapping[str, str]) -> str:
    """
    What the commands of a section print. Each must succeed.
    """
    script = ["bash", "-euo", "pipefail", "-c", commands(section)]
    done = subprocess.run(
        script, cwd=checkout, env=environ, capture_output=True, text=True, timeout=RUN_WITHIN_S, check=False
    )
    assert 0 == done.returncode, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def docker(compose_images: Engine, tmp_path: Path) -> Iterator[dict[str, str]]:
    """
    An environment in which `docker compose` works. The demo agent hurries.
    """
    program = tmp_path / "bin" / "docker"
    program.parent.mkdir()
    program.write_text(DOCKER)
    program.chmod(0o755)
    with compose(compose_images, tmp_path, DEMO_INTERVAL_SECONDS="0.2") as composed:
        path = f"{program.parent}:{composed.environ['PATH']}"
        yield {**composed.environ, "COMPOSE_PROJECT_NAME": PROJECT, "PATH": path}


def plain_environ() -> dict[str, str]:
    kept = ("PATH", "HOME", "LANG", "XDG_CACHE_HOME")
    return {name: value for name, value in os.environ.items() if name in kept or name.startswith(("PIP_", "SSL_"))}


def test_laptop(checkout: Path) -> None:
    printed = run_as_printed("Laptop", checkout, plain_environ())

    assert re.search(r"^gen_ai_evaluation_score_count\{.*tool_selection_accuracy.*\} [1-9]", printed, re.MULTILINE)


@needs_containers
@pytest.mark.parametrize(("section", "services"), [("Sidecar", SERVICES_UP), ("Gateway", SERVICES_UP + 2)])
def test_in_containers(section: str, services: int, checkout: Path, docker: dict[str, str]) -> None:
    printed = run_as_printed(section, checkout, docker)

    assert '"status":"success"' in printed
    assert services == len(re.findall(rf"^{PROJECT}\S+ .*\bUp\b", printed, re.MULTILINE)), printed
