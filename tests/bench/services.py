"""
The services that are compared, each in a process of its own, and what the kernel tells of such a process.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import yaml
from bench.load import wait_until_ready
from bench.stages import CONFIG
from bench.yardsticks import Yardstick
from e2e.collectors import Settings, a_collector
from e2e.peers import free_port
from e2e.service_process import Addresses, configuration_file, serving
from msgspec import Struct

TESTS = Path(__file__).parent.parent
TICKS = os.sysconf("SC_CLK_TCK")
DELAY_S = 0.2
DELAY = f"{DELAY_S:g}s"


class Subject(Struct, frozen=True):
    """
    A running service: where it takes requests, and its process.
    """

    target: str
    pid: int

    def cpu_seconds(self) -> float:
        """
        CPU that all threads of the process took so far.
        """
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def peak_bytes(self) -> int:
        """
        The most memory that the process had.
        """
        return self._status("VmHWM")

    def resident_bytes(self) -> int:
        return self._status("VmRSS")

    def _status(self, name: str) -> int:
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


Service = Callable[[Path, str], AbstractContextManager[Subject]]
"""Takes a folder for its files and the address of the next hop."""


def yardstick(kind: Yardstick) -> Service:
    """
    One of the yardsticks.
    """

    @contextmanager
    def run(directory: Path, downstream: str) -> Iterator[Subject]:
        del directory
        port = free_port()
        command = [sys.executable, "-m", "bench.yardsticks", kind, "--port", str(port), "--target", downstream]
        environ = {**os.environ, "PYTHONPATH": f"{TESTS.parent}:{TESTS}"}
        process = subprocess.Popen(command, env=environ)
        try:
            wait_until_ready(f"127.0.0.1:{port}")
            yield Subject(f"127.0.0.1:{port}", process.pid)
        finally:
            process.terminate()
            process.wait(30)

    return run


def toolscore(
    tool_scoring: Settings | None = None, *, compression: str = "none", batch_timeout: str = "200ms"
) -> Service:
    """
    The service with the bench's expectations, default outputs, and a short delay.
    """
    block = {**CONFIG["processors"]["tool_scoring"], "decision_delay": DELAY, **(tool_scoring or {})}  # type: ignore[index,dict-item,call-overload]  # a tree of plain values

    @contextmanager
    def run(directory: Path, downstream: str) -> Iterator[Subject]:
        addresses = Addresses()
        file = configuration_file(directory, addresses, downstream, block)
        settings = yaml.safe_load(file.read_text())
        settings["exporters"]["otlp_grpc"]["compression"] = compression
        settings["processors"]["batch"] = {"timeout": batch_timeout}
        file.write_text(yaml.safe_dump(settings))
        with serving(file, addresses) as peer:
            yield Subject(addresses.grpc, peer.process.pid)

    return run


def collector(processors: Mapping[str, Settings], *, compression: str = "none") -> Service:
    """
    The Collector with *processors* between OTLP and OTLP.
    """

    @contextmanager
    def run(directory: Path, downstream: str) -> Iterator[Subject]:
        exporter = {"endpoint": downstream, "tls": {"insecure": True}, "compression": compression}
        with a_collector(directory, {"traces": {"otlp_grpc": exporter}}, processors=processors) as running:
            yield Subject(running.grpc, running.peer.process.pid)

    return run


WAIT = {"wait_duration": DELAY, "num_traces": 50_000}
KEEP_ALL = {"decision_wait": DELAY, "num_traces": 50_000, "policies": [{"name": "all", "type": "always_sample"}]}

YARDSTICKS: dict[str, Service] = {kind.value: yardstick(kind) for kind in Yardstick}
COLLECTORS: dict[str, Service] = {
    "collector": collector({}),
    "collector, gzip": collector({}, compression="gzip"),
    "collector groupbytrace": collector({"groupbytrace": WAIT}),
    "collector tail_sampling": collector({"tail_sampling": KEEP_ALL}),
}
