"""
An early verdict is never overturned: whatever spans come after it, the closing says the same (design §6.4).

Random trees of spans that look alike, in any order of arrival, and recordings span by span. What no rule can foresee is
left out: copies that contradict each other, two instrumentations that tell one call beside each other, and a refusal
that another span tells of a call.
"""

import asyncio
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import pytest
from builders import CLIENT, SERVER, a_span, a_span_id, a_trace_id, an_origin
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from processing import Processing, ours
from recorded import BUNDLES, Recording, raw_spans, recordings
from session_builders import an_assessor

from proto_adapters.canonical import CanonicalSpan, SpanKind
from proto_adapters.otlp_encode import join_traces
from proto_adapters.span_fields import SPAN_NAME
from service.app.processing import build_assessor
from service.config import config_from_tree
from service.evaluation import Evaluation
from service.pipeline import Signal
from service.processor.signals import EVENT_NAME
from service.scoring.evidence import ClosingFacts

COUNT = 6
NAMES = ["x", "y", "x", "y", "mcp__trips__x", "planner.x", None]
TOOLS = ["search_flights", "get_weather", "book_hotel"]


def name_of(tool: str) -> str:
    return tool.replace(".", "_")


def conditions(*tools: str) -> list[dict[str, Any]]:
    """
    Every question that may be answered early, and trees of them.
    """
    leaves: list[dict[str, Any]] = [
        {"condition_type": kind, "name": f"{kind}_{name_of(tool)}", "tools": [tool]}
        for kind in ("tools_called", "tools_not_called")
        for tool in tools
    ]
    leaves += [
        {
            "condition_type": "tools_called_in_order",
            "name": f"{name_of(one)}_then_{name_of(other)}",
            "tools": [one, other],
        }
        for one in tools
        for other in tools
        if one != other
    ]
    leaves.append({"condition_type": "tool_call_count", "name": "count", "tools": [{"name": tools[0], "max": 1}]})
    leaves = [leaf | {"name_matching": "normalized"} for leaf in leaves]
    trees: list[dict[str, Any]] = [
        {
            "condition_type": kind,
            "name": kind,
            "conditions": [leaf | {"name": f"{kind}_{leaf['name']}"} for leaf in leaves],
        }
        for kind in ("all_of", "any_of", "majority")
    ]
    return leaves + trees


SETTINGS: dict[str, Any] = {
    "tool_name_aliases": True,
    "tool_selection_accuracy": {"expected_tools": ["x"]},
    "expectations": [
        {"name": "shop", "match": {"service_name": "shop"}, "conditions": conditions("x", "y", "planner.x")},
        {"name": "sub", "match": {"agent_name": "sub"}, "expected_tools": ["y"]},
        {"name": "any", "expected_tools": ["x", "y"], "conditions": conditions("x", "y", "planner.x")},
    ],
}
ASSESSOR = build_assessor(config_from_tree({"processors": {"tool_scoring": SETTINGS}}, environ={}).tool_scoring)


@st.composite
def a_similar_span(draw: st.DrawFn, number: int) -> CanonicalSpan:
    start = draw(st.integers(0, 9))
    kind = draw(st.sampled_from([SpanKind.TOOL] * 4 + [SpanKind.LLM, SpanKind.AGENT, SpanKind.CHAIN, SpanKind.UNKNOWN]))
    name = draw(st.sampled_from(NAMES))
    is_refused = draw(st.integers(0, 9)) == 0
    return a_span(
        kind,
        start,
        draw(st.sampled_from([start, start + 1, start + 3, start + 30, None])),
        name=draw(st.sampled_from(["step", "mcp.server", "claude_code.tool.execution"])),
        span_id=a_span_id(number),
        parent_span_id=a_span_id(draw(st.sampled_from([1, 1, 2, 2, 3, 4, COUNT + 1]))),
        origin=an_origin(draw(st.sampled_from(["shop", "gate"]))),
        otel_kind=draw(st.sampled_from([1, 1, 1, SERVER, CLIENT])),
        mcp_method=draw(st.sampled_from([None, None, "tools/call"])),
        dialects=(draw(st.sampled_from(["otel_genai", "otel_genai", "claude_code"])),),
        agent_name=draw(st.sampled_from(["planner", "sub"])) if kind is SpanKind.AGENT else None,
        tool_name="refused" if is_refused else name,
        tool_name_key=draw(st.sampled_from(["gen_ai.tool.name", SPAN_NAME])),
        tool_call_id=draw(st.sampled_from([None, f"call-{number}"])),
        arguments_digest=draw(st.sampled_from([None, None, b"1", b"2"])),
        executed=False if is_refused else None,
    )


@st.composite
def arrivals(draw: st.DrawFn) -> list[CanonicalSpan]:
    """
    One root and what may lie below it, in any order; some spans are told first while they have not ended.
    """
    kind = draw(st.sampled_from([SpanKind.AGENT, SpanKind.UNKNOWN]))
    root = a_span(kind, 0, 50, span_id=a_span_id(1), agent_name="planner" if kind is SpanKind.AGENT else None)
    spans = [root] + [draw(a_similar_span(number)) for number in range(2, draw(st.integers(3, COUNT)) + 1)]
    announced = draw(st.lists(st.sampled_from(spans), max_size=2))
    order = draw(st.permutations([*spans, *(replace(span, end_ns=None) for span in announced)]))
    return list(order)


def held(arrived: Sequence[CanonicalSpan]) -> list[CanonicalSpan]:
    """
    Of several copies the one that has ended.
    """
    spans: dict[bytes, CanonicalSpan] = {}
    for span in arrived:
        if span.has_ended or span.span_id not in spans:
            spans[span.span_id] = span
    return list(spans.values())


def said(evaluations: Sequence[Evaluation]) -> dict[tuple[str, str | None], float | None]:
    return {(evaluation.identifier, evaluation.expectation): evaluation.score for evaluation in evaluations}


@settings(max_examples=150, deadline=None)
@given(arrived=arrivals(), closed_by_root=st.booleans())
def test_no_span_overturns_an_early_verdict(arrived: list[CanonicalSpan], *, closed_by_root: bool) -> None:
    final = ASSESSOR.assess(a_trace_id(), held(arrived), (), ClosingFacts(closed_by_root=closed_by_root))
    results = said(final.evaluations)

    for count in range(1, len(arrived) + 1):
        early = said(ASSESSOR.assess_early(a_trace_id(), held(arrived[:count]), ()).evaluations)

        if final.is_eligible:
            assert early == {key: results.get(key, "nothing") for key in early}


async def early_and_final(recorded: Recording, random: Random) -> Iterator[tuple[str, object, object]]:
    """
    (evaluation, early score, final score) of a recording that comes span by span.
    """
    expectations = [{"name": "trip", "expected_tools": TOOLS, "conditions": conditions(*TOOLS)}]
    processing = Processing(early_verdicts=True, expectations=expectations, tool_name_aliases=True)
    spans = list(raw_spans(recorded))
    random.shuffle(spans)
    for payload in recorded.log_requests:
        await processing.processor.consume(Signal.LOGS, payload)
    while spans:
        count = random.randint(1, 4)
        await processing.processor.consume(Signal.TRACES, join_traces([(o, [span]) for o, span in spans[:count]]))
        del spans[:count]
        await processing.after(0.2)
    await processing.after(301)
    final = {
        (closing.assessment.occurrence, evaluation.name): evaluation.score
        for closing in processing.closings
        for evaluation in closing.assessment.evaluations
    }
    return iter(
        (name, event.get(f"toolscore.evaluation.{name}.score"), final.get((trace_id, name)))
        for trace_id, name, event in early_events(processing)
    )


def early_events(processing: Processing) -> Iterator[tuple[str, str, dict[str, object]]]:
    for record in processing.events:
        event = ours(record.attributes)
        if record.event_name == EVENT_NAME and "toolscore.trigger" not in event:
            (name,) = (each.value.string_value for each in record.attributes if each.key == "gen_ai.evaluation.name")
            yield record.trace_id.hex(), name, event


@pytest.mark.parametrize("bundle", BUNDLES)
def test_early_verdicts_on_recordings_stand(bundle: str) -> None:
    for recorded in recordings(bundle)[::6]:
        for name, early, final in asyncio.run(early_and_final(recorded, Random(recorded.id))):
            assert early == final, (recorded.id, name)


def test_recordings_give_early_verdicts_on_presence_and_on_order() -> None:
    (recorded,) = (each for each in recordings("python/strands") if each.scenario == "multi_turn")

    names = {name for name, _, _ in asyncio.run(early_and_final(recorded, Random(1)))}

    assert {"tools_called_get_weather", "tools_not_called_book_hotel", "get_weather_then_book_hotel"} <= names


@pytest.mark.parametrize(("key", "count"), [(SPAN_NAME, 0), ("gen_ai.tool.name", 1)])
def test_a_name_that_an_agent_may_correct_later_settles_nothing(key: str, count: int) -> None:
    policy = {"name": "p", "conditions": [{"condition_type": "tools_called", "tools": ["planner.x"]}]}
    call = a_span(SpanKind.TOOL, 1, 2, tool_name="planner.x", tool_name_key=key)

    assert count == len(an_assessor(expectations=[policy]).assess_early(a_trace_id(), [call], ()).evaluations)
