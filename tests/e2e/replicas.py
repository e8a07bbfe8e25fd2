"""
Several replicas of the service behind a real Collector that routes by trace id, all with one next hop.

The Collector's list of replicas stands in its configuration, which it reads again on SIGHUP.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from e2e.collector_build import collector_program
from e2e.peers import Peer, answers, free_port, running, start, wait_until
from e2e.service_process import Addresses, Settings, command_of, configuration_file

READY_WITHIN_S = 30


@dataclass(frozen=True)
class Replica:
    addresses: Addresses
    peer: Peer

    def tell_of_change(self) -> None:
        self.peer.process.send_signal(signal.SIGHUP)

    def kill(self) -> None:
        self.peer.stop(signal.SIGKILL)


@dataclass
class Replicas:
    """
    Replicas with equal settings; each is ended with status 0 when the block is left, unless it was killed.
    """

    directory: Path
    downstream: str
    tool_scoring: Settings
    stack: ExitStack
    started: int = 0

    def add(self) -> Replica:
        self.started += 1
        addresses, folder = Addresses(), self.directory / f"replica{self.started}"
        file = configuration_file(folder, addresses, self.downstream, self.tool_scoring)
        peer = start(command_of(file), folder / "toolscore.log", ready=addresses.ready)
        replica = Replica(addresses, peer)
        self.stack.callback(peer.stop)
        return replica


@contextmanager
def replicas(directory: Path, downstream: str, tool_scoring: Settings) -> Iterator[Replicas]:
    with ExitStack() as stack:
        yield Replicas(directory, downstream, tool_scoring, stack)


@dataclass
class Router:
    """
    A Collector whose load-balancing exporter knows its replicas by address.
    """

    file: Path
    grpc: str = field(default_factory=lambda: f"127.0.0.1:{free_port()}")
    health: str = field(default_factory=lambda: f"127.0.0.1:{free_port()}")
    peer: Peer | None = None

    def write(self, members: list[Replica]) -> None:
        endpoints = [member.addresses.grpc for member in members]
        self.file.write_text(yaml.safe_dump(_configuration(self.grpc, self.health, endpoints)))

    def change(self, members: list[Replica]) -> None:
        """
        Route to *members* from now on; returns when the Collector takes spans again.
        """
        assert self.peer is not None
        before = self.peer.log.read_text().count(IS_READY)
        self.write(members)
        os.kill(self.peer.process.pid, signal.SIGHUP)
        log = self.peer.log
        assert wait_until(lambda: log.read_text().count(IS_READY) > before, within_s=READY_WITHIN_S)
        assert wait_until(lambda: answers(f"http://{self.health}/"), within_s=READY_WITHIN_S)


IS_READY = "Everything is ready"


@contextmanager
def router(directory: Path, members: list[Replica]) -> Iterator[Router]:
    routing = Router(directory / "router.yaml")
    routing.write(members)
    command = [str(collector_program()), "--config", str(routing.file)]
    with running(command, directory / "router.log", ready=f"http://{routing.health}/") as peer:
        routing.peer = peer
        yield routing


def _configuration(grpc: str, health: str, endpoints: list[str]) -> Settings:
    exporter = {
        "routing_key": "traceID",
        "resolver": {"static": {"hostnames": endpoints}},
        "protocol": {"otlp": {"tls": {"insecure": True}, "compression": "none"}},
        "retry_on_failure": {"enabled": True, "initial_interval": "200ms"},
        "sending_queue": {"enabled": True},
    }
    return {
        "receivers": {"otlp": {"protocols": {"grpc": {"endpoint": grpc}}}},
        "exporters": {"load_balancing": exporter},
        "extensions": {"health_check": {"endpoint": health}},
        "service": {
            "extensions": ["health_check"],
            "telemetry": {"metrics": {"level": "none"}},
            "pipelines": {"traces": {"receivers": ["otlp"], "exporters": ["load_balancing"]}},
        },
    }
