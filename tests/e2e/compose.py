"""
Docker's compose over podman: the file as it stands, in a project of its own.

podman's API listens on a socket of the test. Without systemd nobody runs health checks, so they are run here, once a
second for each container (podman has no other way to become healthy).
"""

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from e2e.containers import ROOT, CommandFailed, Engine
from e2e.peers import wait_until

MISSING = ", ".join(name for name in ("docker-compose", "catatonit") if shutil.which(name) is None)
UP_WITHIN_S = 300
HEALTH_EVERY_S = 1.0
PROJECT = "toolscore-test"


@dataclass(frozen=True)
class Compose:
    """
    `docker-compose` with the file of the checkout.
    """

    environ: Mapping[str, str]

    def run(self, *arguments: str) -> str:
        """
        What a command prints. Raises `CommandFailed`.
        """
        command = ("docker-compose", "--project-name", PROJECT, *arguments)
        done = subprocess.run(
            command, cwd=ROOT, env=self.environ, capture_output=True, text=True, timeout=UP_WITHIN_S, check=False
        )
        if done.returncode != 0:
            raise CommandFailed(command, done.stdout + done.stderr)
        return done.stdout


@contextmanager
def compose(engine: Engine, directory: Path, **environ: str) -> Iterator[Compose]:
    """
    A compose whose containers and networks are gone when the block is left.
    """
    socket = directory / "podman.sock"
    command = ["podman", "system", "service", "--time=0", f"unix://{socket}"]
    with _running(command, engine.environ), _health_checks(engine):
        assert wait_until(socket.exists, within_s=30)
        running = Compose({**os.environ, **environ, "DOCKER_HOST": f"unix://{socket}"})
        try:
            yield running
        finally:
            running.run("down", "--volumes", "--timeout", "5")


@contextmanager
def _running(command: list[str], environ: Mapping[str, str]) -> Iterator[None]:
    process = subprocess.Popen(command, env=environ, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def _health_checks(engine: Engine) -> Iterator[None]:
    stopped = threading.Event()
    pump = threading.Thread(target=_pump, args=(engine, stopped))
    pump.start()
    try:
        yield
    finally:
        stopped.set()
        pump.join()


def _pump(engine: Engine, stopped: threading.Event) -> None:
    while not stopped.wait(HEALTH_EVERY_S):
        listed = ["podman", "ps", "--quiet"]
        found = subprocess.run(listed, env=engine.environ, capture_output=True, text=True, check=False).stdout
        for container in found.split():
            check = ["podman", "healthcheck", "run", container]
            subprocess.run(check, env=engine.environ, capture_output=True, check=False)
