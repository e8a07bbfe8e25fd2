"""
The service as its users run it: `serve --config` in a process of its own.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from e2e.peers import Peer, free_port, running

Settings = dict[str, Any]


@dataclass(frozen=True)
class ToolscoreProcess:
    """
    A running service, and the addresses of its OTLP receiver and of its own metrics.
    """

    peer: Peer
    grpc: str
    metrics_address: str

    @property
    def metrics(self) -> str:
        return f"http://{self.metrics_address}/metrics"


@contextmanager
def toolscore(directory: Path, downstream: str, tool_scoring: Settings) -> Iterator[ToolscoreProcess]:
    """
    The service with these settings of its `tool_scoring` block, sending all three signals to the address *downstream*.
    """
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / "toolscore.yaml"
    grpc, health = (f"127.0.0.1:{free_port()}" for _ in range(2))
    metrics_port = free_port()
    file.write_text(yaml.safe_dump(_configuration(grpc, health, metrics_port, downstream, tool_scoring)))
    command = [sys.executable, "-m", "service", "serve", "--config", str(file)]
    with running(command, directory / "toolscore.log", ready=f"http://{health}/readyz") as peer:
        yield ToolscoreProcess(peer, grpc, f"127.0.0.1:{metrics_port}")


def _configuration(grpc: str, health: str, metrics_port: int, downstream: str, tool_scoring: Settings) -> Settings:
    return {
        "receivers": {"otlp": {"protocols": {"grpc": {"endpoint": grpc}}}},
        "processors": {"tool_scoring": tool_scoring},
        "exporters": {"otlp_grpc": {"endpoint": downstream, "tls": {"insecure": True}}},
        "extensions": {"health_check": {"endpoint": health}},
        "service": {
            "extensions": ["health_check"],
            "pipelines": {signal: {"exporters": ["otlp_grpc"]} for signal in ("traces", "logs", "metrics")},
            "telemetry": {"metrics": {"prometheus": {"host": "127.0.0.1", "port": metrics_port}}},
        },
    }
