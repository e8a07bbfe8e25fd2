"""
The guide `service/docs/expectations.md`: each file and command of it, in order, with what it says comes out.

Only the two ports are others, so that the guide can be run beside anything.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "service" / "docs" / "expectations.md"
BLOCK = re.compile(r"^```(yaml|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE_NAME = re.compile(r"# (\S+\.yaml)\n")
PORTS = ("4318", "8888")
SECONDS = 60


class Shell:
    """
    A terminal in a folder of its own, and a second one for the service.
    """

    def __init__(self, folder: Path, ports: dict[str, str]) -> None:
        self._folder = folder
        self._ports = ports
        programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._environ = {**os.environ, "PATH": programs, "COLUMNS": "100", "PYTHONPATH": str(ROOT)}
        self._service: subprocess.Popen[str] | None = None
        self._service_lines: list[str] = []

    def write(self, name: str, text: str) -> None:
        (self._folder / name).write_text(self._with_ports(text))

    def run(self, command: str) -> list[str]:
        """
        What *command* prints, without blanks at the ends of lines.
        """
        answer = subprocess.run(
            ["bash", "-c", self._with_ports(command)],
            cwd=self._folder,
            env=self._environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        return [line.rstrip() for line in answer.stdout.rstrip().splitlines()]

    def serve(self, command: str) -> None:
        """
        Start the service and wait until it listens.
        """
        self._service = subprocess.Popen(
            ["bash", "-c", f"exec {self._with_ports(command)}"],
            cwd=self._folder,
            env={**self._environ, "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            text=True,
        )
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("localhost", int(self._ports["4318"]))) == 0:
                    return
            assert self._service.poll() is None
            time.sleep(0.05)
        raise TimeoutError

    def wait_for_score(self) -> str:
        """
        The next line of the service.
        """
        assert self._service is not None
        assert self._service.stdout is not None
        return self._service.stdout.readline().rstrip()

    def stop(self) -> None:
        if self._service is not None:
            self._service.send_signal(signal.SIGINT)
            self._service.communicate(timeout=SECONDS)
        self._service = None

    @property
    def is_serving(self) -> bool:
        return self._service is not None

    def _with_ports(self, text: str) -> str:
        for printed, free in self._ports.items():
            text = text.replace(printed, free)
        return text


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    (tmp_path / "service").symlink_to(ROOT / "service")
    with socket.socket() as one, socket.socket() as other:
        one.bind(("localhost", 0))
        other.bind(("localhost", 0))
        ports = dict(zip(PORTS, (str(one.getsockname()[1]), str(other.getsockname()[1])), strict=True))
    shell = Shell(tmp_path, ports)
    yield shell
    shell.stop()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="the guide sends with curl")
def test_every_command_of_the_guide_does_what_the_guide_says(shell: Shell) -> None:
    expected_lines: list[str] = []
    commands = 0
    for language, text in BLOCK.findall(GUIDE.read_text()):
        if language == "yaml":
            name = FILE_NAME.match(text)
            assert name, "each file of the guide begins with its name"
            shell.write(name[1], text)
            continue
        command, _, output = text.removeprefix("$ ").partition("\n")
        commands += 1
        if command.startswith("toolscore serve"):
            expected_lines = output.splitlines()
            shell.serve(command)
            continue
        if shell.is_serving and "curl" not in command:
            shell.stop()
        assert output.splitlines() == shell.run(command), command
        if shell.is_serving:
            assert expected_lines.pop(0) == shell.wait_for_score()

    assert ([], 9) == (expected_lines, commands)
