"""
Trips planned well and badly, as requests, with what each is worth under the expectation of the shipped configurations.
"""

import secrets
import time
from dataclasses import dataclass, field

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from wire_spans import BASE_NS, agent, tool, trace_request

EXPECTATION = "trip"
ACCURACY, ORDER = "tool_selection_accuracy", "hotel_last"
GOOD = ("search_flights", "get_weather", "book_hotel")
RUNS = {
    "in_order": (GOOD, 1.0, "true"),
    "hotel_first": (("book_hotel", "search_flights", "get_weather"), 1.0, "false"),
    "no_weather": (("search_flights", "book_hotel"), 2 / 3, "false"),
}


@dataclass
class Trips:
    """
    One request for each trace, and each trace's selection accuracy and order verdict.
    """

    requests: list[bytes] = field(default_factory=list)
    worth: dict[bytes, tuple[float, str]] = field(default_factory=dict)

    @property
    def bad(self) -> set[bytes]:
        return {trace_id for trace_id, (score, label) in self.worth.items() if score < 1 or label == "false"}

    @property
    def good(self) -> set[bytes]:
        return set(self.worth) - self.bad


def trips(times: int = 1) -> Trips:
    """
    Every run of `RUNS`, *times* times, begun just now: after the services, which could else not vouch for all of it.
    """
    made = Trips()
    for called, score, label in (run for run in RUNS.values() for _ in range(times)):
        trace_id = secrets.token_bytes(16)
        made.requests.append(trace_request([_now(span) for span in _spans(trace_id, called)], service="trips"))
        made.worth[trace_id] = (score, label)
    return made


def _spans(trace_id: bytes, called: tuple[str, ...]) -> list[bytes]:
    calls = [
        tool(name, name[:8], trace=trace_id, start=10 * place, end=10 * place + 5)
        for place, name in enumerate(called, start=1)
    ]
    return [*calls, agent(trace=trace_id)]


def _now(span: bytes) -> bytes:
    """
    The span at this time, and with a status, as every SDK and Collector writes it.
    """
    moved = Span.FromString(span)
    shift = time.time_ns() // 1_000_000 * 1_000_000 - BASE_NS + 1
    moved.start_time_unix_nano += shift
    moved.end_time_unix_nano += shift
    moved.status.SetInParent()
    return moved.SerializeToString()


def in_halves(request: bytes) -> tuple[bytes, bytes]:
    """
    The first call of a trace in one request, the rest of it, its root included, in another.
    """
    whole = ExportTraceServiceRequest.FromString(request)
    first, second = ExportTraceServiceRequest(), ExportTraceServiceRequest()
    for half in (first, second):
        half.CopyFrom(whole)
    del first.resource_spans[0].scope_spans[0].spans[1:]
    del second.resource_spans[0].scope_spans[0].spans[:1]
    return first.SerializeToString(), second.SerializeToString()
