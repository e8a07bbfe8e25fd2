"""
Every socket that a configuration opens. Pure.
"""

from collections.abc import Iterator
from typing import NamedTuple

from service.config.extensions import HealthCheckConfig, LivePageConfig
from service.config.root import Config
from service.config.tls import AuthConfig, ServerTlsConfig


class Listener(NamedTuple):
    """
    A socket that the service would listen on.
    """

    path: tuple[str, ...]
    endpoint: str
    tls: ServerTlsConfig | None
    auth: AuthConfig | None
    takes_auth: bool = True


def listeners(config: Config) -> list[Listener]:
    """
    Every socket that *config* opens.
    """
    return [*_otlp_listeners(config), *_extension_listeners(config), *_metrics_listeners(config)]


def _otlp_listeners(config: Config) -> Iterator[Listener]:
    for name, receiver in config.receivers.items():
        path = ("receivers", name, "protocols")
        if (grpc := receiver.protocols.grpc) is not None:
            yield Listener((*path, "grpc"), grpc.endpoint, grpc.tls, grpc.auth)
        if (http := receiver.protocols.http) is not None:
            yield Listener((*path, "http"), http.endpoint, http.tls, http.auth)


def _extension_listeners(config: Config) -> Iterator[Listener]:
    for name, block in config.extensions.items():
        if name not in config.service.extensions:
            continue
        if isinstance(block, LivePageConfig):
            yield Listener(("extensions", name), block.endpoint, block.tls, block.auth)
        elif isinstance(block, HealthCheckConfig):
            yield Listener(("extensions", name), block.endpoint, block.tls, None, takes_auth=False)


def _metrics_listeners(config: Config) -> Iterator[Listener]:
    if (page := config.service.telemetry.metrics.page) is not None:
        yield Listener(("service", "telemetry", "metrics", "prometheus"), page.endpoint, page.tls, page.auth)
