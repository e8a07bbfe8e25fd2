"""
Every trigger and every coverage reason of the closed sets, each produced by spans that come in over OTLP/gRPC.
"""

from collections.abc import AsyncIterator, Awaitable, Callable

import grpc.aio
import pytest
from conservation import assert_bytes_conserved
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from processing import SECOND_NS, Processing
from wire_spans import agent, chat, tool, trace_request, wire_span

from service.evidence import CoverageReason, Trigger
from service.pipeline import Signal
from service.receiver.otlp_grpc import SERVICES, GrpcReceiverSettings, OtlpGrpcReceiver
from service.telemetry.recorder import NullRecorder

Send = Callable[..., Awaitable[None]]
Scenario = Callable[[Processing, Send], Awaitable[None]]


class Wire:
    """
    A sender whose spans go through a real receiver into the processor under test. At the end all of them have left.
    """

    def __init__(self, processing: Processing) -> None:
        self._processing = processing
        self._receiver = OtlpGrpcReceiver(
            GrpcReceiverSettings(endpoint="127.0.0.1:0"), processing.processor, NullRecorder()
        )

    async def __aenter__(self) -> Send:
        await self._receiver.start()
        self._channel = grpc.aio.insecure_channel(f"127.0.0.1:{self._receiver.port}")
        export = self._channel.unary_unary(
            f"/{SERVICES[Signal.TRACES]}/Export", request_serializer=None, response_deserializer=None
        )

        async def send(*spans: bytes) -> None:
            request = trace_request(spans)
            await export(request)
            self._processing.sent.append(request)

        return send

    async def __aexit__(self, *_: object) -> None:
        await self._channel.close(None)
        await self._receiver.stop(0)
        await self._processing.processor.shutdown()
        assert_bytes_conserved(self._processing.sent, self._processing.outlets[Signal.TRACES].requests)


@pytest.fixture
async def wired(request: pytest.FixtureRequest) -> AsyncIterator[tuple[Processing, Send]]:
    processing = Processing(**getattr(request, "param", {}))
    async with Wire(processing) as send:
        yield processing, send


async def root_came(processing: Processing, send: Send) -> None:
    await send(tool("a"), agent())
    await processing.after(5)


async def nothing_more_came(processing: Processing, send: Send) -> None:
    await send(tool("a"))
    await processing.after(60)


async def spans_kept_coming(processing: Processing, send: Send) -> None:
    for number in range(12):
        await send(wire_span(f"s{number}", "agent"), tool("a", f"t{number}"))
        await processing.after(30)


async def too_many_spans(_: Processing, send: Send) -> None:
    await send(*(tool("a", f"t{number}") for number in range(4)))


async def another_trace_came(_: Processing, send: Send) -> None:
    await send(tool("a"))
    await send(tool("a", trace=b"2" * 16))


async def stopped(processing: Processing, send: Send) -> None:
    await send(tool("a"))
    await processing.processor.shutdown()


async def late(processing: Processing, send: Send) -> None:
    await send(tool("a"), agent())
    await processing.after(5)
    await send(tool("b"))
    await processing.after(5)


TRIGGERS: dict[Trigger, tuple[dict[str, object], Scenario]] = {
    Trigger.ROOT_SPAN: ({}, root_came),
    Trigger.IDLE_TIMEOUT: ({}, nothing_more_came),
    Trigger.TRACE_TIMEOUT: ({}, spans_kept_coming),
    Trigger.SPAN_LIMIT: ({"span_limit": 3}, too_many_spans),
    Trigger.SIZE_LIMIT: ({"maximum_trace_size_bytes": 300}, too_many_spans),
    Trigger.EVICTION: ({"num_traces": 1}, another_trace_came),
    Trigger.SHUTDOWN: ({}, stopped),
    Trigger.LATE_SPAN: ({}, late),
}


@pytest.mark.parametrize(
    ("wired", "trigger", "scenario"),
    [pytest.param(settings, trigger, scenario, id=trigger) for trigger, (settings, scenario) in TRIGGERS.items()],
    indirect=["wired"],
)
async def test_every_trigger_is_reached(wired: tuple[Processing, Send], trigger: Trigger, scenario: Scenario) -> None:
    processing, send = wired

    await scenario(processing, send)

    assert trigger is processing.last.trigger


def test_no_trigger_is_left_out() -> None:
    assert set(Trigger) == set(TRIGGERS)


def once(*spans: bytes, after: float = 5) -> Scenario:
    """
    The scenario of one request, and time.
    """

    async def scenario(processing: Processing, send: Send) -> None:
        await send(*spans)
        await processing.after(after)

    return scenario


async def refused(processing: Processing, send: Send) -> None:
    large = {"padding": "x" * 600_000}
    await send(tool("a"), wire_span("large", "agent", attributes=large))
    processing.outlets[Signal.TRACES].is_full = True
    with pytest.raises(grpc.aio.AioRpcError, match="UNAVAILABLE"):
        await send(wire_span("too much", "agent", attributes=large))
    processing.outlets[Signal.TRACES].is_full = False
    await processing.after(1)
    await send(agent())
    await processing.after(5)


async def reopened(processing: Processing, send: Send) -> None:
    for trace in (b"1" * 16, b"2" * 16):
        await send(tool("a", trace=trace), agent(trace=trace))
        await processing.after(5)
        await processing.after(301)
    await send(tool("b", trace=b"1" * 16), agent(trace=b"1" * 16))
    await processing.after(5)


async def membership_changed(processing: Processing, send: Send) -> None:
    await send(tool("a"))
    processing.processor.membership_changed()
    await send(agent())
    await processing.after(5)


def recent(processing: Processing, label: str, parent: str | None, seconds: float) -> bytes:
    """
    A span that began *seconds* before the service did, and lasts one minute.
    """
    message = Span.FromString(tool("a", label, parent=parent or ""))
    message.start_time_unix_nano = processing.clock.now_ns() - round(seconds * SECOND_NS)
    message.end_time_unix_nano = message.start_time_unix_nano + 60 * SECOND_NS
    return message.SerializeToString()


async def restarted(processing: Processing, send: Send) -> None:
    await send(recent(processing, "a", None, 30))
    await processing.after(5)


async def evidence_released(processing: Processing, send: Send) -> None:
    """
    A turn of a session is evicted without a score, so its evidence is not there when the session falls silent.
    """
    turn = {"gen_ai.conversation.id": "s"}
    await send(tool("a", trace=b"1" * 16), agent(trace=b"1" * 16, attributes=turn))
    await send(tool("b", trace=b"2" * 16), agent(trace=b"2" * 16, attributes=turn))
    await processing.after(5)
    await processing.after(30 * 60)


SESSION_OF_EVICTED_TURNS: dict[str, object] = {
    "session": {"enabled": True},
    "num_traces": 1,
    "eviction": {"policy": "forward_unscored"},
}
NAMELESS = wire_span("t", "agent", attributes={"gen_ai.operation.name": "execute_tool"})

COVERAGE: dict[CoverageReason, tuple[dict[str, object], Scenario]] = {
    CoverageReason.NO_ROOT: ({}, nothing_more_came),
    CoverageReason.MANY_ROOTS: ({}, once(tool("a"), agent(), agent("second"))),
    CoverageReason.MISSING_PARENT: ({}, once(tool("a", parent="gone"), agent())),
    CoverageReason.NOT_CLOSED_BY_ROOT: ({}, nothing_more_came),
    CoverageReason.SPAN_UNFINISHED: ({}, once(tool("a", end=None), agent())),
    CoverageReason.SPAN_TIME_INVALID: ({}, once(tool("a", start=5, end=1), agent())),
    CoverageReason.SPAN_UNDECODABLE: ({}, once(tool("a"), tool("b") + b"\x4a\x04\x0a\x02\xff\xfe", agent())),
    CoverageReason.TOOL_NAME_MISSING: ({}, once(NAMELESS, agent())),
    CoverageReason.TOOL_NAME_CONFLICT: ({}, once(tool("a", attributes={"tool.name": "b"}), agent())),
    CoverageReason.CONFLICTING_SPAN_IDENTITY: ({}, once(tool("a"), tool("a", end=2), agent())),
    CoverageReason.ATTRIBUTES_DROPPED: ({}, once(tool("a", dropped_attributes_count=1), agent())),
    CoverageReason.COMPLETION_HIDDEN: ({}, once(chat(), agent())),
    CoverageReason.SPAN_LIMIT: ({"span_limit": 3}, too_many_spans),
    CoverageReason.SIZE_LIMIT: ({"maximum_trace_size_bytes": 300}, too_many_spans),
    CoverageReason.EVICTED: ({"num_traces": 1}, another_trace_came),
    CoverageReason.SPANS_REFUSED: ({"max_buffer_mib": 1}, refused),
    CoverageReason.LATE_SPAN: ({}, late),
    CoverageReason.REOPENED: ({"num_traces": 1, "decision_cache": {"size": 1}}, reopened),
    CoverageReason.RESTARTED: ({}, restarted),
    CoverageReason.MEMBERSHIP_CHANGED: ({}, membership_changed),
    CoverageReason.EVIDENCE_RELEASED: (SESSION_OF_EVICTED_TURNS, evidence_released),
}


@pytest.mark.parametrize(
    ("wired", "reason", "scenario"),
    [pytest.param(settings, reason, scenario, id=reason) for reason, (settings, scenario) in COVERAGE.items()],
    indirect=["wired"],
)
async def test_every_coverage_reason_is_reached(
    wired: tuple[Processing, Send], reason: CoverageReason, scenario: Scenario
) -> None:
    processing, send = wired

    await scenario(processing, send)

    assert reason in processing.reasons


def test_no_coverage_reason_is_left_out() -> None:
    assert set(CoverageReason) == set(COVERAGE)


async def test_a_trace_that_comes_after_a_change_and_began_before_it_may_lack_spans(
    wired: tuple[Processing, Send],
) -> None:
    processing, send = wired
    begun = recent(processing, "a", None, 0)
    await processing.after(1)
    processing.processor.membership_changed()
    await send(begun)
    await processing.after(5)

    assert CoverageReason.MEMBERSHIP_CHANGED in processing.reasons
