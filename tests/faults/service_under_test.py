"""
The whole service in the process of the test, over loopback, with timers short enough for tests.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Self

from processing import EXPECTED

from service.app.app import App
from service.clock import SystemClock
from service.config import Config, config_from_tree
from service.processor.outputs import Observer

LOOPBACK = "127.0.0.1:0"
QUICK_RETRIES = {"initial_interval": "20ms", "max_interval": "50ms"}
QUICK = {"decision_delay": "50ms", "idle_timeout": "2s", "trace_timeout": "20s"}
Tree = dict[str, object]


def service_tree(
    exporters: Mapping[str, Mapping[str, object]],
    settings: Mapping[str, object],
    *,
    service: Tree | None = None,
) -> Tree:
    """
    A configuration that sends everything to *exporters*, with these *settings* of `tool_scoring`.
    """
    return {
        "receivers": {"otlp": {"protocols": {"grpc": {"endpoint": LOOPBACK}, "http": {"endpoint": LOOPBACK}}}},
        "processors": {"tool_scoring": {**EXPECTED, **QUICK, **settings}, "batch": {"timeout": "10ms"}},
        "exporters": {name: dict(exporter) for name, exporter in exporters.items()},
        "service": {"telemetry": {"metrics": {"level": "none"}}, "shutdown_timeout": "3s", **(service or {})},
    }


def over_grpc(endpoint: str, **exporter: object) -> dict[str, Mapping[str, object]]:
    """
    One OTLP/gRPC exporter that tries again quickly.
    """
    plain = {"endpoint": endpoint, "tls": {"insecure": True}, "retry_on_failure": QUICK_RETRIES}
    return {"otlp_grpc": {**plain, **exporter}}


def over_http(url: str, **exporter: object) -> dict[str, Mapping[str, object]]:
    """
    One OTLP/HTTP exporter that tries again quickly.
    """
    return {"otlp_http": {"endpoint": url, "retry_on_failure": QUICK_RETRIES, **exporter}}


def config_of(tree: Tree) -> Config:
    return config_from_tree(tree, environ={})  # type: ignore[arg-type]  # plain values of a test


def _value(point: object) -> float:
    value = getattr(point, "value", 0.0)
    assert isinstance(value, int | float)
    return value


class ServiceUnderTest:
    """
    A running service, and what it counted.
    """

    def __init__(self, config: Config, observers: Sequence[Observer] = ()) -> None:
        self.app = App(config, SystemClock(), observers)
        self._is_running = False

    async def start(self) -> Self:
        await self.app.start()
        self._is_running = True
        return self

    async def stop(self) -> None:
        """
        As SIGTERM does. Once.
        """
        if self._is_running:
            self._is_running = False
            await self.app.stop()

    @property
    def grpc(self) -> str:
        return f"127.0.0.1:{self.app.receivers.grpc_ports[0]}"

    @property
    def http(self) -> str:
        return f"http://127.0.0.1:{self.app.receivers.http_ports[0]}"

    def counted(self, name: str, **attributes: str) -> int:
        """
        The sum of a counter over the series that have these attributes.
        """
        wanted = attributes.items()
        points = [
            point
            for resource in self.app.recorder.collect().resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        ]
        return round(sum(_value(point) for point in points if wanted <= dict(point.attributes or {}).items()))

    @property
    def lost_spans(self) -> int:
        """All named losses."""
        return self.counted("toolscore.lost_spans")

    def assert_balanced(self) -> None:
        """
        Accepted = sent + deduplicated + lost, once nothing is held (design §9).
        """
        accepted = self.counted("toolscore.receiver.accepted_spans")
        gone = self.counted("toolscore.exporter.sent_spans") + self.lost_spans
        assert accepted == gone + self.counted("toolscore.processor.deduplicated_spans")


@asynccontextmanager
async def a_service(
    exporters: Mapping[str, Mapping[str, object]],
    settings: Mapping[str, object] | None = None,
    *,
    service: Tree | None = None,
    observers: Sequence[Observer] = (),
) -> AsyncIterator[ServiceUnderTest]:
    """
    A service with these *settings* of `tool_scoring`, for the length of the block; it is stopped in order unless the
    block did so.
    """
    tree = service_tree(exporters, settings or {}, service=service)
    under_test = await ServiceUnderTest(config_of(tree), observers).start()
    try:
        yield under_test
    finally:
        await under_test.stop()
