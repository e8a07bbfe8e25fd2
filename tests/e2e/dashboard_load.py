"""
A load after which every panel of the dashboards has something to show, and what it is worth.

`whole_round` goes to a service that is well; its numbers are known. The others go to services that lack room, or a next
hop that takes what they send.
"""

import json
import secrets
import urllib.request
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

import grpc
from e2e.agent_runs import AGENT, REQUIRED, record_runs
from e2e.downstream import PARTLY, PUT_OFF, REFUSED
from e2e.peers import wait_until
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from otlp_requests import log_request, metric_request
from prometheus_client.parser import text_string_to_metric_families
from wire_spans import agent, chat, tool, trace_request, wire_span

from service.pipeline import Signal
from service.receiver.otlp_grpc import SERVICES

TIMES = 3
PLANNER_TOOLS = ("find", "book")
ORDER, PLANNER_ORDER, NO_MAIL = "lookup_before_refund", "find_before_book", "no_mail"
SESSION = "gen_ai.conversation.id"
SCORING = {
    "decision_delay": "300ms",
    "idle_timeout": "1s",
    "trace_timeout": "20s",
    "early_verdicts": True,
    "session": {"enabled": True, "idle_timeout": "2s"},
    "membership": {"hostname": "localhost", "interval": "1s"},
    "expectations": [
        {
            "name": "refund",
            "match": {"agent_name": AGENT},
            "expected_tools": list(REQUIRED),
            "conditions": [
                {"condition_type": "tools_called_in_order", "name": ORDER, "tools": list(REQUIRED)},
                {"condition_type": "tools_not_called", "name": NO_MAIL, "tools": ["send_mail"]},
            ],
        },
        {
            "name": "trip",
            "match": {"agent_name": "planner", "service_name": "trips"},
            "expected_tools": list(PLANNER_TOOLS),
            "conditions": [
                {"condition_type": "tools_called_in_order", "name": PLANNER_ORDER, "tools": list(PLANNER_TOOLS)}
            ],
        },
        {"name": "trips", "partition": "session", "match": {}, "expected_tools": list(PLANNER_TOOLS)},
    ],
}
TEXT_AND_CALL = json.dumps(
    [{"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "find", "arguments": {}}]}]
)


@dataclass(frozen=True)
class Sender:
    """
    Sends requests of any signal to one service; `http` is its other listener.
    """

    channel: grpc.Channel
    http: str
    metrics: str
    taken: list[bytes] = field(default_factory=list)
    """The trace requests that were sent and taken."""

    def wait_until_nothing_is_open(self) -> None:
        """
        Until every trace was closed, for good or for the time being.
        """
        is_over = wait_until(lambda: value_of(self.metrics, "toolscore_processor_traces_active") == 0, within_s=30)
        assert is_over, "traces stay open"

    def send(self, request: bytes, signal: Signal = Signal.TRACES) -> None:
        export = self.channel.unary_unary(
            f"/{SERVICES[signal]}/Export", request_serializer=None, response_deserializer=None
        )
        export(request, timeout=30, wait_for_ready=True)
        if signal is Signal.TRACES:
            self.taken.append(request)

    def spans(self, *spans: bytes, service: str = "trips") -> None:
        self.send(trace_request(spans, service=service))

    def must_fail(self, request: bytes) -> None:
        try:
            self.send(request)
        except grpc.RpcError:
            return
        raise AssertionError("a bad request was taken")

    def annotate(self, occurrence: str, tools: Iterable[str], *, method: str = "PUT") -> None:
        body = json.dumps({"expected_tools": list(tools)}).encode()
        address = f"http://{self.http}/v1/annotations/{occurrence}"
        headers = {"Content-Type": "application/json"}
        with urllib.request.urlopen(
            urllib.request.Request(address, data=body, headers=headers, method=method), timeout=10
        ):
            pass


def value_of(metrics: str, name: str) -> float:
    """
    The sum of the series of a metric, as a service shows it at this moment.
    """
    with urllib.request.urlopen(f"http://{metrics}/metrics", timeout=10) as response:
        families = text_string_to_metric_families(response.read().decode())
    return sum(sample.value for family in families for sample in family.samples if sample.name == name)


def a_trace() -> bytes:
    return secrets.token_bytes(16)


def whole_round(sender: Sender) -> None:
    """
    One round of everything that a healthy service meets.
    """
    for request in record_runs(InMemorySpanExporter(), times=TIMES).requests:
        sender.send(request)
    for step in (unusual_traces, other_signals, bad_requests):
        step(sender)
    late_and_again(sender)


def unusual_traces(sender: Sender) -> None:
    completion, stranger, session = a_trace(), a_trace(), a_trace()
    sender.spans(chat(trace=completion, messages=TEXT_AND_CALL), agent(trace=completion))
    sender.spans(tool("find", trace=stranger), agent(trace=stranger, attributes={"gen_ai.agent.name": "stranger"}))
    sender.spans(
        tool("find", trace=session, start=10, end=20),
        tool("book", trace=session, start=30, end=40),
        agent(trace=session, attributes={SESSION: session.hex()}),
    )
    problems = a_trace()
    sender.spans(
        wire_span("nameless", "agent", trace=problems, attributes={"gen_ai.operation.name": "execute_tool"}),
        wire_span("strange", "agent", trace=problems, attributes={"gen_ai.unheard_of": "x"}),
        agent(trace=problems, attributes={"toolscore.coverage": "complete"}),
    )


def other_signals(sender: Sender) -> None:
    sender.send(log_request("one", "two"), Signal.LOGS)
    sender.send(metric_request("one", points=3), Signal.METRICS)
    sender.annotate(a_trace().hex(), ["find"])


def bad_requests(sender: Sender) -> None:
    sender.must_fail(b"\xff\xff\xff")
    sender.send(trace_request([wire_span("bad", trace=b"\x00" * 16)]))


def late_and_again(sender: Sender) -> None:
    """
    A trace whose second tool comes late, a copy of it, and a trace that goes on after it was given up.
    """
    late, slow = a_trace(), a_trace()
    first = trace_request([tool("find", trace=late, start=10, end=20), agent(trace=late)], service="trips")
    sender.send(first)
    sender.send(first)
    sender.spans(tool("find", trace=slow, start=10, end=20))
    sender.wait_until_nothing_is_open()
    sender.spans(tool("book", trace=late, start=30, end=40))
    sender.spans(tool("book", trace=slow, start=30, end=40), agent(trace=slow))


def crowd(sender: Sender) -> None:
    """
    More traces, more spans and more bytes than a small buffer holds.
    """
    for number in range(12):
        trace = a_trace()
        sender.spans(wire_span(f"big{number}", "agent", trace=trace, attributes={"padding": "x" * 100_000}))
    many = a_trace()
    sender.spans(*(tool("find", f"t{number}", trace=many) for number in range(30)))


def unwanted(sender: Sender) -> None:
    """
    Spans that the next hop puts off, rejects one by one, and refuses.
    """
    for name in (PUT_OFF, PARTLY, REFUSED):
        trace = a_trace()
        sender.spans(tool("find", trace=trace), agent(trace=trace, name=name))


def into_the_void(sender: Sender) -> None:
    """
    All three signals to a service whose next hop is dead and whose queue is short.
    """
    for _ in range(30):
        padded = wire_span("lost", trace=a_trace(), attributes={"padding": "x" * 100_000})
        for payload, signal in (
            (trace_request([padded]), Signal.TRACES),
            (log_request("lost"), Signal.LOGS),
            (metric_request("lost"), Signal.METRICS),
        ):
            with suppress(grpc.RpcError):
                sender.send(payload, signal)
