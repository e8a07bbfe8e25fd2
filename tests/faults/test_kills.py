"""
SIGKILL and SIGTERM at random points under load, with a journal: no span is lost, no verdict is changed.

Sessions are on. Two services side by side, each with a client that tries again and a next hop that answers late; then
the same traffic once more without kills.
"""

import asyncio
import random
import signal
from pathlib import Path

import pytest
from conservation import span_bag
from faults.fault_report import REPORT, account
from faults.killed_service import KilledService

from service.pipeline import Signal

KILLS = 25
"""Of each of two services."""
SIGNALS = [signal.SIGKILL] * 4 + [signal.SIGTERM]


def kills(seed: int) -> list[tuple[float, int]]:
    """
    When and how.
    """
    numbers = random.Random(seed)
    return [(numbers.uniform(0.2, 1.2), numbers.choice(SIGNALS)) for _ in range(KILLS)]


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_kills_under_load_lose_no_span_and_change_no_verdict(tmp_path: Path) -> None:
    killed = [KilledService(tmp_path / f"killed-{seed}") for seed in range(2)]
    await asyncio.gather(*(service.live(kills(seed)) for seed, service in enumerate(killed)))
    spared = KilledService(tmp_path / "spared")
    await spared.live([], bundles=max(service.started for service in killed))

    for service in killed:
        received = service.sink.received(Signal.TRACES)
        assert 0 < len(service.sent)
        assert not span_bag(service.sent) - span_bag(received)
        expected = {trace: spared.sink.histories[trace] for trace in service.sink.histories}
        assert expected == service.sink.histories
        assert service.started <= len(service.sink.sessions)
        assert {trace: spared.sink.sessions[trace] for trace in service.sink.sessions} == service.sink.sessions
        account("kill", service.sent, received, may_repeat=True)
    kills_survived = sum(service.kills for service in killed)
    REPORT.kills += kills_survived
    REPORT.faults["kill"] += kills_survived - len(killed)
    assert sum(service.at_work for service in killed) >= 0.8 * 2 * KILLS
