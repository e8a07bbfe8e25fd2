"""
Real Collectors: their configuration, their processes, and what their file exporters wrote.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from e2e.collector_build import collector_program
from e2e.peers import Peer, free_port, running

Settings = dict[str, Any]
SIGNALS = ("traces", "logs", "metrics")
LENGTH_BYTES = 4


@dataclass(frozen=True)
class Collector:
    """
    A running Collector. `grpc` and `http` are the addresses of its OTLP receiver.
    """

    peer: Peer
    grpc: str
    http: str
    directory: Path

    def written(self, signal: str) -> list[bytes]:
        """
        The export requests of one signal that the file exporter has written whole so far.
        """
        output = output_file(self.directory, signal)
        return list(_messages(output.read_bytes())) if output.exists() else []


@contextmanager
def forwarding_collector(directory: Path, target: str, exporter: Settings | None = None) -> Iterator[Collector]:
    """
    A Collector that sends all it receives to the OTLP/gRPC receiver at *target*.
    """
    settings = {"endpoint": target, "tls": {"insecure": True}, **(exporter or {})}
    with a_collector(directory, {signal: {"otlp_grpc": settings} for signal in SIGNALS}) as collector:
        yield collector


@contextmanager
def filing_collector(directory: Path) -> Iterator[Collector]:
    """
    A Collector that writes all it receives to files, one for each signal.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with a_collector(directory, {signal: _file_exporter(directory, signal) for signal in SIGNALS}) as collector:
        yield collector


@contextmanager
def a_collector(
    directory: Path, exporters: Mapping[str, Settings], *, processors: Mapping[str, Settings] | None = None
) -> Iterator[Collector]:
    """
    A Collector with an OTLP receiver, the same *processors* for every signal, and the *exporters* given for each.
    """
    grpc, http, health = (f"127.0.0.1:{free_port()}" for _ in range(3))
    settings = _configuration(grpc, http, health, exporters, processors or {})
    with run_collector(directory, settings, health=health) as peer:
        yield Collector(peer, grpc, http, directory)


@contextmanager
def run_collector(
    directory: Path, settings: Settings, *, health: str, environ: Mapping[str, str] | None = None
) -> Iterator[Peer]:
    """
    A Collector with these *settings*, whose health_check extension listens on the address *health*.
    """
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / "collector.yaml"
    file.write_text(yaml.safe_dump(settings))
    command = [str(collector_program()), "--config", str(file)]
    with running(command, directory / "collector.log", ready=f"http://{health}/", environ=environ) as peer:
        yield peer


def _configuration(
    grpc: str, http: str, health: str, exporters: Mapping[str, Settings], processors: Mapping[str, Settings]
) -> Settings:
    every_exporter = {name: settings for each in exporters.values() for name, settings in each.items()}
    return {
        "receivers": {"otlp": {"protocols": {"grpc": {"endpoint": grpc}, "http": {"endpoint": http}}}},
        "processors": dict(processors),
        "exporters": every_exporter,
        "extensions": {"health_check": {"endpoint": health}},
        "service": {
            "extensions": ["health_check"],
            "telemetry": {"metrics": {"level": "none"}},
            "pipelines": {
                signal: {"receivers": ["otlp"], "processors": list(processors), "exporters": list(each)}
                for signal, each in exporters.items()
            },
        },
    }


def _file_exporter(directory: Path, signal: str) -> Settings:
    path = str(output_file(directory, signal))
    return {f"file/{signal}": {"path": path, "format": "proto", "flush_interval": "100ms"}}


def output_file(directory: Path, signal: str) -> Path:
    """
    Where the file exporter of a filing Collector writes the requests of *signal*.
    """
    return directory / f"{signal}.otlp"


def _messages(content: bytes) -> Iterator[bytes]:
    position = 0
    while position + LENGTH_BYTES <= len(content):
        start = position + LENGTH_BYTES
        position = start + int.from_bytes(content[position:start], "big")
        if position <= len(content):
            yield content[start:position]
