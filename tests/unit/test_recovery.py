"""
After a kill the service goes on with the same traces: nothing is lost, nothing said is said otherwise.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from conservation import lost_and_added, span_bag
from full_disk import a_full_disk
from lives import Lives
from processing import ours
from wire_spans import TRACE, agent, log_request, span_id, tool, trace_request, wire_span

from service.errors import ConfigError, Refused
from service.evidence import Trigger
from service.pipeline import SendOutcome, Signal

ORDER: dict[str, Any] = {
    "expectations": [
        {
            "name": "plan",
            "expected_tools": ["a", "b"],
            "conditions": [{"condition_type": "tools_called_in_order", "name": "a_first", "tools": ["a", "b"]}],
        }
    ]
}
CALLS_B = '[{"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "b", "arguments": {}}]}]'


@pytest.fixture
async def lives(tmp_path: Path) -> AsyncIterator[Lives]:
    lives = await Lives(tmp_path, **ORDER).begin()
    yield lives
    await lives.end()


def sent_once(lives: Lives) -> None:
    assert ([], []) == lost_and_added(span_bag(lives.sent), span_bag(lives.requests))


async def test_an_open_trace_goes_on_after_a_kill(lives: Lives) -> None:
    await lives.send(tool("a", end=1), tool("b", start=2, end=3))

    await lives.kill()
    await lives.send(agent())
    await lives.after(5)

    assert (Trigger.ROOT_SPAN, []) == (lives.life.last.trigger, lives.life.reasons)
    assert "true" == lives.life.evaluation("a_first").label
    sent_once(lives)


async def test_what_has_arrived_is_evidence_and_is_not_sent_again(lives: Lives) -> None:
    await lives.send(tool("b", end=1), tool("a", start=2, end=3), agent())
    await lives.after(5)
    assert 3 == len(lives.released)

    await lives.kill()
    await lives.after(5)
    assert (3, []) == (len(lives.released), lives.life.closings)

    await lives.send(wire_span("late", "agent"))
    await lives.after(5)

    assert (Trigger.LATE_SPAN, ["late_span"]) == (lives.life.last.trigger, lives.life.reasons)
    assert [1, 1] == [delivery.revision for delivery in lives.life.last.deliveries]
    sent_once(lives)


async def test_what_was_on_its_way_leaves_again_as_it_left_before(lives: Lives) -> None:
    for outlet in lives.life.outlets.values():
        outlet.is_slow = True
    await lives.send(tool("b", end=1), tool("a", start=2, end=3), agent())
    await lives.after(5)
    before = [request.payload for outlet in lives.life.outlets.values() for request in outlet.undecided]
    assert 2 == len(before), "spans and events are in flight"

    await lives.kill()
    await lives.after(1)

    assert before == [*lives.requests, *lives.life.outlets[Signal.LOGS].requests]
    assert [] == lives.life.closings
    sent_once(lives)


async def test_a_closing_that_was_not_durable_is_made_again(lives: Lives) -> None:
    await lives.send(tool("a"), tool("b", start=2, end=3), agent())
    lives.life.clock.advance(5_000_000_000)
    await lives.life.processor.tick()
    lives.life.outboxes[Signal.TRACES].flush()
    assert [] == lives.requests, "nothing leaves before the journal knows"

    await lives.kill()
    await lives.after(5)

    assert 2 == len(lives.histories[TRACE]), "one result for each evaluation"
    sent_once(lives)


async def test_once_everything_arrived_and_is_forgotten_the_journal_is_empty(lives: Lives) -> None:
    await lives.send(tool("a"), tool("b", start=2, end=3), agent())
    await lives.after(5)
    assert 1 == lives.on_disk

    await lives.after(300)

    assert 0 == lives.on_disk
    await lives.kill()
    assert (0, 3) == (lives.on_disk, len(lives.released))


async def test_a_request_stays_until_all_its_traces_are_done(lives: Lives) -> None:
    other = b"O" * 16
    await lives.send(tool("a"), agent(), tool("a", trace=other))
    await lives.after(5)
    await lives.after(54)
    await lives.send(tool("b", trace=other))
    await lives.after(250)
    assert 2 == lives.on_disk, "the first trace is forgotten, the second is not"

    await lives.kill()
    await lives.after(400)
    await lives.after(400)

    assert 0 == lives.on_disk
    sent_once(lives)


async def test_the_decision_cache_survives(lives: Lives) -> None:
    await lives.send(tool("a"), agent())
    await lives.after(5)
    await lives.after(300)

    await lives.kill()
    await lives.send(tool("b"))
    await lives.after(5)

    assert [] == lives.life.closings, "the span passes: its trace was decided"
    assert ({}, 0) == (lives.life.released_span("b"), lives.on_disk)
    sent_once(lives)


async def test_a_forwarded_span_that_had_not_arrived_is_forwarded_again(lives: Lives) -> None:
    await lives.send(tool("a"), agent())
    await lives.after(5)
    await lives.after(300)
    lives.life.outlets[Signal.TRACES].is_slow = True
    await lives.send(tool("b"))
    await lives.after(1)

    await lives.kill()
    await lives.after(1)

    sent_once(lives)


async def test_a_late_span_that_passes_unscored_does_so_again(tmp_path: Path) -> None:
    lives = await Lives(tmp_path, late_spans={"action": "stamp"}).begin()
    await lives.send(wire_span("chat", "agent", attributes={"gen_ai.operation.name": "chat"}), agent())
    await lives.after(5)
    lives.life.outlets[Signal.TRACES].is_slow = True
    await lives.send(tool("b"))
    record = log_request("chat", "gen_ai.client.inference.operation.details", {"gen_ai.output.messages": CALLS_B})
    await lives.life.processor.consume(Signal.LOGS, record)
    await lives.after(5)
    evaluation = lives.life.evaluation()

    await lives.kill()
    await lives.after(5)

    assert ("b",) == evaluation.called
    assert [] == lives.life.closings, "the journal told of the span, and of a closing after it"
    assert "late_span" == ours_of(lives, "b")["toolscore.trigger"]
    sent_once(lives)
    await lives.end()


async def test_copies_that_had_not_arrived_leave_once(lives: Lives) -> None:
    lives.life.outlets[Signal.TRACES].is_slow = True
    await lives.send(tool("a"), tool("a"))
    await lives.send(tool("a"), agent())
    await lives.after(5)

    await lives.kill()
    await lives.after(1)

    assert [span_id("a"), span_id("agent")] == sorted(span.span_id for span in lives.released)


async def test_which_copy_of_a_span_counts_is_not_decided_anew(lives: Lives) -> None:
    """
    Of two finished copies the one that had left counts, although the bytes of the other are smaller.
    """
    smaller, larger = sorted([tool("a", "x"), tool("b", "x")])
    await lives.send(larger, agent())
    await lives.after(5)
    before = lives.life.evaluation().called
    await lives.send(smaller)
    await lives.after(5)

    await lives.kill()
    await lives.send(wire_span("late", "agent"))
    await lives.after(5)

    assert before == lives.life.evaluation().called
    assert "conflicting_span_identity" in lives.life.reasons


async def test_spans_over_a_limit_pass_unscored_also_after_a_kill(tmp_path: Path) -> None:
    lives = await Lives(tmp_path, span_limit=2).begin()
    lives.life.outlets[Signal.TRACES].is_slow = True
    await lives.send(tool("a"), tool("b"), agent())
    await lives.send(tool("c"))
    await lives.after(1)

    await lives.kill()
    await lives.send(tool("d"))
    await lives.after(1)

    assert [] == lives.life.closings
    assert "span_limit" == ours_of(lives, "agent")["toolscore.trigger"]
    assert ({}, {}) == (ours_of(lives, "c"), ours_of(lives, "d"))
    sent_once(lives)
    await lives.end()


def ours_of(lives: Lives, label: str) -> dict[str, object]:
    (span,) = (span for span in lives.released if span.span_id == span_id(label))
    return ours(span.attributes)


async def test_downtime_ends_no_timer(lives: Lives) -> None:
    await lives.send(tool("a"))
    await lives.after(50)

    await lives.kill(downtime=3600)
    await lives.after(4)
    assert [] == lives.life.closings

    await lives.after(7)
    assert Trigger.IDLE_TIMEOUT == lives.life.last.trigger


async def test_after_a_restart_no_timer_ends_within_one_decision_delay(lives: Lives) -> None:
    await lives.send(tool("a"), agent())
    await lives.after(4.5)

    await lives.kill()
    await lives.after(4.5)
    assert [] == lives.life.closings

    await lives.after(1)
    assert Trigger.ROOT_SPAN == lives.life.last.trigger


async def test_a_journal_bridges_a_restart(lives: Lives) -> None:
    await lives.after(400)
    await lives.kill()

    await lives.send(tool("a", end=1), tool("b", start=2, end=3), agent())
    await lives.after(5)

    assert [] == lives.life.reasons


async def test_what_happened_to_open_traces_is_remembered(lives: Lives) -> None:
    await lives.send(tool("a", end=1))
    lives.life.processor.membership_changed()
    await lives.after(1)

    await lives.kill()
    await lives.send(tool("b", start=2, end=3), agent())
    await lives.after(5)

    assert ["membership_changed"] == lives.life.reasons


async def test_damage_is_reported_and_costs_only_what_it_hit(tmp_path: Path) -> None:
    lives = await Lives(tmp_path).begin()
    await lives.send(tool("a", trace=b"O" * 16))
    await lives.send(tool("b"), agent())

    await lives.stop(harm=damage_first_span)
    await lives.after(5)

    assert [1] == list(lives.life.counted("toolscore.journal.damaged_records").values())
    assert {span_id("b"), span_id("agent")} == {span.span_id for span in lives.released}
    await lives.end()


def damage_first_span(directory: Path) -> None:
    """
    Change one byte of a span of the trace "O", wherever it is stored.
    """
    for file in directory.glob("journal.db*"):
        content = bytearray(file.read_bytes())
        place = content.find(b"O" * 16)
        if place >= 0:
            content[place] = 0
            file.write_bytes(content)


async def test_an_orderly_stop_changes_no_verdict(lives: Lives) -> None:
    await lives.send(tool("a", end=1))
    await lives.send(tool("x", trace=b"O" * 16), agent(trace=b"O" * 16))
    await lives.after(5)

    await lives.stop()
    assert [] == lives.life.closings
    await lives.send(tool("b", start=2, end=3), agent())
    await lives.after(5)

    assert (Trigger.ROOT_SPAN, []) == (lives.life.last.trigger, lives.life.reasons)
    sent_once(lives)


async def test_what_a_stop_gives_up_is_sent_by_the_next_process(lives: Lives) -> None:
    outlet = lives.life.outlets[Signal.TRACES]
    outlet.is_slow = True
    await lives.send(tool("a"), agent())
    await lives.after(5)
    await lives.life.processor.shutdown()
    outlet.decide(SendOutcome.ABANDONED)

    await lives.kill()
    await lives.after(1)

    sent_once(lives)


async def test_what_is_given_up_while_the_service_runs_is_not_kept(lives: Lives) -> None:
    outlet = lives.life.outlets[Signal.TRACES]
    outlet.is_slow = True
    await lives.send(tool("a"), agent())
    await lives.after(5)
    outlet.decide(SendOutcome.ABANDONED)
    await lives.after(300)

    assert 0 == lives.on_disk


async def test_logs_are_evidence_again(lives: Lives) -> None:
    record = log_request("chat", "gen_ai.client.inference.operation.details", {"gen_ai.output.messages": CALLS_B})
    await lives.life.processor.consume(Signal.LOGS, record)
    await lives.turn()
    await lives.kill()
    await lives.send(wire_span("chat", "agent", attributes={"gen_ai.operation.name": "chat"}))
    await lives.kill()
    await lives.send(agent())
    await lives.after(5)

    assert ("b",) == lives.life.evaluation().called
    passed_on = [request for life in lives.lived for request in life.outlets[Signal.LOGS].requests if request == record]
    assert [record] == passed_on


@pytest.mark.parametrize("signal", [Signal.LOGS, Signal.METRICS])
async def test_what_is_passed_on_leaves_again_unless_it_arrived(lives: Lives, signal: Signal) -> None:
    outlet = lives.life.outlets[signal]
    request = log_request("other", "something", {}) if signal is Signal.LOGS else trace_request([tool("a")])
    await lives.life.processor.consume(signal, request)
    await lives.turn()
    outlet.is_slow = True
    await lives.life.processor.consume(signal, request)
    assert 1 == lives.on_disk

    await lives.kill()

    assert ([request], 0) == (lives.life.outlets[signal].requests, lives.on_disk)


async def test_attribute_roots_go_on(tmp_path: Path) -> None:
    condition = [{"attribute": "gen_ai.operation.name", "values": ["invoke_agent"]}]
    lives = await Lives(tmp_path, root_span_condition=condition).begin()
    await lives.send(tool("a", parent="one"), tool("b", parent="two"), wire_span("server"))
    await lives.send(agent("one", parent="server"))
    await lives.after(5)
    assert {span_id("one"), span_id("a")} == {span.span_id for span in lives.released}

    await lives.kill()
    await lives.send(agent("two", parent="server"))
    await lives.after(5)
    await lives.kill()
    await lives.after(300)
    await lives.after(300)

    occurrences = [closing.assessment.occurrence for life in lives.lived for closing in life.closings]
    assert 2 == len(set(occurrences)) == len(occurrences)
    assert 0 == lives.on_disk
    sent_once(lives)
    await lives.end()


async def test_in_pass_through_spans_are_evidence_again(tmp_path: Path) -> None:
    lives = await Lives(tmp_path, mode="pass_through", **ORDER).begin()
    await lives.send(tool("a", end=1))
    await lives.after(1)
    await lives.kill()
    await lives.send(tool("b", start=2, end=3), agent())
    await lives.after(5)

    assert ("true", []) == (lives.life.evaluation("a_first").label, lives.life.reasons)
    sent_once(lives)
    await lives.end()


async def test_a_journal_that_is_full_refuses(tmp_path: Path) -> None:
    lives = await Lives(tmp_path, journal={"max_size_mib": 1}).begin()
    padding = {"padding": "x" * 400_000}
    await lives.send(tool("a", attributes=padding))
    await lives.send(tool("b", attributes=padding))

    with pytest.raises(Refused, match="journal_full"):
        await lives.send(tool("c", attributes=padding))

    assert 2 == lives.on_disk
    await lives.end()


async def test_a_full_disk_refuses_and_what_was_taken_leaves(lives: Lives) -> None:
    await lives.send(tool("a"), agent())

    with a_full_disk():
        with pytest.raises(Refused, match="journal_full"):
            await lives.send(tool("b", attributes={"padding": "x" * 100_000}))
        await lives.after(5)
    assert 2 == len(lives.released)

    await lives.send(tool("c"))
    await lives.after(1)
    await lives.kill()
    await lives.after(5)

    assert (Trigger.LATE_SPAN, 1) == (lives.life.last.trigger, lives.life.last.revision)
    assert [2] == list(lives.life.counted("toolscore.journal.recovered_requests").values())
    sent_once(lives)


async def test_the_directory_belongs_to_one_process(lives: Lives) -> None:
    with pytest.raises(ConfigError, match="journal::directory: cannot be used: another process uses it"):
        lives.born_again()
