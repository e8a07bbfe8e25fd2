"""
When a request is sent again, and when no more.
"""

import asyncio

import pytest

from service.durations import MINUTE, SECOND
from service.exporter.retry import Pause, RetrySchedule, RetrySettings


def middle() -> float:
    return 0.5


def delays(settings: RetrySettings, count: int) -> list[int | None]:
    schedule = RetrySchedule(settings, middle)
    return [schedule.next_delay_ns(0) for _ in range(count)]


def test_delays_grow_by_the_multiplier_up_to_the_longest() -> None:
    settings = RetrySettings(initial_interval_ns=5 * SECOND, multiplier=2, max_interval_ns=30 * SECOND)

    assert [5 * SECOND, 10 * SECOND, 20 * SECOND, 30 * SECOND, 30 * SECOND] == delays(settings, 5)


@pytest.mark.parametrize(("uniform", "delay_ns"), [(0.0, 5 * SECOND), (0.5, 10 * SECOND), (1.0, 15 * SECOND)])
def test_randomization_spreads_a_delay_around_its_interval(uniform: float, delay_ns: int) -> None:
    settings = RetrySettings(initial_interval_ns=10 * SECOND, randomization_factor=0.5)

    assert delay_ns == RetrySchedule(settings, lambda: uniform).next_delay_ns(0)


@pytest.mark.parametrize(
    ("asked_ns", "delay_ns"),
    [
        pytest.param(None, 5 * SECOND, id="nothing asked"),
        pytest.param(0, 5 * SECOND, id="zero"),
        pytest.param(2 * SECOND, 5 * SECOND, id="shorter than our own backoff"),
        pytest.param(45 * SECOND, 45 * SECOND, id="longer"),
        pytest.param(3600 * SECOND, 300 * SECOND, id="capped at ten longest intervals"),
    ],
)
def test_the_pause_that_downstream_asks_for_is_honoured_within_bounds(asked_ns: int | None, delay_ns: int) -> None:
    assert delay_ns == RetrySchedule(RetrySettings(), middle).next_delay_ns(0, asked_ns)


@pytest.mark.parametrize(("elapsed_ns", "gives_up"), [(54 * SECOND, False), (55 * SECOND, False), (56 * SECOND, True)])
def test_a_try_that_would_pass_the_longest_time_is_not_made(elapsed_ns: int, *, gives_up: bool) -> None:
    schedule = RetrySchedule(RetrySettings(max_elapsed_time_ns=MINUTE), middle)

    assert gives_up == (schedule.next_delay_ns(elapsed_ns) is None)


def test_without_a_longest_time_it_never_gives_up() -> None:
    schedule = RetrySchedule(RetrySettings(max_elapsed_time_ns=0), middle)

    assert schedule.next_delay_ns(10**9 * SECOND) is not None


def test_switched_off_there_is_no_second_try() -> None:
    assert RetrySchedule(RetrySettings(enabled=False), middle).next_delay_ns(0) is None


async def test_ending_a_pause_wakes_who_waits_and_who_comes_later() -> None:
    pause = Pause()
    waiter = asyncio.create_task(pause.wait(3600 * SECOND))
    await asyncio.sleep(0)

    pause.end()

    await asyncio.wait_for(waiter, 5)
    await asyncio.wait_for(pause.wait(3600 * SECOND), 5)
    assert pause.has_ended


async def test_a_pause_ends_by_itself() -> None:
    pause = Pause()

    await pause.wait(1)

    assert not pause.has_ended
