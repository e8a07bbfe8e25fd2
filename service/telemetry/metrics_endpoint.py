"""
`GET /metrics`.
"""

from collections.abc import Callable

from aiohttp import web
from aiohttp.hdrs import ACCEPT, CONTENT_TYPE
from opentelemetry.sdk.metrics.export import MetricsData

from service.telemetry.exposition import OPENMETRICS_TYPE, PLAIN_TYPE, expose, wants_openmetrics

PATH = "/metrics"


def add_metrics_route(app: web.Application, collect: Callable[[], MetricsData]) -> None:
    """
    Serve what *collect* gives: in OpenMetrics if the client asks for it, else in the plain text format.
    """

    async def metrics(request: web.Request) -> web.Response:
        openmetrics = wants_openmetrics(request.headers.get(ACCEPT, ""))
        response = web.Response(text=expose(collect(), openmetrics=openmetrics))
        response.headers[CONTENT_TYPE] = OPENMETRICS_TYPE if openmetrics else PLAIN_TYPE
        response.enable_compression()
        return response

    app.router.add_get(PATH, metrics)
