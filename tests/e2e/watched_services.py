"""
Three services with one Prometheus over them: one that is well, one that has no room, one whose next hop is dead.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
import yaml
from e2e.dashboard_load import SCORING, Sender
from e2e.downstream import downstream
from e2e.peers import free_port
from e2e.prometheus_process import Prometheus, prometheus
from e2e.service_process import Addresses, Settings, serving

NARROW: Settings = {
    "decision_delay": "2s",
    "idle_timeout": "3s",
    "num_traces": 8,
    "span_limit": 20,
    "max_buffer_mib": 1,
}
DEAD_END: Settings = {"mode": "pass_through", "idle_timeout": "1s", "max_buffer_mib": 1}
SHORT_QUEUE: Settings = {
    "timeout": "1s",
    "retry_on_failure": {"initial_interval": "200ms", "max_interval": "500ms", "max_elapsed_time": "1s"},
    "sending_queue": {"num_consumers": 1, "queue_size": 1},
}


@dataclass(frozen=True)
class WatchedServices:
    """
    A sender to each service, and the Prometheus that scrapes all three.
    """

    well: Sender
    narrow: Sender
    dead_end: Sender
    prometheus: Prometheus
    directory: Path

    def change_annotations(self) -> None:
        """
        Change the file of annotations, which is then read again.
        """
        (self.directory / "annotations.yaml").write_text('annotations: {"0": {expected_tools: find}}\n')


@contextmanager
def watched_services(directory: Path) -> Iterator[WatchedServices]:
    with ExitStack() as stack:
        taken = stack.enter_context(downstream())
        nowhere = f"127.0.0.1:{free_port()}"
        retrying = {"retry_on_failure": {"initial_interval": "200ms"}}
        well, narrow, dead_end = (
            stack.enter_context(_service(directory / name, block, target, exporter))
            for name, block, target, exporter in (
                ("well", {**SCORING, **stores(directory)}, taken, {}),
                ("narrow", NARROW, taken, retrying),
                ("dead-end", DEAD_END, nowhere, SHORT_QUEUE),
            )
        )
        targets = [sender.metrics for sender in (well, narrow, dead_end)]
        watcher = stack.enter_context(prometheus(directory / "prometheus", targets))
        yield WatchedServices(well, narrow, dead_end, watcher, directory)


def stores(directory: Path) -> Settings:
    """
    The files of the service that is well: annotations, evidence and journal.
    """
    (directory / "annotations.yaml").write_text("annotations: {}\n")
    return {
        "annotations_file": str(directory / "annotations.yaml"),
        "evidence": {"file": str(directory / "evidence.jsonl")},
        "buffer": {"journal": {"directory": str(directory / "journal")}},
    }


@contextmanager
def _service(directory: Path, tool_scoring: Settings, target: str, exporter: Settings) -> Iterator[Sender]:
    addresses, http = Addresses(), f"127.0.0.1:{free_port()}"
    directory.mkdir(parents=True)
    file = directory / "toolscore.yaml"
    file.write_text(yaml.safe_dump(_configuration(addresses, http, tool_scoring, target, exporter)))
    with serving(file, addresses), grpc.insecure_channel(addresses.grpc) as channel:
        yield Sender(channel, http, addresses.metrics)


def _configuration(
    addresses: Addresses, http: str, tool_scoring: Settings, target: str, exporter: Settings
) -> Settings:
    host, _, port = addresses.metrics.rpartition(":")
    return {
        "receivers": {"otlp": {"protocols": {"grpc": {"endpoint": addresses.grpc}, "http": {"endpoint": http}}}},
        "processors": {"tool_scoring": tool_scoring, "batch": {"timeout": "20ms"}},
        "exporters": {"otlp_grpc": {"endpoint": target, "tls": {"insecure": True}, **exporter}},
        "extensions": {"health_check": {"endpoint": addresses.health}},
        "service": {
            "extensions": ["health_check"],
            "telemetry": {"metrics": {"prometheus": {"host": host, "port": int(port)}}},
        },
    }
