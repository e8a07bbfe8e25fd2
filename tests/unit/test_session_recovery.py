"""
Sessions go on after a kill as they stood: what their traces handed over, what was said of them, and when they are due.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from lives import Lives
from session_builders import a_part, a_turn
from wire_spans import agent, chat, tool

from proto_adapters.canonical import LinkView
from proto_adapters.split import OriginTable
from service.evidence import Partition, Trigger
from service.journal.records import decode, encode
from service.journal.session_records import StoredPart, part_of_record, stored_part
from service.journal.store import FILE
from service.pipeline import Signal

IDLE = 1_800
SETTINGS: dict[str, Any] = {
    "tool_selection_accuracy": {},
    "expectations": [{"name": "trip", "partition": "session", "expected_tools": ["a", "b"]}],
    "session": {"enabled": True, "max_traces_per_session": 3},
}


@pytest.fixture
async def lives(tmp_path: Path) -> AsyncIterator[Lives]:
    lives = await Lives(tmp_path, **SETTINGS).begin()
    lives.life.clock.advance(IDLE * 1_000_000_000)
    yield lives
    await lives.end()


async def turn(lives: Lives, number: int, *names: str) -> None:
    """
    One agent run of the session, scored.
    """
    trace = number.to_bytes(16, "big")
    start = 200 * number
    tools = [tool(name, f"{name}{number}", trace=trace, start=start, end=start + 1) for name in names]
    await lives.send(*tools, agent(trace=trace, attributes={"gen_ai.conversation.id": "s"}, start=start, end=start + 9))
    await lives.after(5)


def told(lives: Lives) -> list[tuple[str, Trigger, int, float | None, list[str]]]:
    """
    (occurrence, trigger, revision, score, coverage reasons) of every closing of a session, in all lives.
    """
    return [
        (
            closing.assessment.occurrence,
            closing.trigger,
            closing.revision,
            closing.assessment.evaluations[0].score,
            [str(reason) for reason in closing.assessment.evidence.coverage.reasons],
        )
        for life in lives.lived
        for closing in life.closings
        if closing.assessment.partition is Partition.SESSION
    ]


async def test_turns_before_and_after_a_kill_are_scored_together(lives: Lives) -> None:
    await turn(lives, 1, "a")
    await lives.kill()
    await turn(lives, 2, "b")

    await lives.after(IDLE)

    assert [("shop/s", Trigger.IDLE_TIMEOUT, 0, 1.0, [])] == told(lives)


async def test_a_session_falls_silent_as_if_nothing_had_happened(lives: Lives) -> None:
    await turn(lives, 1, "a")
    await lives.after(IDLE - 60)
    await lives.kill(downtime=10_000)
    await lives.after(30)
    assert [] == told(lives)

    await lives.after(60)

    assert [("shop/s", Trigger.IDLE_TIMEOUT, 0, 0.5, [])] == told(lives)


async def test_a_result_before_a_kill_is_revised_after_it(lives: Lives) -> None:
    await turn(lives, 1, "a")
    await lives.after(IDLE)
    await lives.kill()
    await turn(lives, 2, "b")

    await lives.after(IDLE)

    assert [(0, 0.5), (1, 1.0)] == [(revision, score) for _, _, revision, score, _ in told(lives)]


async def test_a_result_that_was_on_its_way_leaves_again_unchanged(lives: Lives) -> None:
    await turn(lives, 1, "a")
    lives.life.outlets[Signal.LOGS].is_slow = True
    await lives.after(IDLE)
    (request,) = lives.life.outlets[Signal.LOGS].undecided

    await lives.kill()
    await lives.after(1)
    await lives.after(IDLE)

    assert [request.payload] == lives.life.outlets[Signal.LOGS].requests
    assert 1 == len(told(lives)), "it was not scored again"


async def test_a_result_that_arrived_is_not_sent_again(lives: Lives) -> None:
    await turn(lives, 1, "a")
    await lives.after(IDLE)
    await lives.kill()
    await lives.after(1)

    assert [] == lives.life.outlets[Signal.LOGS].requests


async def test_nothing_leaves_before_it_is_durable(lives: Lives) -> None:
    """
    A kill between the decision and its record: the session is due again, and nobody has heard of the first result.
    """
    await turn(lives, 1, "a")
    lives.life.clock.advance(IDLE * 1_000_000_000)
    lives.journal.may_leave = lambda position: False  # type: ignore[method-assign]  # the disk is slow
    await lives.life.processor.tick()

    assert 1 == len(told(lives))
    assert [] == lives.life.outlets[Signal.LOGS].requests


async def test_a_session_that_ended_is_remembered(lives: Lives) -> None:
    for number in range(1, 5):
        await turn(lives, number, "a")
    assert [Trigger.SPAN_LIMIT] == [trigger for _, trigger, _, _, _ in told(lives)]

    await lives.kill()
    await turn(lives, 5, "a")
    await lives.kill()
    await turn(lives, 6, "b")
    await lives.after(IDLE)

    assert ("shop#2/s", Trigger.IDLE_TIMEOUT, 0, 1.0, ["reopened"]) == told(lives)[-1]


async def test_a_stop_in_order_scores_no_session(lives: Lives) -> None:
    await turn(lives, 1, "a")
    await lives.stop()
    await turn(lives, 2, "b")
    await lives.after(IDLE)

    assert [(Trigger.IDLE_TIMEOUT, 1.0)] == [(trigger, score) for _, trigger, _, score, _ in told(lives)]


async def test_nothing_of_a_session_stays_on_disk_once_it_is_forgotten(lives: Lives) -> None:
    for number in (1, 2):
        await turn(lives, number, "a")
    await lives.kill()
    for _ in range(3):
        await lives.after(IDLE)
    await lives.kill()

    contents = lives.journal.contents
    assert ({}, {}) == (contents.sessions, contents.session_parts)
    assert [("shop", "s")] == [ended.key for ended in contents.ended_sessions.values()]


async def test_after_damage_no_session_is_known_to_be_whole(lives: Lives) -> None:
    def harm(directory: Path) -> None:
        for file in directory.glob(f"{FILE}*"):
            if not file.name.endswith("-shm"):
                file.write_bytes(file.read_bytes().replace(b"gen_ai.conversation.id", b"gen_ai_conversation.id", 1))

    await turn(lives, 1, "a")
    await turn(lives, 2, "b")
    await lives.stop(harm=harm)
    await lives.after(IDLE)

    (closing,) = told(lives)
    assert "restarted" in closing[-1]


async def test_sessions_that_were_switched_off_meanwhile_are_restarted(lives: Lives, tmp_path: Path) -> None:
    await turn(lives, 1, "a")
    lives._tool_scoring["session"] = {"enabled": False}  # another configuration of the next life
    await lives.stop()
    assert ({}, {}) != (lives.journal.contents.sessions, lives.journal.contents.session_parts)
    lives._tool_scoring["session"] = SETTINGS["session"]  # as above
    await lives.stop()
    await turn(lives, 2, "b")
    await lives.after(IDLE)

    assert [("shop/s", Trigger.IDLE_TIMEOUT, 0, 0.5, ["restarted"])] == told(lives)


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param('{"x": 1' + 30 * "0" + "}", id="large number"),
        pytest.param('{"x": 1e400}', id="infinity"),
        pytest.param('{"\\ud800": "\\udfff"}', id="half a character"),
        pytest.param(2_000 * "[" + 2_000 * "]", id="depth"),
    ],
)
async def test_whatever_stands_in_arguments_the_session_is_kept(arguments: str, tmp_path: Path) -> None:
    condition = {"condition_type": "tools_called", "tools": [{"name": "b", "arguments": {"x": 1}}]}
    rules = {"expectations": [{"name": "trip", "partition": "session", "conditions": [condition]}]}
    lives = await Lives(tmp_path, **SETTINGS | rules, count_embedded_calls=True).begin()
    call = '{"type": "tool_call", "id": "c", "name": "b", "arguments": ' + arguments + "}"
    messages = '[{"role": "assistant", "parts": [' + call + "]}]"
    await lives.send(
        tool("b", trace=bytes(15) + b"\1", attributes={"gen_ai.tool.call.arguments": arguments}),
        agent(trace=bytes(15) + b"\1", attributes={"gen_ai.conversation.id": "s"}),
        chat(trace=bytes(15) + b"\2", messages=messages),
        agent(trace=bytes(15) + b"\2", attributes={"gen_ai.conversation.id": "s"}),
    )
    await lives.after(5)

    await lives.kill()
    await lives.after(IDLE)
    await lives.end()

    assert 1 == len(told(lives))


def test_a_part_is_read_as_it_was_written() -> None:
    link = LinkView(bytes(15) + b"\2", bytes(7) + b"\1")
    trace = a_turn().tool("a", 1, 2, links=(link,), tool_arguments={"deep": [10**30, None, 2.5, {"x": True}]})
    part = a_part(trace.llm("b", start=3, end=4))

    read = decode(encode(stored_part(part)), StoredPart)

    assert read is not None
    again = part_of_record(read, OriginTable())
    assert part.evidence == again.evidence
    assert (part.session_id, part.place, part.size) == (again.session_id, again.place, again.size)
    assert ((link.trace_id,), [(link,)]) == (again.linked_traces, [span.links for span in again.tool_spans])
