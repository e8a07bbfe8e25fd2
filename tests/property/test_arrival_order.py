"""
What results may not depend on: the order in which spans and log records came, how they were batched, how often they
were repeated, and when they came, as long as it was on the same side of the closing (design §6.4).

Through the whole processor, for every trigger, on random traces and on all recordings; sessions are followed too.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from random import Random
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from processing import SECOND_NS, Processing
from recorded import BUNDLES, Recording, raw_spans, recordings
from wire_spans import agent, chat, tool, trace_request, wire_span

from proto_adapters.canonical import Origin
from proto_adapters.otlp_encode import join_traces
from proto_adapters.split import read_ids
from service.evidence import Partition, Trigger
from service.pipeline import Signal

TOOLS = ["search_flights", "get_weather", "book_hotel"]
EXPECTATIONS = [
    {
        "name": "trip",
        "partition": "both",
        "expected_tools": TOOLS,
        "conditions": [
            {"condition_type": "tools_called_in_order", "name": "order", "tools": TOOLS},
            {"condition_type": "tools_not_called", "name": "no_hotel", "tools": ["book_hotel"]},
            {"condition_type": "tool_call_count", "name": "once", "tools": [{"name": "get_weather", "max": 1}]},
            {
                "condition_type": "any_of",
                "name": "any",
                "conditions": [
                    {"condition_type": "tools_called", "name": "both", "tools": TOOLS[:2]},
                    {"condition_type": "tools_called_in_order", "name": "back", "tools": TOOLS[1::-1]},
                ],
            },
        ],
    }
]
CALL = '[{{"role": "assistant", "parts": [{{"type": "tool_call", "id": "{}", "name": "{}", "arguments": {{}}}}]}}]'
OTHER_TRACE = b"other".rjust(16, b"-")
TIMERS = {"decision_delay": "30s", "idle_timeout": "90s"}
DELAYS = (0.0, 0.0, 0.1, 0.4, 1.5)
"""Seconds between two requests: all of them together are less than the decision delay."""


class Item(NamedTuple):
    """
    One request as it may come: a span, or log records.
    """

    signal: Signal
    payload: bytes
    size: int


class Case(NamedTuple):
    """
    What came before the closing and after it, and what closes.
    """

    trigger: Trigger
    before: Sequence[Item]
    after: Sequence[Item] = ()

    @property
    def options(self) -> dict[str, Any]:
        """The configuration under which everything before the closing is closed by the trigger."""
        spans = [item for item in self.before if item.signal is Signal.TRACES]
        match self.trigger:
            case Trigger.TRACE_TIMEOUT:
                return {"idle_timeout": "0s"}
            case Trigger.SPAN_LIMIT:
                return {"span_limit": len(spans) - 1}
            case Trigger.SIZE_LIMIT:
                return {"maximum_trace_size_bytes": sum(item.size for item in spans) - 1}
            case Trigger.EVICTION:
                return {"num_traces": 1}
            case _:
                return {}

    @property
    def may_repeat(self) -> bool:
        """Repeated spans count towards the limits of a trace, so there they move the closing."""
        return self.trigger not in {Trigger.SPAN_LIMIT, Trigger.SIZE_LIMIT}


NO_OPTIONS: Mapping[str, Any] = {}
Parts = dict[tuple[Partition, str], bytes]
"""The last `evaluation` part of every occurrence, in bytes."""


async def run(
    case: Case, random: Random | None = None, options: Mapping[str, Any] = NO_OPTIONS
) -> tuple[Parts, Counter[Trigger]]:
    """
    What comes out of *case*; with *random* in another order, batched, repeated and delayed.
    """
    processing = Processing(
        tool_selection_accuracy={},
        expectations=EXPECTATIONS,
        session={"enabled": True},
        **{**TIMERS, **case.options, **options},
    )
    processing.clock.advance(1_801 * SECOND_NS)
    await send(processing, case.before, random, may_repeat=case.may_repeat)
    await close(processing, case.trigger)
    if case.after:
        await send(processing, case.after, random, may_repeat=True)
        await processing.after(301)
    await processing.after(1_801)
    return parts_of(processing), Counter(closing.trigger for closing in processing.closings)


async def send(processing: Processing, items: Sequence[Item], random: Random | None, *, may_repeat: bool) -> None:
    for batch in arranged(items, random, may_repeat=may_repeat):
        for signal in (Signal.TRACES, Signal.LOGS):
            payload = b"".join(item.payload for item in batch if item.signal is signal)
            if payload:
                await processing.processor.consume(signal, payload)
        if random is not None:
            processing.clock.step(random.randint(-10, 10) * SECOND_NS)
            await processing.after(random.choice(DELAYS))


def arranged(items: Sequence[Item], random: Random | None, *, may_repeat: bool) -> Iterator[Sequence[Item]]:
    if random is None:
        yield items
        return
    shuffled = list(items)
    if may_repeat and items:
        shuffled += random.choices(items, k=random.randint(0, 3))
    random.shuffle(shuffled)
    per_batch = max(1, len(shuffled) // 8)
    while shuffled:
        taken = random.randint(1, 2 * per_batch)
        yield shuffled[:taken]
        del shuffled[:taken]


async def close(processing: Processing, trigger: Trigger) -> None:
    match trigger:
        case Trigger.EVICTION:
            await processing.send(wire_span("other", trace=OTHER_TRACE))
        case Trigger.SHUTDOWN:
            await processing.processor.shutdown()
        case Trigger.LATE_SPAN:
            await processing.after(31)
        case _:
            await processing.after(301)


def parts_of(processing: Processing) -> Parts:
    return {
        (closing.assessment.partition, closing.assessment.occurrence): msgspec.json.encode(
            (closing.assessment.evaluations, closing.assessment.evidence.coverage)
        )
        for closing in processing.closings
    }


def a_span_item(origin: Origin, span: bytes) -> Item:
    return Item(Signal.TRACES, join_traces([(origin, [span])]), len(span))


def an_item(span: bytes) -> Item:
    return Item(Signal.TRACES, trace_request([span]), len(span))


MAKERS: list[Callable[..., bytes]] = [*(partial(tool, name) for name in TOOLS), chat, agent, wire_span]


@st.composite
def some_span(draw: st.DrawFn, label: str, *, may_conflict: bool) -> list[bytes]:
    """
    The copies of one span: mostly one, sometimes an unfinished one before it, or one that contradicts it.
    """
    make = draw(st.sampled_from(MAKERS))
    start = draw(st.integers(0, 12))
    fields: dict[str, Any] = {"parent": draw(st.sampled_from(["root", "root", "s0", "s1", "gone"])), "start": start}
    end = draw(st.sampled_from([start, start + 1, start + 4, start - 1, None]))
    attributes = draw(st.sampled_from([{}, {"gen_ai.tool.call.id": "c1"}, {"gen_ai.conversation.id": "trip"}]))
    if make is chat and draw(st.booleans()):
        fields["messages"] = CALL.format(draw(st.sampled_from("12")), draw(st.sampled_from(TOOLS)))
    if draw(st.integers(0, 9)) == 0:
        fields["dropped_attributes_count"] = 1

    told = fields | {"end": end, "attributes": attributes}
    copies = [make(label, **told)]
    if draw(st.integers(0, 4)) == 0:
        copies.append(make(label, **(told | {"end": None})))
    if may_conflict and draw(st.integers(0, 6)) == 0:
        copies.append(make(label, **(told | {"end": start + 2, "attributes": {"contradicts": True}})))
    return copies


@st.composite
def some_trace(draw: st.DrawFn, *, root_ends: bool = True, may_conflict: bool = True) -> list[Item]:
    root = agent("root", end=50 if root_ends else None, attributes={"gen_ai.conversation.id": "trip"})
    labels = [f"s{number}" for number in range(draw(st.integers(1, 7)))]
    spans = [copy for label in labels for copy in draw(some_span(label, may_conflict=may_conflict))]
    return [an_item(span) for span in dict.fromkeys([root, tool(TOOLS[0], parent="root"), *spans])]


@st.composite
def some_case(draw: st.DrawFn, trigger: Trigger) -> Case:
    """
    A random trace that *trigger* closes.
    """
    silent = trigger in {Trigger.IDLE_TIMEOUT, Trigger.TRACE_TIMEOUT}
    items = draw(some_trace(root_ends=not silent))
    if trigger is not Trigger.LATE_SPAN:
        return Case(trigger, items)
    late = draw(st.lists(st.sampled_from(items[1:]), min_size=1, unique=True))
    return Case(trigger, [item for item in items if item not in late], late)


@pytest.mark.parametrize("trigger", Trigger)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), random=st.randoms(use_true_random=False))
def test_results_of_a_trace_do_not_depend_on_how_it_came(trigger: Trigger, data: st.DataObject, random: Random) -> None:
    case = data.draw(some_case(trigger))

    expected, triggers = asyncio.run(run(case))
    parts, _ = asyncio.run(run(case, random))

    assert triggers[trigger]
    assert expected == parts


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(items=some_trace(may_conflict=False), random=st.randoms(use_true_random=False))
@pytest.mark.parametrize("options", [{"mode": "pass_through"}, {"early_verdicts": True}], ids=str)
def test_reading_spans_before_the_closing_changes_no_result(
    options: dict[str, object], items: Sequence[Item], random: Random
) -> None:
    case = Case(Trigger.ROOT_SPAN, items)

    expected, _ = asyncio.run(run(case))
    parts, _ = asyncio.run(run(case, random, options))

    assert expected == parts


def case_of(recorded: Recording, random: Random) -> Case:
    """
    The recording, some of its spans late, or all of it closed by a timer, an eviction of all but one trace, or the end.
    """
    spans = [a_span_item(origin, span) for origin, span in raw_spans(recorded)]
    logs = [Item(Signal.LOGS, payload, 0) for payload in recorded.log_requests]
    trigger = random.choice([Trigger.ROOT_SPAN, Trigger.TRACE_TIMEOUT, Trigger.SHUTDOWN, Trigger.LATE_SPAN])
    if trigger is not Trigger.LATE_SPAN:
        return Case(trigger, spans + logs)
    children = [item for item, (_, span) in zip(spans, raw_spans(recorded), strict=True) if has_parent(span)]
    late = random.sample(children, k=len(children) // 3)
    return Case(trigger, [item for item in spans if item not in late] + logs, late)


def has_parent(span: bytes) -> bool:
    ids = read_ids(span)
    return ids is not None and ids.parent_span_id is not None


@pytest.mark.parametrize("bundle", BUNDLES)
def test_results_of_recordings_do_not_depend_on_how_they_came(bundle: str) -> None:
    for recorded in recordings(bundle):
        random = Random(recorded.id)
        case = case_of(recorded, random)

        expected, _ = asyncio.run(run(case))
        parts, _ = asyncio.run(run(case, random))

        assert expected == parts, recorded.id
