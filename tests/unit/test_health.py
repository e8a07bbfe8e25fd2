"""
Alive, ready, draining: which is told when.
"""

import pytest

from service.health import Health, HealthState

SECOND = 1_000_000_000
STATES = list(HealthState)


@pytest.fixture
def health() -> Health:
    return Health(0, tick_timeout_ns=10 * SECOND)


def test_a_starting_service_is_alive_and_not_ready(health: Health) -> None:
    assert (True, False) == (health.is_alive(0), health.is_ready(0))


def test_a_draining_service_is_alive_and_not_ready(health: Health) -> None:
    health.become(HealthState.READY)
    assert health.is_ready(0)

    health.become(HealthState.DRAINING)

    assert (True, False) == (health.is_alive(0), health.is_ready(0))


def test_a_stopped_service_is_not_alive(health: Health) -> None:
    health.become(HealthState.STOPPED)

    assert (False, False) == (health.is_alive(0), health.is_ready(0))


def test_a_loop_that_misses_its_tick_is_neither_alive_nor_ready(health: Health) -> None:
    health.become(HealthState.READY)
    health.tick(5 * SECOND)

    assert health.is_alive(15 * SECOND - 1)
    assert (False, False) == (health.is_alive(15 * SECOND), health.is_ready(15 * SECOND))


def test_a_loop_that_ticks_again_is_alive_again(health: Health) -> None:
    assert not health.is_alive(60 * SECOND)

    health.tick(60 * SECOND)

    assert health.is_alive(60 * SECOND)


def test_a_service_over_its_limit_is_alive_and_not_ready(health: Health) -> None:
    health.become(HealthState.READY)

    assert health.set_over_limit(over_limit=True)
    assert not health.set_over_limit(over_limit=True)
    assert (True, False) == (health.is_alive(0), health.is_ready(0))

    health.set_over_limit(over_limit=False)
    assert health.is_ready(0)


@pytest.mark.parametrize("later", STATES, ids=str)
@pytest.mark.parametrize("earlier", STATES, ids=str)
def test_no_state_is_left_for_an_earlier_one(earlier: HealthState, later: HealthState) -> None:
    """
    A start that ends after shutdown has begun does not make the service ready.
    """
    health = Health(0)
    health.become(later)

    health.become(earlier)

    assert max(earlier, later, key=STATES.index) == health.state
