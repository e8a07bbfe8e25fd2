"""
Inputs made to cost more than their bytes: twice the size costs about twice the work, and much of it is not done at all.

The measure is the number of Python calls, which is the same on every machine.
"""

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine
from types import FrameType

import pytest
from faults.agent_load import trace_id
from faults.fault_report import REPORT
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue, KeyValueList
from processing import Processing
from wire_spans import agent, tool, trace_request, wire_span

from service.errors import MalformedRequest
from service.pipeline import Signal

GENAI = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "p"}
CHAT = wire_span("chat", "agent", attributes=GENAI)
OUTPUT = "gen_ai.output.messages"


def framed(tag: int, payload: bytes) -> bytes:
    size, length = len(payload), bytearray()
    while size >= 0x80:
        length.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([tag]) + bytes(length) + bytes([size]) + payload


def attribute(key: str, value: AnyValue) -> bytes:
    return framed(0x4A, KeyValue(key=key, value=value).SerializeToString())


def text(value: str) -> AnyValue:
    return AnyValue(string_value=value)


FORGED = attribute("toolscore.x", text("1"))
CALL = {"type": "tool_call", "name": "a"}

OVERGROWN: dict[str, Callable[[int], bytes]] = {
    "empty attributes on the root": lambda n: agent() + FORGED + b"\x4a\x00" * n,
    "unknown fields on the root": lambda n: agent() + FORGED + b"\x98\x06\x01" * n,
    "groups": lambda n: agent() + FORGED + b"\x4b\x4c" * n,
    "one group of many": lambda n: agent() + FORGED + b"\x9b\x06" + b"\x08\x01" * n + b"\x9c\x06",
    "events": lambda n: CHAT + b"\x5a\x00" * n,
    "links": lambda n: CHAT + b"\x6a\x00" * n,
    "named events": lambda n: CHAT + framed(0x5A, b"\x12\x0dgen_ai.choice") * n,
    "one key": lambda n: CHAT + b"\x4a\x05\x0a\x01k\x12\x00" * n,
    "indexed keys": lambda n: (
        CHAT + b"".join(attribute(f"gen_ai.completion.{i}.tool_calls.{i}.name", text("a")) for i in range(0, n, 4))
    ),
}
WIDE: dict[str, Callable[[int], bytes]] = {
    "calls in one message": lambda n: CHAT + attribute(OUTPUT, text(json.dumps([{"role": "a", "parts": [CALL] * n}]))),
    "messages": lambda n: CHAT + attribute(OUTPUT, text(json.dumps([{"role": "a", "parts": [CALL]}] * n))),
    "keys of an object": lambda n: CHAT + attribute(OUTPUT, text(json.dumps({f"k{i}": i for i in range(n)}))),
    "open brackets": lambda n: CHAT + attribute(OUTPUT, text("[" * n)),
    "digits": lambda n: CHAT + attribute(OUTPUT, text("9" * n)),
    "backslashes": lambda n: CHAT + attribute(OUTPUT, text('"' + "\\\\" * n)),
    "braces in output.value": lambda n: CHAT + attribute("output.value", text('{"a":' * n)),
    "array": lambda n: CHAT + attribute(OUTPUT, AnyValue.FromString(framed(0x2A, b"\x0a\x00" * n))),
    "kvlist": lambda n: (
        CHAT + attribute(OUTPUT, AnyValue(kvlist_value=KeyValueList(values=[KeyValue(key=str(i)) for i in range(n)])))
    ),
    "name": lambda n: agent(attributes={"gen_ai.agent.name": "x" * n}),
}


async def close_with(spans: list[bytes]) -> Processing:
    processing = Processing(maximum_trace_size_bytes=0, span_limit=0, idle_timeout="1h", trace_timeout="1h")
    await processing.send(*spans)
    await processing.after(7_200)
    return processing


def calls_in(work: Callable[[], Coroutine[None, None, object]]) -> int:
    """
    How many Python functions are called in *work*.
    """
    count = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        asyncio.run(work())
    finally:
        sys.setprofile(None)
    return count


def calls_of(spans: list[bytes]) -> int:
    """
    What it takes to receive, score and release *spans*.
    """
    return calls_in(lambda: close_with(spans))


@pytest.mark.parametrize("make", OVERGROWN.values(), ids=OVERGROWN)
def test_what_has_too_many_records_passes_unread(make: Callable[[int], bytes]) -> None:
    small, large = make(40_000), make(80_000)
    spans = [tool("a"), tool("b")]

    REPORT.malformed["CPU bombs"] += 1
    assert calls_of([*spans, large]) < calls_of([*spans, small]) + 2_000

    processing = asyncio.run(close_with([*spans, large]))
    assert large in b"".join(processing.outlets[Signal.TRACES].requests)


@pytest.mark.parametrize("make", WIDE.values(), ids=WIDE)
def test_a_wide_value_costs_what_its_bytes_cost(make: Callable[[int], bytes]) -> None:
    spans = [tool("a"), tool("b"), agent()]
    calls_of([*spans, make(10)])

    REPORT.malformed["CPU bombs"] += 1
    base = calls_of([*spans, make(10)])
    once, twice = calls_of([*spans, make(5_000)]) - base, calls_of([*spans, make(10_000)]) - base
    assert twice < 2.5 * max(once, 1_000)


GROUPS = 60_000
ENVELOPES = {
    "resources": b"\x0a\x00" * GROUPS,
    "scopes": framed(0x0A, b"\x12\x00" * GROUPS),
    "unknown fields": b"\x98\x06\x01" * GROUPS,
    "groups": b"\x4b\x4c" * GROUPS,
}


@pytest.mark.parametrize("request_bytes", ENVELOPES.values(), ids=ENVELOPES)
async def test_a_request_of_too_many_groups_is_refused_unread(request_bytes: bytes) -> None:
    REPORT.malformed["CPU bombs"] += 1
    with pytest.raises(MalformedRequest, match="too many"):
        await Processing().processor.consume(Signal.TRACES, request_bytes)


def chain(size: int) -> list[bytes]:
    return [wire_span(str(number), str(number + 1)) for number in range(size)]


def nested_tools(size: int) -> list[bytes]:
    return [*(tool("a", label=str(number), parent=str(number + 1)) for number in range(size)), agent(str(size))]


def conflicting(size: int) -> list[bytes]:
    return [tool("a", label="same", end=number + 1) for number in range(size)]


def sessions(size: int) -> list[bytes]:
    return [tool("a", trace=trace_id(number), attributes={"session.id": str(number)}) for number in range(size)]


@pytest.mark.parametrize("make", [chain, nested_tools, conflicting, sessions], ids=lambda make: make.__name__)
def test_many_spans_cost_what_they_are(make: Callable[[int], list[bytes]]) -> None:
    calls_of(make(10))

    REPORT.malformed["CPU bombs"] += 1
    assert calls_of(make(2_000)) < 2.5 * calls_of(make(1_000))


async def pass_services(count: int) -> None:
    """
    One request of as many services, each with a scope and a trace of its own.
    """
    processing = Processing()
    parts = [
        trace_request([tool("a", trace=trace_id(number))], service=f"s{number}", scope=f"c{number}")
        for number in range(count)
    ]
    await processing.processor.consume(Signal.TRACES, b"".join(parts))
    await processing.after(7_200)


def test_many_services_in_one_request_cost_what_they_are() -> None:
    calls_in(lambda: pass_services(10))

    once, twice = calls_in(lambda: pass_services(1_000)), calls_in(lambda: pass_services(2_000))
    assert twice < 2.5 * once
