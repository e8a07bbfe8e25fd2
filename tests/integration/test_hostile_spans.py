"""
Hostile spans cost only themselves: the rest of their request is scored, and all that was accepted leaves.
"""

import pytest
from conservation import assert_bytes_conserved
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from processing import Processing
from wire_spans import TRACE, agent, span_id, tool, wire_span

from service.errors import MalformedRequest
from service.pipeline import Signal

GENAI = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "p"}


def nested(depth: int) -> AnyValue:
    value = AnyValue(string_value="x")
    for _ in range(depth):
        outer = AnyValue()
        outer.array_value.values.append(value)
        value = outer
    return value


def with_attribute(key: str, value: AnyValue) -> bytes:
    span = Span.FromString(wire_span("hostile", "agent", attributes=GENAI))
    span.attributes.append(KeyValue(key=key, value=value))
    return span.SerializeToString()


WRONG_TYPES = [
    AnyValue(),
    AnyValue(int_value=7),
    AnyValue(double_value=float("nan")),
    AnyValue(bytes_value=b"\xff\x00"),
    AnyValue(bool_value=True),
    nested(3),
]

CARRIED = {
    "truncated": wire_span("hostile", "agent", attributes=GENAI)[:-7],
    "garbage-tail": wire_span("hostile", "agent") + b"\xff\xff\xff",
    "bad-utf8-key": wire_span("hostile", "agent") + b"\x4a\x04\x0a\x02\xff\xfe",
    "bad-utf8-value": wire_span("hostile", "agent") + b"\x4a\x08\x0a\x01k\x12\x03\x0a\x01\xff",
    "truncated-key-value": wire_span("hostile", "agent") + b"\x4a\x02\x0a\x09",
    "deeply-nested": with_attribute("gen_ai.output.messages", nested(45)),
    "json-bomb": with_attribute("gen_ai.output.messages", AnyValue(string_value="[" * 100_000)),
    "huge-numbers": with_attribute("gen_ai.output.messages", AnyValue(string_value="[1e999, " + "9" * 5000 + "]")),
    "empty-name": wire_span(
        "hostile", "agent", attributes={"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": " "}
    ),
    "control-characters": wire_span(
        "hostile", "agent", attributes=GENAI | {"gen_ai.agent.name": "\x1b[2J\x00<script>"}
    ),
    "own-parent": wire_span("hostile", "hostile"),
    **{
        f"{key}-as-{position}": with_attribute(key, value)
        for key in ("gen_ai.operation.name", "gen_ai.tool.name", "openinference.span.kind", "session.id")
        for position, value in enumerate(WRONG_TYPES)
    },
}

REJECTED = {
    "no-ids": b"",
    "zero-trace-id": wire_span("x", trace=bytes(16)),
    "short-trace-id": wire_span("x", trace=b"short"),
    "long-trace-id": wire_span("x", trace=b"x" * 17),
    "two-trace-ids": b"\x0a\x10" + b"A" * 16 + b"\x0a\x10" + b"B" * 16 + b"\x12\x08" + b"C" * 8,
    "short-parent": Span(trace_id=TRACE, span_id=span_id("x"), parent_span_id=b"abc").SerializeToString(),
    "not-a-span": b"\xff\xff\xff\xff",
    "too-large": wire_span("x", attributes={"padding": "x" * (5 * 1024 * 1024)}),
}


@pytest.mark.parametrize("hostile", CARRIED.values(), ids=CARRIED)
async def test_a_hostile_span_passes_and_the_rest_is_scored(hostile: bytes) -> None:
    processing = Processing()

    accepted = await processing.send(tool("a"), hostile, tool("b"), agent())
    await processing.after(5)
    await processing.after(60)

    assert 0 == accepted.rejected_items
    assert 1.0 == processing.evaluation().score
    assert_bytes_conserved(processing.sent, processing.outlets[Signal.TRACES].requests)


@pytest.mark.parametrize("hostile", REJECTED.values(), ids=REJECTED)
async def test_a_span_that_cannot_be_taken_is_rejected_alone(hostile: bytes) -> None:
    processing = Processing()

    accepted = await processing.send(tool("a"), hostile, tool("b"), agent())
    await processing.after(5)

    assert (1, 4) == (accepted.rejected_items, accepted.item_count)
    assert accepted.message
    assert 1.0 == processing.evaluation().score
    assert_bytes_conserved(processing.sent, processing.outlets[Signal.TRACES].requests, rejected=[hostile])
    assert 1 == sum(processing.counted("toolscore.receiver.rejected_spans").values())


@pytest.mark.parametrize("request_bytes", [b"\xff", b"\x0a\x05abc", b"\x0a\x03\x12\x05x"])
async def test_bytes_that_are_no_request_are_malformed(request_bytes: bytes) -> None:
    processing = Processing()

    with pytest.raises(MalformedRequest):
        await processing.processor.consume(Signal.TRACES, request_bytes)

    assert 0 == processing.processor._buffer.size  # nothing may be left behind


@pytest.mark.parametrize("empty", [b"", b"\x0a\x00", b"\x0a\x02\x12\x00"])
async def test_an_empty_request_is_accepted(empty: bytes) -> None:
    accepted = await Processing().processor.consume(Signal.TRACES, empty)

    assert (0, 0) == (accepted.item_count, accepted.rejected_items)


async def test_the_order_of_arrival_changes_nothing() -> None:
    results = []
    spans = [tool("a", start=0, end=1), tool("b", start=2, end=3), agent(), tool("a", start=0, end=1)]
    for order in (spans, spans[::-1], spans[2:] + spans[:2]):
        processing = Processing()
        for span in order:
            await processing.send(span)
        await processing.after(5)
        results.append((processing.evaluation(), processing.reasons))

    assert [results[0]] * 3 == results


async def test_a_request_of_one_giant_trace_is_scored_whole() -> None:
    processing = Processing(span_limit=0, maximum_trace_size_bytes=0)

    await processing.send(*(tool("a", f"t{number}") for number in range(3_000)), agent())
    await processing.after(5)

    assert (3_000, 0.5) == (len(processing.last.assessment.evidence.calls), processing.evaluation().score)
    assert_bytes_conserved(processing.sent, processing.outlets[Signal.TRACES].requests)
