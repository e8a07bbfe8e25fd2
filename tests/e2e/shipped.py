"""
The configurations of `deploy/`, run as they are: only addresses come from the environment.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.collector_build import collector_program
from e2e.peers import free_port, running
from e2e.service_process import Addresses, serving

DEPLOY = Path(__file__).parents[2] / "deploy"


def free_address() -> str:
    return f"127.0.0.1:{free_port()}"


@contextmanager
def shipped_collector(name: str, directory: Path, **environ: str) -> Iterator[str]:
    """
    A real Collector with `deploy/collector/NAME.yaml`; the address of its OTLP/gRPC receiver.
    """
    directory.mkdir(parents=True, exist_ok=True)
    grpc, http, health = free_address(), free_address(), free_address()
    command = [str(collector_program()), "--config", str(DEPLOY / "collector" / f"{name}.yaml")]
    listen = {"LISTEN_GRPC": grpc, "LISTEN_HTTP": http, "LISTEN_HEALTH": health}
    with running(command, directory / f"{name}.log", ready=f"http://{health}/", environ={**listen, **environ}):
        yield grpc


@contextmanager
def shipped_service(name: str, directory: Path, downstream: str) -> Iterator[Addresses]:
    """
    The service with `deploy/toolscore/NAME.yaml` and short timers.
    """
    directory.mkdir(parents=True, exist_ok=True)
    addresses = Addresses()
    host, _, port = addresses.metrics.rpartition(":")
    environ = {
        "LISTEN_GRPC": addresses.grpc,
        "LISTEN_HTTP": free_address(),
        "LISTEN_HEALTH": addresses.health,
        "METRICS_HOST": host,
        "METRICS_PORT": port,
        "DOWNSTREAM": downstream,
        "DECISION_DELAY": "200ms",
        "METRICS_INTERVAL": "500ms",
    }
    log = directory / f"{name}.log"
    with serving(DEPLOY / "toolscore" / f"{name}.yaml", addresses, log=log, environ=environ):
        yield addresses
