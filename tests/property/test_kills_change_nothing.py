"""
Whatever comes when, and however often the service is killed: no span is lost and no verdict is changed.

The same traffic runs once with kills, stops and a slow downstream, and once without. Times are far from the timers, for
a restart may move a deadline by a second and one `decision_delay`.
"""

import asyncio
import tempfile
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from conservation import span_bag
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lives import Lives
from wire_spans import agent, tool

from service.pipeline import SendOutcome

SETTINGS: dict[str, Any] = {
    "trace_timeout": "1000s",
    "span_limit": 9,
    "session": {"enabled": True, "idle_timeout": "800s", "max_sessions": 50},
    "num_traces": 50,
    "decision_cache": {"size": 50},
    "expectations": [
        {
            "name": "plan",
            "partition": "both",
            "expected_tools": ["a", "b"],
            "conditions": [{"condition_type": "tools_called_in_order", "name": "a_first", "tools": ["a", "b"]}],
        }
    ],
}
WITHIN_A_DELAY, PAST_THE_DELAY, PAST_IDLE, PAST_EVIDENCE = 0.25, 25, 100, 1100
SESSIONS = {"agent": "s", "agent2": "t"}
TRACES = [bytes([number]) * 16 for number in (1, 2, 3)]


@dataclass(frozen=True)
class Send:
    spans: tuple[bytes, ...]


@dataclass(frozen=True)
class Wait:
    seconds: float


@dataclass(frozen=True)
class Disturb:
    """
    What must make no difference.
    """

    what: str


def a_span(trace: bytes, label: str, end: float | None) -> bytes:
    if label.startswith("agent"):
        return agent(label, trace=trace, end=end and 100, attributes={"gen_ai.conversation.id": SESSIONS[label]})
    return tool(label[0], label, trace=trace, start=ord(label[-1]), end=end and ord(label[-1]) + end)


spans = st.builds(
    a_span,
    st.sampled_from(TRACES),
    st.sampled_from(["a1", "a2", "b1", "b3", "c2", "agent", "agent", "agent2"]),
    st.sampled_from([1, 1, 1, 0.5, None]),
)
disturbances = st.builds(Disturb, st.sampled_from(["kill", "kill", "kill", "stop", "slow", "quick"]))
bursts = st.lists(
    st.one_of(st.builds(Send, st.lists(spans, min_size=1, max_size=6).map(tuple)), disturbances), min_size=1, max_size=5
)
pauses = st.sampled_from([PAST_THE_DELAY, PAST_THE_DELAY, PAST_IDLE, PAST_EVIDENCE]).map(Wait)
rounds = st.tuples(bursts, pauses, st.lists(disturbances, max_size=1)).map(lambda each: [*each[0], each[1], *each[2]])
schedules = st.lists(rounds, min_size=1, max_size=7).map(lambda each: list(chain(*each)))


async def lived(schedule: list[Send | Wait | Disturb], root: Path, *, is_disturbed: bool) -> Lives:
    lives = await Lives(root, **SETTINGS).begin()
    for step in schedule:
        match step:
            case Send(sent):
                await lives.send(*sent)
                await lives.after(WITHIN_A_DELAY)
            case Wait(seconds):
                await lives.after(seconds)
            case Disturb(what) if is_disturbed:
                await disturb(lives, what)
            case Disturb():
                pass
    quicken(lives)
    for _ in range(4):
        await lives.after(PAST_EVIDENCE)
    await lives.end()
    return lives


async def disturb(lives: Lives, what: str) -> None:
    match what:
        case "kill":
            await lives.kill()
        case "stop":
            await lives.stop()
        case "slow":
            for outlet in lives.life.outlets.values():
                outlet.is_slow = True
        case "quick":
            quicken(lives)


def quicken(lives: Lives) -> None:
    for outlet in lives.life.outlets.values():
        outlet.is_slow = False
        while outlet.undecided:
            outlet.decide(SendOutcome.DELIVERED)


def told(lives: Lives) -> dict[bytes, list[tuple[object, ...]]]:
    """
    What was said of each trace, then of sessions on it: each in its order.
    """
    return {
        trace: sorted(history, key=lambda facts: ("toolscore.partition", "session") in facts)
        for trace, history in lives.histories.items()
    }


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(schedules)
def test_kills_lose_no_span_and_change_no_verdict(schedule: list[Send | Wait | Disturb]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        killed = asyncio.run(lived(schedule, Path(directory, "killed"), is_disturbed=True))
        spared = asyncio.run(lived(schedule, Path(directory, "spared"), is_disturbed=False))

    assert set() == span_bag(killed.sent).keys() - span_bag(killed.requests).keys()
    assert told(spared) == told(killed)
    assert 0 == killed.on_disk
    assert set() == span_bag(spared.requests).keys() ^ span_bag(killed.requests).keys()
