"""
Whether the service is alive, and whether it can take traffic.

    starting -> ready -> draining -> stopped

Alive: the processor's loop ticks. Ready: the receivers are bound, nothing is over a limit, and shutdown has not begun.
Time is a parameter; the endpoints at the end give it from a clock.
"""

from enum import StrEnum

from aiohttp import web

from service.clock import Clock

DEFAULT_TICK_TIMEOUT_NS = 10 * 1_000_000_000
"""The loop yields every few milliseconds; ten seconds without a tick is a loop that hangs, not one that is busy."""


class HealthState(StrEnum):
    STARTING = "starting"
    READY = "ready"
    DRAINING = "draining"
    STOPPED = "stopped"


_SUCCESSORS = {
    HealthState.STARTING: {HealthState.READY, HealthState.DRAINING, HealthState.STOPPED},
    HealthState.READY: {HealthState.DRAINING, HealthState.STOPPED},
    HealthState.DRAINING: {HealthState.STOPPED},
    HealthState.STOPPED: set[HealthState](),
}


class Health:
    """
    Told by the parts, asked by the endpoints. There is no way back to an earlier state.
    """

    def __init__(self, now_ns: int, *, tick_timeout_ns: int = DEFAULT_TICK_TIMEOUT_NS) -> None:
        self._state = HealthState.STARTING
        self._over_limit = False
        self._last_tick_ns = now_ns
        self._tick_timeout_ns = tick_timeout_ns

    @property
    def state(self) -> HealthState:
        return self._state

    @property
    def serves(self) -> bool:
        """
        Ready, as far as the service itself says so: what grpc.health.v1 answers.
        """
        return self._state is HealthState.READY and not self._over_limit

    def tick(self, now_ns: int) -> None:
        """
        The loop has come round (monotonic time).
        """
        self._last_tick_ns = now_ns

    def become(self, state: HealthState) -> None:
        """
        Go on to *state*; a step back is ignored, since shutdown may overtake a start.
        """
        if state in _SUCCESSORS[self._state]:
            self._state = state

    def set_over_limit(self, *, over_limit: bool) -> bool:
        """
        Say whether there is no room; tells whether that is new.
        """
        is_new = over_limit is not self._over_limit
        self._over_limit = over_limit
        return is_new

    def is_alive(self, now_ns: int) -> bool:
        return self._state is not HealthState.STOPPED and now_ns - self._last_tick_ns < self._tick_timeout_ns

    def is_ready(self, now_ns: int) -> bool:
        return self.serves and self.is_alive(now_ns)


def add_health_routes(app: web.Application, health: Health, clock: Clock, *, path: str | None = None) -> None:
    """
    Serve `/livez` and `/readyz`, and at *path* what the Collector's health_check extension serves: readiness.
    """

    async def livez(_: web.Request) -> web.Response:
        return _answer(health, good=health.is_alive(clock.monotonic_ns()))

    async def readyz(_: web.Request) -> web.Response:
        return _answer(health, good=health.is_ready(clock.monotonic_ns()))

    app.router.add_get("/livez", livez)
    app.router.add_get("/readyz", readyz)
    if path is not None and path not in {"/livez", "/readyz"}:
        app.router.add_get(path, readyz)


def _answer(health: Health, *, good: bool) -> web.Response:
    return web.json_response({"status": health.state.value}, status=200 if good else 503)
