"""
Held spans cost little more than their bytes, and do not hold up the garbage collector.
"""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest
from bench.agent_traffic import Profile
from bench.memory import Held, hold

SPANS = 40_000


@pytest.fixture(scope="module")
def held() -> Held:
    """
    Measured in a process of its own: what other tests gave back would count against it.
    """
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        return process.submit(hold, Profile.LEAN, SPANS).result()


def test_a_held_span_costs_little_more_than_its_bytes(held: Held) -> None:
    assert held.resident_bytes_per_span <= 1.1 * held.wire_bytes_per_span + 300


def test_the_buffer_knows_what_it_holds(held: Held) -> None:
    assert abs(held.accounted_bytes_per_span - held.resident_bytes_per_span) <= 0.2 * held.resident_bytes_per_span


def test_held_traces_are_not_looked_at_by_the_garbage_collector(held: Held) -> None:
    assert held.full_collections == 0
