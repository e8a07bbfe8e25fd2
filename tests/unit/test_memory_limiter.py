"""
The memory limiter: a hard limit that refuses, a soft one that tells how much should give way.
"""

import pytest
from doubles import ManualClock

from service.limits import MemoryLimiter, resident_bytes

CHECK_NS = 1_000_000_000


class Memory:
    def __init__(self) -> None:
        self.used = 0
        self.reads = 0

    def read(self) -> int:
        self.reads += 1
        return self.used


@pytest.fixture
def memory() -> Memory:
    return Memory()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def limiter(memory: Memory, clock: ManualClock) -> MemoryLimiter:
    return MemoryLimiter(
        limit_bytes=100, spike_limit_bytes=20, check_interval_ns=CHECK_NS, clock=clock, read=memory.read
    )


@pytest.mark.parametrize(
    ("used", "expected"), [(80, (False, 0)), (81, (False, 1)), (100, (False, 20)), (101, (True, 21))]
)
def test_the_limits_are_those_of_the_collector(
    memory: Memory, limiter: MemoryLimiter, used: int, expected: tuple[bool, int]
) -> None:
    memory.used = used

    assert expected == (limiter.is_over_hard_limit, limiter.new_excess_bytes())


def test_memory_is_read_once_per_check_interval(memory: Memory, limiter: MemoryLimiter, clock: ManualClock) -> None:
    for _ in range(3):
        assert not limiter.is_over_hard_limit
    memory.used = 200
    assert (False, 1) == (limiter.is_over_hard_limit, memory.reads)

    clock.advance(CHECK_NS)

    assert (True, 2) == (limiter.is_over_hard_limit, memory.reads)


def test_an_excess_is_told_once_for_each_check(memory: Memory, limiter: MemoryLimiter, clock: ManualClock) -> None:
    memory.used = 95
    assert [15, 0] == [limiter.new_excess_bytes(), limiter.new_excess_bytes()]

    clock.advance(CHECK_NS)

    assert [15, 0] == [limiter.new_excess_bytes(), limiter.new_excess_bytes()]


def test_the_memory_of_this_process_is_known() -> None:
    assert 10_000_000 < resident_bytes() < 10_000_000_000
