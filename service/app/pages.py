"""
What is served over HTTP beside OTLP: `/metrics`, health and the live page, as configured.
"""

from collections.abc import Awaitable, Callable, Collection

from aiohttp import hdrs, web
from msgspec import Struct
from opentelemetry.sdk.metrics.export import MetricsData

from service.app.security import Security
from service.clock import Clock
from service.config import Config, HealthCheckConfig, LivePageConfig
from service.config.values import split_endpoint
from service.errors import ConfigError, PermissionDenied, Unauthenticated
from service.health import Health, add_health_routes
from service.live_page.page import OPEN_PATHS, LivePage
from service.telemetry.metrics_endpoint import add_metrics_route
from service.transport_security.bearer_token import BearerTokenAuth
from service.transport_security.tls import ServerTls

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Page(Struct, frozen=True):
    """
    One listener: its place in the configuration, its address, and what it serves.
    """

    where: str
    endpoint: str
    app: web.Application
    tls: ServerTls | None = None


class Pages:
    """
    The HTTP pages of the service, started and stopped together.
    """

    def __init__(
        self,
        config: Config,
        health: Health,
        clock: Clock,
        collect: Callable[[], MetricsData],
        security: Security,
        *,
        live_page: LivePage | None = None,
    ) -> None:
        self._pages: list[Page] = []
        self._runners: list[web.AppRunner] = []
        self.ports: dict[str, int] = {}
        """The ports in use once started, by the place of the listener in the configuration."""
        for name, extension in config.active_extensions.items():
            where = f"extensions::{name}"
            if isinstance(extension, LivePageConfig) and live_page is not None:
                auth = security.bearer_token(extension.auth)
                app = guarded(auth, open_paths=OPEN_PATHS)
                live_page.add_routes(app, auth)
                self._pages.append(Page(where, extension.endpoint, app, security.server_tls(extension.tls, where)))
            elif isinstance(extension, HealthCheckConfig):
                app = web.Application()
                add_health_routes(app, health, clock, path=extension.path)
                self._pages.append(Page(where, extension.endpoint, app, security.server_tls(extension.tls, where)))
        if (metrics := config.service.telemetry.metrics.page) is not None:
            where = "service::telemetry::metrics::prometheus"
            app = guarded(security.bearer_token(metrics.auth))
            add_metrics_route(app, collect)
            self._pages.append(Page(where, metrics.endpoint, app, security.server_tls(metrics.tls, where)))

    async def start(self) -> None:
        """
        Bind and serve. Raises `ConfigError`.
        """
        for page in self._pages:
            runner = web.AppRunner(page.app, access_log=None)
            await runner.setup()
            self._runners.append(runner)
            host, port = split_endpoint(page.endpoint)
            tls = page.tls.ssl_context() if page.tls is not None else None
            try:
                await web.TCPSite(runner, host or None, port, ssl_context=tls).start()
            except OSError as error:
                raise ConfigError([(page.where, f"{page.endpoint}: {error.strerror or error}")]) from error
            self.ports[page.where] = runner.addresses[0][1]

    async def stop(self) -> None:
        for runner in self._runners:
            await runner.cleanup()


def guarded(auth: BearerTokenAuth | None, *, open_paths: Collection[str] = ()) -> web.Application:
    """
    An application that lets in only who has a token, if one is asked for. *open_paths* are there for everybody.
    """

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        if auth is not None and request.path not in open_paths:
            try:
                auth.check(request.headers.get(hdrs.AUTHORIZATION))
            except Unauthenticated as error:
                raise web.HTTPUnauthorized(headers={hdrs.WWW_AUTHENTICATE: "Bearer"}) from error
            except PermissionDenied as error:
                raise web.HTTPForbidden from error
        return await handler(request)

    return web.Application(middlewares=[check])
