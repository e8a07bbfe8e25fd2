"""
The endpoints for probes and for Prometheus, over real HTTP on loopback.
"""

from collections.abc import AsyncIterator
from http import HTTPStatus

import pytest
from aiohttp import ClientSession, web
from doubles import ManualClock
from every_count import SUBJECT, TRACE_ID, a_score
from prometheus_text import read_openmetrics, read_plain

from service.health import DEFAULT_TICK_TIMEOUT_NS, Health, HealthState, add_health_routes
from service.telemetry.metrics_endpoint import add_metrics_route
from service.telemetry.otel_recorder import OtelRecorder

PROMETHEUS_ACCEPT = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def health(clock: ManualClock) -> Health:
    return Health(clock.monotonic_ns())


@pytest.fixture
def recorder(clock: ManualClock) -> OtelRecorder:
    return OtelRecorder(clock)


@pytest.fixture
async def client(clock: ManualClock, health: Health, recorder: OtelRecorder) -> AsyncIterator[ClientSession]:
    app = web.Application()
    add_health_routes(app, health, clock, path="/")
    add_metrics_route(app, recorder.collect)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port = runner.addresses[0][1]
    async with ClientSession(f"http://127.0.0.1:{port}") as session:
        yield session
    await runner.cleanup()


async def status(client: ClientSession, path: str) -> tuple[int, str]:
    async with client.get(path) as response:
        return response.status, (await response.json())["status"]


@pytest.mark.parametrize(
    ("state", "alive", "ready"),
    [
        (HealthState.STARTING, True, False),
        (HealthState.READY, True, True),
        (HealthState.DRAINING, True, False),
        (HealthState.STOPPED, False, False),
    ],
    ids=str,
)
async def test_probes_tell_the_state(
    client: ClientSession, health: Health, state: HealthState, *, alive: bool, ready: bool
) -> None:
    health.become(state)

    assert (_code(good=alive), state) == await status(client, "/livez")
    assert (_code(good=ready), state) == await status(client, "/readyz")
    assert (_code(good=ready), state) == await status(client, "/")


async def test_a_hanging_loop_fails_the_liveness_probe(
    client: ClientSession, health: Health, clock: ManualClock
) -> None:
    health.become(HealthState.READY)

    clock.advance(DEFAULT_TICK_TIMEOUT_NS)

    assert (HTTPStatus.SERVICE_UNAVAILABLE, "ready") == await status(client, "/livez")
    assert (HTTPStatus.SERVICE_UNAVAILABLE, "ready") == await status(client, "/readyz")


async def test_prometheus_gets_openmetrics_with_exemplars(client: ClientSession, recorder: OtelRecorder) -> None:
    recorder.scored(a_score(), SUBJECT, enters_histogram=True)

    async with client.get("/metrics", headers={"Accept": PROMETHEUS_ACCEPT}) as response:
        text = await response.text()

    assert "application/openmetrics-text; version=1.0.0; charset=utf-8" == response.headers["Content-Type"]
    exemplars = [one.exemplar for family in read_openmetrics(text) for one in family.samples if one.exemplar]
    assert [TRACE_ID.hex()] == [exemplar.labels["trace_id"] for exemplar in exemplars]


async def test_others_get_the_plain_format(client: ClientSession, recorder: OtelRecorder) -> None:
    recorder.scored(a_score(), SUBJECT, enters_histogram=True)

    async with client.get("/metrics") as response:
        text = await response.text()

    assert "text/plain; version=0.0.4; charset=utf-8" == response.headers["Content-Type"]
    names = {sample.name for family in read_plain(text) for sample in family.samples}
    assert {"toolscore_evaluations_total", "gen_ai_evaluation_score_bucket", "target_info"} <= names


def _code(*, good: bool) -> HTTPStatus:
    return HTTPStatus.OK if good else HTTPStatus.SERVICE_UNAVAILABLE
