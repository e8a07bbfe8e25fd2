"""
The short way of reading the convention's messages gives what the walker over any structure gives, or leaves it to it.
"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded import BUNDLES, read_spans, recordings

from proto_adapters.call_collector import CallCollector
from proto_adapters.canonical import AttributeValue, SpanKind
from proto_adapters.embedded_calls import read_output
from proto_adapters.read_options import ReadOptions
from proto_adapters.standard_messages import read_standard_messages

KEY = "gen_ai.output.messages"
SOME_TEXTS = st.sampled_from(
    ["", " ", "Paris", "[1]", '{"a": 1}', '"x"', "ToolCall(x)", "unknown", "call_1", "call_1call_2"]
)
TEXTS = SOME_TEXTS | st.text(max_size=20)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
TEXT_PARTS = st.fixed_dictionaries({"type": st.just("text"), "content": TEXTS})
CALLS = st.fixed_dictionaries(
    {"type": st.just("tool_call"), "name": TEXTS},
    optional={"id": TEXTS | st.none(), "arguments": ANYTHING},
)
OTHER_PARTS = st.dictionaries(st.sampled_from(["type", "content", "name", "id", "function", "toolName"]), ANYTHING)
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["assistant", "assistant", "assistant", "user"])},
    optional={"parts": st.lists(TEXT_PARTS | CALLS | OTHER_PARTS, max_size=4), "finish_reason": TEXTS | st.none()},
)
FIELDS = st.lists(MESSAGES | ANYTHING, max_size=3) | ANYTHING


def told(collector: CallCollector) -> tuple[object, ...]:
    return (
        collector.calls,
        collector.finish_reasons,
        collector.has_text,
        collector.truncated,
        collector.lost_calls,
    )


def walked(text: str) -> CallCollector:
    collector = CallCollector(keep_arguments=True)
    read_output(text, collector)
    return collector


@given(FIELDS)
def test_the_short_way_gives_what_the_walker_gives_or_nothing(field: AttributeValue) -> None:
    text = json.dumps(field)
    collector = CallCollector(keep_arguments=True)

    was_read = read_standard_messages(text, collector)

    expected = walked(text) if was_read else CallCollector()
    assert told(expected) == told(collector)


@given(
    st.lists(st.fixed_dictionaries({"role": st.just("assistant"), "parts": st.lists(CALLS, max_size=4)}), max_size=3)
)
def test_messages_of_the_convention_take_the_short_way(messages: list[AttributeValue]) -> None:
    assert read_standard_messages(json.dumps(messages), CallCollector())


@pytest.mark.parametrize("bundle", BUNDLES)
def test_recorded_messages_are_read_alike_both_ways(bundle: str) -> None:
    options = ReadOptions(selected_keys=frozenset({KEY}))
    for recorded in recordings(bundle):
        for span in read_spans(recorded, options):
            text = span.selected.get(KEY)
            if span.kind is SpanKind.LLM and isinstance(text, str):
                collector = CallCollector(keep_arguments=True)
                if read_standard_messages(text, collector):
                    assert told(walked(text)) == told(collector)
