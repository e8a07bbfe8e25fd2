"""
Replay of whatever came, however it came: stored evidence says what was said online, closing by closing; spans do if
nothing of them was late.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from processing import Processing
from replaying import delivered, framed, replayed, said_in_replay, said_online, stored
from wire_spans import agent, chat, tool, wire_span

from service.processor.outputs import Scored
from service.replay.results import ReplayResult

CALLS = '[{"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "b", "arguments": {"x": 1}}]}]'
RULES: dict[str, Any] = {
    "additional_metrics": ["multiset_recall", "redundancy"],
    "expected_tools_attribute": "wanted",
    "session": {"enabled": True, "idle_timeout": "60s"},
    "expectations": [
        {"name": "other", "match": {"attributes": {"tenant": "other*"}}, "expected_tools": ["z"]},
        {
            "name": "plan",
            "partition": "both",
            "expected_tools": [{"name": "a", "arguments": {"x": 1}}, "b"],
            "conditions": [
                {"condition_type": "tools_called_in_order", "name": "a_first", "tools": ["a", "b"]},
                {"condition_type": "tools_called", "name": "a_of_1", "tools": [{"name": "a", "arguments": {"x": 1}}]},
            ],
        },
    ],
}
AGENT_RUNS = [{"attribute": "gen_ai.operation.name", "values": ["invoke_agent"]}]
TRACES = tuple(bytes([number]) * 16 for number in (1, 2))

traces = st.sampled_from(TRACES)
ticks = st.integers(0, 6)
conditions = st.sampled_from(["parent_empty", "parent_empty_or_remote", AGENT_RUNS])


@st.composite
def spans(draw: st.DrawFn) -> bytes:
    trace, start = draw(traces), draw(ticks)
    end = draw(st.none() | ticks)
    match draw(st.sampled_from(["tool", "agent", "chat", "other"])):
        case "tool":
            label = draw(st.sampled_from(["t1", "t2", "t3"]))
            arguments = {"gen_ai.tool.call.arguments": draw(st.sampled_from(['{"x": 1}', '{"x": 2}', "no JSON"]))}
            return tool(draw(st.sampled_from("ab")), label, trace=trace, start=start, end=end, attributes=arguments)
        case "agent":
            marks = draw(
                st.sampled_from([{}, {"tenant": "other-1"}, {"wanted": "b"}, {"wanted": "[1"}, {"session.id": "s"}])
            )
            parent = draw(st.sampled_from([None, "gone"]))
            return agent(trace=trace, parent=parent, end=end, attributes=dict(marks))
        case "chat":
            return chat(trace=trace, start=start, end=end, messages=draw(st.sampled_from([None, CALLS])))
        case _:
            return wire_span("other", "agent", trace=trace, start=start, end=end)


class Send(Struct, frozen=True):
    spans: list[bytes]


class Wait(Struct, frozen=True):
    seconds: int


class Annotate(Struct, frozen=True):
    trace: bytes
    tools: str


steps = st.lists(
    st.builds(Send, st.lists(spans(), min_size=1, max_size=5))
    | st.builds(Wait, st.sampled_from([1, 5, 60, 300]))
    | st.builds(Annotate, traces, st.sampled_from(["a", "a, b", "[1"])),
    min_size=1,
    max_size=7,
)


class Storing(Processing):
    """
    A processor whose closings are stored at once, as the evidence file does: annotations may change afterwards.
    """

    def __init__(self, tool_scoring: dict[str, Any]) -> None:
        super().__init__(**tool_scoring)
        self.stored: list[bytes] = []

    def scored(self, scored: Scored) -> None:
        super().scored(scored)
        self.stored.append(stored(self, scored))


async def run(traffic: Sequence[Send | Wait | Annotate], rules: dict[str, Any]) -> Storing:
    processing = Storing(rules)
    for step in traffic:
        match step:
            case Send():
                await processing.send(*step.spans)
            case Wait():
                await processing.after(step.seconds)
            case Annotate():
                processing.annotations[step.trace.hex()] = {"expected_tools": step.tools}
                processing.processor.annotation_changed(step.trace.hex())
    await processing.after(5)
    await processing.processor.shutdown()
    return processing


def replay_of(processing: Processing, content: bytes) -> list[ReplayResult]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "recorded"
        path.write_bytes(content)
        return replayed(processing.block, path)


@settings(max_examples=60)
@given(steps, conditions)
def test_stored_evidence_always_says_what_was_said_online(
    traffic: list[Send | Wait | Annotate], condition: object
) -> None:
    """
    Late spans, late annotations, limits, restarts, several closings: evaluation, revision and idempotency id.
    """
    processing = asyncio.run(run(traffic, RULES | {"root_span_condition": condition, "span_limit": 6}))

    results = replay_of(processing, b"".join(processing.stored))

    assert said_online(processing.closings) == said_in_replay(results)
    said = {(result.line.evaluation, result.line.revision, result.line.idempotency_id) for result in results}
    assert said.issuperset(delivered(processing.closings))


@settings(max_examples=40)
@given(st.lists(st.lists(spans(), min_size=1, max_size=5), min_size=1, max_size=4), conditions)
def test_spans_say_what_was_said_online_if_nothing_was_late(requests: list[list[bytes]], condition: object) -> None:
    rules = RULES | {"root_span_condition": condition}
    # A session that begins sooner after a start may have begun before it.
    # In the end traces without a root fall silent, then their session: a stop would leave it partial.
    traffic: list[Send | Wait | Annotate] = [Wait(61), *map(Send, requests), Wait(5), Wait(61), Wait(61)]
    processing = asyncio.run(run(traffic, rules))

    results = replay_of(processing, framed(processing.sent))

    eligible = [result for result in results if result.line.status != "ineligible"]
    assert sorted(map(repr, said_online(processing.closings))) == sorted(map(repr, said_in_replay(eligible)))
