"""
Early verdicts through the processor: what leaves while a trace is open, when, and how it is marked.
"""

from collections.abc import Sequence
from typing import Any

import pytest
from processing import Processing, plain
from wire_spans import agent, chat, span_id, tool, wire_span

ASKS_FOR_B = '[{"role": "assistant", "parts": [{"type": "tool_call", "id": "1", "name": "b", "arguments": {}}]}]'


def leaf(kind: str, *tools: object, **fields: object) -> dict[str, object]:
    return {"condition_type": kind, "name": kind, "tools": list(tools)} | fields


def a_processing(*conditions: object, **tool_scoring: object) -> Processing:
    policy = {"name": "plan", "conditions": list(conditions)} | ({} if conditions else {"expected_tools": ["a", "b"]})
    values: dict[str, Any] = {"early_verdicts": True, "tool_selection_accuracy": {}, "expectations": [policy]}
    return Processing(**(values | tool_scoring))


async def told(processing: Processing, *spans: bytes) -> list[str]:
    """
    Names of what is told early of a trace that *spans* came of.
    """
    await processing.send(*spans)
    await processing.after(0.5)
    return [str(event["gen_ai.evaluation.name"]) for event in early(processing)]


def early(processing: Processing) -> list[dict[str, object]]:
    events = [{each.key: plain(each.value) for each in record.attributes} for record in processing.events]
    return [event for event in events if "toolscore.trigger" not in event]


def a_sub_agent(**fields: Any) -> bytes:  # noqa: ANN401 # as wire_span
    return agent("sub", "agent", **fields)


async def test_all_required_tools_seen_is_told_at_once_and_again_at_the_closing() -> None:
    processing = a_processing()
    assert [] == await told(processing, tool("a"))
    assert ["tool_selection_accuracy"] == await told(processing, tool("b"))

    (event,) = early(processing)
    assert 1.0 == event["gen_ai.evaluation.score.value"]
    assert (False, 0, "trace", "tool_spans", "plan") == tuple(
        event[f"toolscore.{key}"] for key in ("final", "revision", "partition", "shape", "expectation")
    )
    assert "partial" == event["toolscore.coverage"]
    assert {} == processing.counted("toolscore.evaluations"), "never as a metric"
    assert [1] == list(processing.counted("toolscore.early_verdicts").values())

    await processing.send(agent())
    await processing.after(5)
    (delivery,) = processing.last.deliveries
    assert delivery.idempotency_id != event["toolscore.idempotency_id"]
    assert (0, True) == (delivery.revision, delivery.is_final)


async def test_each_early_verdict_is_told_once() -> None:
    processing = a_processing()

    assert ["tool_selection_accuracy"] == await told(processing, tool("a"), tool("b"))
    assert ["tool_selection_accuracy"] == await told(processing, tool("c"))


async def test_nothing_is_told_early_unless_it_is_switched_on() -> None:
    assert [] == await told(a_processing(early_verdicts=False), tool("a"), tool("b"))


async def test_events_of_an_open_trace_stand_on_the_best_span_that_is_held() -> None:
    processing = a_processing()
    await told(processing, tool("a", parent="sub"), tool("b", parent="sub"), a_sub_agent())

    assert [span_id("sub")] == [record.span_id for record in processing.events]


async def test_a_forbidden_tool_that_was_called_is_told() -> None:
    processing = a_processing(leaf("tools_not_called", "x"))

    assert [] == await told(processing, tool("a"))
    assert ["tools_not_called"] == await told(processing, tool("x"))
    assert "false" == early(processing)[0]["gen_ai.evaluation.score.label"]


async def test_an_order_is_told_once_all_spans_around_its_calls_are_held() -> None:
    processing = a_processing(leaf("tools_called_in_order", "a", "b"))
    first, second = tool("a", parent="step", end=1), tool("b", parent="step", start=2, end=3)

    assert [] == await told(processing, first, second)
    assert [] == await told(processing, wire_span("step", "sub", end=4))
    assert ["tools_called_in_order"] == await told(processing, a_sub_agent(end=None))


NO_ORDER: dict[str, Sequence[bytes]] = {
    "the other way round": [tool("b", parent="sub", end=1), tool("a", parent="sub", start=2, end=3)],
    "overlapping": [tool("a", parent="sub", end=3), tool("b", parent="sub", start=2, end=4)],
    "one of them below another tool": [
        tool("outer", parent="sub", end=9),
        tool("a", parent="outer", end=1),
        tool("b", parent="sub", start=2, end=3),
    ],
    "on the server's side of a call": [
        tool("a", parent="sub", end=1),
        tool("b", parent="sub", start=2, end=3, kind=2, attributes={"mcp.method.name": "tools/call"}),
    ],
}


@pytest.mark.parametrize("spans", NO_ORDER.values(), ids=NO_ORDER.keys())
async def test_an_order_that_is_not_established_for_good_is_not_told(spans: Sequence[bytes]) -> None:
    assert [] == await told(a_processing(leaf("tools_called_in_order", "a", "b")), a_sub_agent(), *spans)


async def test_a_tree_is_told_when_its_settled_conditions_decide_it() -> None:
    called, counted = leaf("tools_called", "a"), leaf("tool_call_count", {"name": "a", "max": 3})
    some = {"condition_type": "any_of", "name": "some", "conditions": [called, counted]}
    every = {
        "condition_type": "all_of",
        "name": "every",
        "conditions": [called | {"name": "it"}, counted | {"name": "n"}],
    }

    assert ["some", "tools_called", "it"] == await told(a_processing(some, every), tool("a"))


NEVER = {
    "a count": (leaf("tool_call_count", {"name": "a", "min": 1}), [tool("a")]),
    "a rule on arguments": (leaf("tools_called", {"name": "a", "arguments": {"x": 1}}), [tool("a")]),
    "what was not called": (leaf("tools_called", "b"), [tool("a")]),
    "an unfinished call": (leaf("tools_called", "a"), [tool("a", end=None)]),
    "a call in a completion": (leaf("tools_called", "b"), [chat(messages=ASKS_FOR_B)]),
    "a refused call": (
        leaf("tools_called", "a"),
        [tool("a", attributes={"pydantic_ai.tool.failure_stage": "validation"})],
    ),
}


@pytest.mark.parametrize(("condition", "spans"), NEVER.values(), ids=NEVER.keys())
async def test_what_may_still_change_is_not_told(condition: object, spans: Sequence[bytes]) -> None:
    assert [] == await told(a_processing(condition, count_embedded_calls=True), *spans)


async def test_a_policy_that_reads_the_root_is_waited_for() -> None:
    policy = {"name": "p", "match": {"service_name": "shop"}, "expected_tools": ["a"]}
    processing = a_processing(expectations=[policy])

    assert [] == await told(processing, tool("a"))
    assert ["tool_selection_accuracy"] == await told(processing, agent())


async def test_a_policy_that_reads_the_agent_is_waited_for_until_the_root_is_that_agent() -> None:
    policy = {"name": "p", "match": {"agent_name": "planner"}, "expected_tools": ["a"]}
    below, alone = a_processing(expectations=[policy]), a_processing(expectations=[policy])

    assert [] == await told(below, tool("a", parent="sub"), a_sub_agent(), wire_span("agent", end=100))
    assert ["tool_selection_accuracy"] == await told(alone, tool("a"), agent())


async def test_an_own_annotation_is_not_waited_for_a_span_attribute_is() -> None:
    options: dict[str, object] = {"expected_tools_attribute": "toolscore.expected_tools"}
    waiting, annotated = a_processing(**options), a_processing(**options)
    annotated.annotations["54" * 16] = {"expected_tools": "a"}

    assert [] == await told(waiting, tool("a"), tool("b"))
    assert ["tool_selection_accuracy"] == await told(annotated, tool("a"))


async def test_with_attribute_roots_a_root_above_may_still_come() -> None:
    condition = [{"attribute": "gen_ai.operation.name", "values": ["invoke_agent"]}]

    assert [] == await told(a_processing(root_span_condition=condition), tool("a"), tool("b"), agent())


async def test_after_the_first_closing_there_are_revisions_only() -> None:
    processing = a_processing()
    await told(processing, tool("a"))
    await processing.after(60)

    assert [] == await told(processing, tool("b"))


async def test_in_pass_through_early_verdicts_are_told_too() -> None:
    assert ["tool_selection_accuracy"] == await told(a_processing(mode="pass_through"), tool("a"), tool("b"))


async def test_a_large_trace_is_looked_at_rarely() -> None:
    processing = a_processing()
    crowd = [wire_span(f"s{number}", "agent") for number in range(2_000)]
    await processing.send(tool("a"), *crowd)
    await processing.after(0.1)

    assert [] == await told(processing, tool("b"))
    await processing.after(8)
    assert 1 == len(early(processing))


async def test_under_pressure_spans_that_were_read_early_leave_too() -> None:
    processing = a_processing(max_buffer_mib=1)
    long = "x" * 10_000
    for number in range(1, 120):
        trace = number.to_bytes(16, "big")
        await processing.send(wire_span("s", "agent", trace=trace, attributes={"text": long}))
        await processing.after(0)

    assert len(processing.released) > 20
    assert [] == [closing.trigger for closing in processing.closings]
