"""
The service as its users run it: `serve --config` in a process of its own.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from e2e.peers import Peer, free_port, running

Settings = dict[str, Any]


@dataclass(frozen=True)
class Addresses:
    """
    Where a service listens: its OTLP receiver, its health and its own metrics.
    """

    grpc: str = field(default_factory=lambda: f"127.0.0.1:{free_port()}")
    health: str = field(default_factory=lambda: f"127.0.0.1:{free_port()}")
    metrics: str = field(default_factory=lambda: f"127.0.0.1:{free_port()}")

    @property
    def ready(self) -> str:
        return f"http://{self.health}/readyz"


@contextmanager
def toolscore(directory: Path, downstream: str, tool_scoring: Settings) -> Iterator[Addresses]:
    """
    The service with these settings of its `tool_scoring` block, sending all three signals to the address *downstream*.
    """
    addresses = Addresses()
    with serving(configuration_file(directory, addresses, downstream, tool_scoring), addresses):
        yield addresses


@contextmanager
def serving(
    file: Path, addresses: Addresses, *, log: Path | None = None, environ: Mapping[str, str] | None = None
) -> Iterator[Peer]:
    """
    The service with the configuration *file*, which makes it listen on *addresses*.
    """
    with running(command_of(file), log or file.with_suffix(".log"), ready=addresses.ready, environ=environ) as peer:
        yield peer


def command_of(file: Path) -> list[str]:
    """
    How the service is started with a configuration.
    """
    return [sys.executable, "-m", "service", "serve", "--config", str(file)]


def configuration_file(directory: Path, addresses: Addresses, downstream: str, tool_scoring: Settings) -> Path:
    """
    Write the configuration of such a service into *directory*.
    """
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / "toolscore.yaml"
    file.write_text(yaml.safe_dump(_configuration(addresses, downstream, tool_scoring)))
    return file


def _configuration(addresses: Addresses, downstream: str, tool_scoring: Settings) -> Settings:
    host, _, port = addresses.metrics.rpartition(":")
    return {
        "receivers": {"otlp": {"protocols": {"grpc": {"endpoint": addresses.grpc}}}},
        "processors": {"tool_scoring": tool_scoring},
        "exporters": {"otlp_grpc": {"endpoint": downstream, "tls": {"insecure": True}}},
        "extensions": {"health_check": {"endpoint": addresses.health}},
        "service": {
            "extensions": ["health_check"],
            "pipelines": {signal: {"exporters": ["otlp_grpc"]} for signal in ("traces", "logs", "metrics")},
            "telemetry": {"metrics": {"prometheus": {"host": host, "port": int(port)}}},
        },
    }
