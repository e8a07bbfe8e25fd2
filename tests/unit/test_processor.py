"""
What the processor does with spans: when traces close, what leaves, and what is said of them.
"""

from typing import Any

import pytest
from conservation import assert_conserved
from processing import Processing
from wire_spans import REMOTE_PARENT, SERVER, agent, chat, log_request, span_id, tool, trace_request, wire_span

from service.errors import MalformedRequest, Refused
from service.evidence import Trigger
from service.pipeline import Signal

CALLS_B = '[{"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "b", "arguments": {}}]}]'
ORDER: dict[str, Any] = {
    "expectations": [
        {
            "name": "plan",
            "expected_tools": ["a", "b"],
            "conditions": [{"condition_type": "tools_called_in_order", "name": "a_first", "tools": ["a", "b"]}],
        }
    ]
}


def conserved(processing: Processing) -> None:
    assert_conserved(processing.sent, processing.outlets[Signal.TRACES].requests)


async def test_a_trace_leaves_with_its_score_on_the_root_when_the_delay_has_ended() -> None:
    processing = Processing()
    await processing.send(tool("a"), tool("b"), agent())

    await processing.after(4)
    assert [] == processing.released

    await processing.after(1)
    assert {
        "toolscore.trigger": "root_span",
        "toolscore.coverage": "complete",
        "toolscore.partition": "trace",
        "toolscore.revision": 0,
        "toolscore.shape": "tool_spans",
        "toolscore.expectation": "run",
        "toolscore.expected_source": "run",
        "toolscore.evaluation.tool_selection_accuracy.score": 1.0,
        "toolscore.evaluation.tool_selection_accuracy.status": "scored",
        "toolscore.evaluation.tool_selection_accuracy.lower": 1.0,
        "toolscore.evaluation.tool_selection_accuracy.upper": 1.0,
    } == processing.released_span("agent")
    assert {} == processing.released_span("a")
    conserved(processing)


async def test_each_evaluation_is_an_event_on_the_agent_span() -> None:
    processing = Processing(**ORDER)
    await processing.send(tool("b", start=0, end=1), tool("a", start=2, end=3), agent())

    await processing.after(5)

    selection, order = processing.events
    assert ("gen_ai.evaluation.result", span_id("agent")) == (selection.event_name, selection.span_id)
    values = {each.key: each.value for each in order.attributes}
    assert "a_first" == values["gen_ai.evaluation.name"].string_value
    assert "false" == values["gen_ai.evaluation.score.label"].string_value
    assert 0.0 == values["gen_ai.evaluation.score.value"].double_value
    assert values["toolscore.final"].bool_value
    assert 32 == len(values["toolscore.idempotency_id"].string_value)
    assert {"a_first"} == {key.split(".")[2] for key in values if key.startswith("toolscore.") and key.count(".") == 3}


async def test_silence_closes_provisionally_and_a_later_root_lifts_the_result() -> None:
    processing = Processing(**ORDER)
    await processing.send(tool("b", start=0, end=1))
    await processing.after(60)
    assert (Trigger.IDLE_TIMEOUT, "undetermined") == (processing.last.trigger, processing.evaluation("a_first").label)

    await processing.send(tool("a", start=2, end=3), agent())
    await processing.after(5)

    assert (Trigger.ROOT_SPAN, []) == (processing.last.trigger, processing.reasons)
    assert "false" == processing.evaluation("a_first").label
    assert 1 == processing.released_span("agent")["toolscore.revision"]
    conserved(processing)


async def test_a_provisional_event_is_not_final() -> None:
    processing = Processing()
    await processing.send(tool("a"))

    await processing.after(60)

    (event,) = processing.events
    assert not {each.key: each.value.bool_value for each in event.attributes}["toolscore.final"]


async def test_a_late_span_withdraws_a_false_and_says_so() -> None:
    processing = Processing(**ORDER)
    await processing.send(tool("b", start=0, end=1), tool("a", start=2, end=3), agent())
    await processing.after(5)
    assert "false" == processing.evaluation("a_first").label

    await processing.send(wire_span("late", "agent"))
    await processing.after(5)

    assert (Trigger.LATE_SPAN, ["late_span"]) == (processing.last.trigger, processing.reasons)
    assert "undetermined" == processing.evaluation("a_first").label
    assert {"toolscore.trigger": "late_span", "toolscore.revision": 1} == processing.released_span("late")
    conserved(processing)


async def test_a_late_span_that_changes_nothing_of_a_true_leaves_the_verdict() -> None:
    processing = Processing(**ORDER)
    await processing.send(tool("a", start=0, end=1), tool("b", start=2, end=3), agent())
    await processing.after(5)

    await processing.send(wire_span("late", "agent"))
    await processing.after(5)

    assert "true" == processing.evaluation("a_first").label


async def test_a_copy_that_comes_after_the_closing_is_no_late_span() -> None:
    processing = Processing(**ORDER)
    await processing.send(tool("b", start=0, end=1), tool("a", start=2, end=3), agent())
    await processing.after(5)

    await processing.send(tool("a", start=2, end=3))
    await processing.after(5)

    assert ([], "false") == (processing.reasons, processing.evaluation("a_first").label)


async def test_an_equal_copy_leaves_once_however_late_it_comes() -> None:
    processing = Processing()
    spans = (tool("a"), tool("b"), agent())
    await processing.send(*spans, tool("a"))
    await processing.after(5)

    await processing.send(*spans)
    await processing.after(5)

    assert 3 == len(processing.released)
    assert 4 == sum(processing.counted("toolscore.processor.deduplicated_spans").values())


STAMP = {
    "toolscore.trigger": "late_span",
    "toolscore.revision": 0,
    "toolscore.evaluation.tool_selection_accuracy.score": 0.5,
    "toolscore.evaluation.tool_selection_accuracy.status": "scored",
}


@pytest.mark.parametrize("seconds", [5, 5 + 301], ids=["evidence is kept", "only the verdict is remembered"])
@pytest.mark.parametrize(("action", "attributes"), [("stamp", STAMP), ("forward", {})])
async def test_late_spans_can_be_let_through_unscored(
    action: str, attributes: dict[str, object], seconds: float
) -> None:
    processing = Processing(late_spans={"action": action})
    await processing.send(tool("a"), agent())
    await processing.after(5)
    await processing.after(seconds - 5)

    await processing.send(tool("b"))
    await processing.after(1)

    assert 1 == len(processing.closings)
    assert attributes == processing.released_span("b")


async def test_a_span_that_finds_only_a_remembered_verdict_is_forwarded() -> None:
    processing = Processing()
    await processing.send(tool("a"), tool("b"), agent())
    await processing.after(5)
    await processing.after(301)

    await processing.send(wire_span("late", "agent"))
    await processing.after(1)

    assert 1 == len(processing.closings)
    assert {} == processing.released_span("late")


async def test_in_pass_through_spans_leave_at_once_and_unchanged() -> None:
    processing = Processing(mode="pass_through")
    spans = (tool("a"), tool("b"), agent())
    await processing.send(*spans)
    await processing.after(0.3)

    assert sorted(spans) == sorted(span.SerializeToString() for span in processing.released)
    assert [] == processing.closings

    await processing.after(5)
    assert 1.0 == processing.evaluation().score
    assert 1 == len(processing.events)


async def test_in_pass_through_an_evaluation_span_can_carry_the_scores() -> None:
    processing = Processing(mode="pass_through", evaluation_span=True)
    await processing.send(tool("a"), tool("b"), agent())

    await processing.after(5)

    (extra,) = (span for span in processing.released if span.name == "toolscore evaluation")
    assert span_id("agent") == extra.parent_span_id
    assert (
        1.0
        == {each.key: each.value.double_value for each in extra.attributes}[
            "toolscore.evaluation.tool_selection_accuracy.score"
        ]
    )


@pytest.mark.parametrize(
    ("limit", "trigger"),
    [({"span_limit": 2}, Trigger.SPAN_LIMIT), ({"maximum_trace_size_bytes": 300}, Trigger.SIZE_LIMIT)],
)
async def test_a_trace_over_a_limit_closes_for_good(limit: dict[str, Any], trigger: Trigger) -> None:
    processing = Processing(**limit)
    await processing.send(tool("a"), tool("b"), tool("c"))
    assert (trigger, 1.0) == (processing.last.trigger, processing.evaluation().score)
    assert trigger in processing.reasons

    await processing.send(agent())
    await processing.after(10)

    assert 1 == len(processing.closings)
    assert 1 == sum(processing.counted("toolscore.processor.unscored_spans").values())
    conserved(processing)


async def test_over_num_traces_the_oldest_is_evicted_with_a_score() -> None:
    processing = Processing(num_traces=1)
    await processing.send(tool("a", trace=b"1" * 16))

    await processing.send(tool("b", trace=b"2" * 16))

    assert (Trigger.EVICTION, (b"1" * 16).hex()) == (processing.last.trigger, processing.last.assessment.occurrence)
    assert "evicted" in processing.reasons


async def test_eviction_can_forward_without_a_score() -> None:
    processing = Processing(num_traces=1, eviction={"policy": "forward_unscored"})
    await processing.send(tool("a", trace=b"1" * 16))
    await processing.send(tool("b", trace=b"2" * 16))
    await processing.after(1)

    assert ([], 1) == (processing.closings, len(processing.released))


async def test_shutdown_scores_and_releases_what_is_open() -> None:
    processing = Processing()
    await processing.send(tool("a"))

    await processing.processor.shutdown()

    assert Trigger.SHUTDOWN is processing.last.trigger
    conserved(processing)
    with pytest.raises(Refused, match="shutting_down"):
        await processing.send(tool("b"))


async def test_open_traces_can_be_dropped_at_shutdown_as_a_named_loss() -> None:
    processing = Processing(drop_pending_traces_on_shutdown=True)
    await processing.send(tool("a"), agent())
    await processing.after(5)
    await processing.send(tool("b"))
    await processing.send(tool("a", trace=b"2" * 16), tool("b", trace=b"2" * 16))

    await processing.processor.shutdown()

    assert [Trigger.ROOT_SPAN, Trigger.LATE_SPAN] == [each.trigger for each in processing.closings]
    assert 3 == len(processing.released), "the late span of a scored trace is not pending"
    assert 2 == sum(processing.counted("toolscore.lost_spans").values())


async def test_a_request_that_is_no_otlp_is_malformed() -> None:
    with pytest.raises(MalformedRequest):
        await Processing().processor.consume(Signal.TRACES, b"\x0a\xff")


async def test_bad_ids_reject_only_their_spans() -> None:
    processing = Processing()

    accepted = await processing.send(wire_span("x", trace=bytes(16)), wire_span("y", trace=b"short"), agent())
    await processing.after(5)

    assert (2, "2 spans with an invalid trace_id or span_id", 3) == (
        accepted.rejected_items,
        accepted.message,
        accepted.item_count,
    )
    assert ["agent"] == [span.name for span in processing.released]


async def test_a_span_that_is_none_is_rejected_and_the_rest_is_taken() -> None:
    processing = Processing()

    accepted = await processing.send(b"\x0a\xff", wire_span("x", trace=bytes(16)), agent())
    await processing.after(5)

    assert (2, 3) == (accepted.rejected_items, accepted.item_count)
    rejected = processing.counted("toolscore.receiver.rejected_spans")
    assert {"invalid_id": 1, "undecodable": 1} == {dict(point)["reason"]: count for point, count in rejected.items()}
    assert ["agent"] == [span.name for span in processing.released]


async def test_spans_in_an_uncommon_field_order_are_counted() -> None:
    processing = Processing()
    state_first = b"\x1a\x03a=b"

    await processing.send(state_first + tool("a"), tool("b"), agent())

    assert 1 <= sum(processing.counted("toolscore.receiver.id_fallbacks").values()) <= 2


async def test_forged_attributes_are_cut_from_the_spans_that_are_written_to() -> None:
    forged = {"toolscore.evaluation.tool_selection_accuracy.score": 1.0, "toolscore.mine": "x", "kept": "y"}
    processing = Processing()
    await processing.send(tool("a", attributes=forged), agent(attributes=forged))

    await processing.after(5)

    attributes = processing.released_span("agent")
    assert 0.5 == attributes["toolscore.evaluation.tool_selection_accuracy.score"]
    assert "toolscore.mine" not in attributes
    assert {key: value for key, value in forged.items() if key != "kept"} == processing.released_span("a")
    conserved(processing)


async def test_a_trace_without_genai_spans_passes_unmarked() -> None:
    processing = Processing()
    await processing.send(wire_span("request"), wire_span("query", "request"))

    await processing.after(5)

    assert [{}, {}] == [processing.released_span(label) for label in ("request", "query")]
    assert [] == processing.events
    assert 1 == sum(processing.counted("toolscore.traces_ineligible").values())


async def test_without_an_expectation_the_root_tells_trigger_and_coverage_only() -> None:
    processing = Processing(tool_selection_accuracy={})
    await processing.send(tool("a"), agent())

    await processing.after(5)

    assert {"toolscore.trigger": "root_span", "toolscore.coverage": "complete"} == processing.released_span("agent")
    assert [] == processing.events


async def test_a_root_with_a_remote_parent_closes_the_trace_where_that_is_configured() -> None:
    processing = Processing(root_span_condition="parent_empty_or_remote")
    await processing.send(tool("a"), tool("b"), agent(parent="elsewhere", flags=REMOTE_PARENT))

    await processing.after(5)

    assert (Trigger.ROOT_SPAN, []) == (processing.last.trigger, processing.reasons)


async def test_a_remote_parent_that_is_held_makes_no_root() -> None:
    processing = Processing(root_span_condition="parent_empty_or_remote")
    await processing.send(wire_span("server", "a", kind=SERVER, flags=REMOTE_PARENT), tool("a"))

    await processing.after(5)
    assert [] == processing.closings

    await processing.after(60)
    assert Trigger.IDLE_TIMEOUT is processing.last.trigger


async def test_attribute_roots_close_each_with_their_subtree() -> None:
    condition = [{"attribute": "gen_ai.operation.name", "values": ["invoke_agent"]}]
    processing = Processing(root_span_condition=condition)
    await processing.send(
        wire_span("server", start=0, end=None),
        tool("a", parent="one"),
        agent("one", "server"),
        agent("inner", "one"),
        tool("b", parent="two"),
        agent("two", "server", start=1),
        wire_span("query", "server"),
    )

    await processing.after(5)
    scores = {
        closing.assessment.occurrence[-16:]: closing.assessment.evaluations[0].score for closing in processing.closings
    }
    assert {span_id("one").hex(): 0.5, span_id("two").hex(): 0.5} == scores
    assert [[], []] == [list(closing.assessment.evidence.coverage.reasons) for closing in processing.closings]
    assert {"server", "query"}.isdisjoint({span.name for span in processing.released})

    await processing.after(60)
    conserved(processing)
    assert 2 == len(processing.closings)


async def test_a_span_that_comes_later_revises_only_its_own_occurrence() -> None:
    condition = [{"attribute": "gen_ai.operation.name", "values": ["invoke_agent"]}]
    processing = Processing(root_span_condition=condition)
    await processing.send(tool("a", parent="one"), agent("one", "gone"), tool("b", parent="two"), agent("two", "gone"))
    await processing.after(5)

    await processing.send(tool("b", "late", parent="one"))
    await processing.after(5)

    assert (Trigger.LATE_SPAN, 1.0, 3) == (
        processing.last.trigger,
        processing.evaluation().score,
        len(processing.closings),
    )
    assert processing.last.assessment.occurrence.endswith(span_id("one").hex())


async def test_logs_tell_what_a_completion_asked_for() -> None:
    processing = Processing()
    await processing.send(chat(), agent())

    await processing.processor.consume(
        Signal.LOGS,
        log_request("chat", "gen_ai.client.inference.operation.details", {"gen_ai.output.messages": CALLS_B}),
    )
    await processing.after(5)

    assert (0.5, ("b",)) == (processing.evaluation().score, processing.evaluation().called)


async def test_logs_that_come_first_wait_for_their_trace_and_a_late_one_revises() -> None:
    log = log_request("chat", "gen_ai.client.inference.operation.details", {"gen_ai.output.messages": CALLS_B})
    early, late = Processing(), Processing()
    await early.processor.consume(Signal.LOGS, log)
    await early.send(chat(), agent())
    await early.after(5)

    await late.send(chat(), agent())
    await late.after(5)
    assert ["completion_hidden"] == late.reasons
    await late.processor.consume(Signal.LOGS, log)
    await late.after(5)

    assert (0.5, 0.5, 1) == (early.evaluation().score, late.evaluation().score, late.last.revision)


async def test_received_logs_and_metrics_leave_untouched() -> None:
    processing = Processing()
    log = log_request("chat", "anything", {"x": "y"})

    await processing.processor.consume(Signal.LOGS, log)
    await processing.processor.consume(Signal.METRICS, b"")

    assert [log] == processing.outlets[Signal.LOGS].requests


async def test_a_full_queue_holds_releases_back_and_loses_nothing() -> None:
    processing = Processing()
    outlet = processing.outlets[Signal.TRACES]
    outlet.is_full = True
    await processing.send(tool("a"), agent())
    await processing.after(5)
    await processing.send(tool("a", trace=b"2" * 16), agent(trace=b"2" * 16))
    await processing.after(10)
    assert 1 == len(processing.closings), "what cannot leave is not closed"

    outlet.is_full = False
    await processing.after(1)

    assert 2 == len(processing.closings)
    conserved(processing)


def test_a_request_is_as_its_spans_were_given() -> None:
    span = wire_span("a") + b"\x9a\x06\x05extra"

    assert span in trace_request([span])
