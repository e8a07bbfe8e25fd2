"""
What is served over HTTP beside OTLP: `/metrics` and health, as configured.
"""

from collections.abc import Callable

from aiohttp import web
from opentelemetry.sdk.metrics.export import MetricsData

from service.clock import Clock
from service.config import Config, HealthCheckConfig
from service.config.values import split_endpoint
from service.errors import ConfigError
from service.health import Health, add_health_routes
from service.telemetry.metrics_endpoint import add_metrics_route


class Pages:
    """
    The HTTP pages of the service, one listener for each endpoint.
    """

    def __init__(self, config: Config, health: Health, clock: Clock, collect: Callable[[], MetricsData]) -> None:
        self._sites: list[tuple[str, str, web.Application]] = []
        self._runners: list[web.AppRunner] = []
        for name, extension in config.active_extensions.items():
            if isinstance(extension, HealthCheckConfig):
                page = web.Application()
                add_health_routes(page, health, clock, path=extension.path)
                self._sites.append((f"extensions::{name}::endpoint", extension.endpoint, page))
        if (metrics := config.service.telemetry.metrics.page) is not None:
            page = web.Application()
            add_metrics_route(page, collect)
            add_health_routes(page, health, clock)
            self._sites.append(("service::telemetry::metrics::prometheus", metrics.endpoint, page))

    async def start(self) -> None:
        """
        Bind and serve. Raises `ConfigError`.
        """
        for path, endpoint, page in self._sites:
            runner = web.AppRunner(page, access_log=None)
            await runner.setup()
            self._runners.append(runner)
            host, port = split_endpoint(endpoint)
            try:
                await web.TCPSite(runner, host, port).start()
            except OSError as error:
                raise ConfigError([(path, f"{endpoint}: {error.strerror or error}")]) from error

    async def stop(self) -> None:
        for runner in self._runners:
            await runner.cleanup()
