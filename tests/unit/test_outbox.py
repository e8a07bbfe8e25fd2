"""
Packing what leaves into requests.
"""

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from processing import RecordingOutlet
from wire_spans import trace_request, wire_span

from proto_adapters.canonical import Origin
from proto_adapters.split import OriginTable, split_traces
from service.pipeline import SendOutcome, Signal
from service.processor.outbox import Outbox, OutboxSettings, Settlement

ORIGINS = OriginTable()


def origin_and_spans(*labels: str, service: str = "shop") -> tuple[Origin, list[bytes]]:
    ((origin, spans),) = split_traces(
        trace_request([wire_span(label) for label in labels], service=service), ORIGINS
    ).groups
    return origin, spans


def an_outbox(outlet: RecordingOutlet, **settings: int) -> Outbox:
    return Outbox(Signal.TRACES, [outlet], OutboxSettings(**settings))


def span_counts(outlet: RecordingOutlet) -> list[int]:
    return [
        sum(len(scope.spans) for resource in request.resource_spans for scope in resource.scope_spans)
        for request in map(ExportTraceServiceRequest.FromString, outlet.requests)
    ]


def test_spans_of_many_traces_leave_in_one_request() -> None:
    outlet = RecordingOutlet()
    outbox = an_outbox(outlet, max_items=4)
    for label in "abc":
        outbox.add(*origin_and_spans(label), 0)
    assert [] == outlet.requests

    outbox.add(*origin_and_spans("d"), 0)

    assert [4] == span_counts(outlet)
    assert (0, 0) == (outbox.size, outbox.item_count)


def test_the_oldest_span_waits_no_longer_than_the_flush_time() -> None:
    outlet = RecordingOutlet()
    outbox = an_outbox(outlet, flush_after_ns=100)
    outbox.add(*origin_and_spans("a"), 50)
    outbox.add(*origin_and_spans("b"), 140)

    outbox.flush_due(149)
    assert [] == outlet.requests

    outbox.flush_due(150)
    assert [2] == span_counts(outlet)


def test_no_request_is_larger_than_the_limit() -> None:
    outlet = RecordingOutlet()
    outbox = an_outbox(outlet, request_limit_bytes=500, max_bytes=10**6)
    origin, spans = origin_and_spans(*"abcdefghijklmnopqrstuvwxyz")

    outbox.add(origin, spans, 0)
    outbox.flush()

    assert len(spans) == sum(span_counts(outlet))
    assert 500 >= max(map(len, outlet.requests)) > 400


def test_a_full_outlet_keeps_its_requests_here_until_it_has_room() -> None:
    outlet = RecordingOutlet()
    outlet.is_full = True
    outbox = an_outbox(outlet, max_items=1)
    outbox.add(*origin_and_spans("a"), 0)
    assert (False, 1) == (outbox.has_room, outbox.item_count)
    assert outbox.size > 0

    outlet.is_full = False
    outbox.flush_due(0)

    assert (True, [1], 0) == (outbox.has_room, span_counts(outlet), outbox.size)


def test_one_full_outlet_does_not_make_another_receive_twice() -> None:
    open_outlet, full = RecordingOutlet(), RecordingOutlet()
    full.is_full = True
    outbox = Outbox(Signal.TRACES, [open_outlet, full])
    outbox.add(*origin_and_spans("a"), 0)
    outbox.flush()

    full.is_full = False
    outbox.flush_due(0)

    assert ([1], [1]) == (span_counts(open_outlet), span_counts(full))


def a_slow_outlet() -> RecordingOutlet:
    """
    Takes everything and decides nothing, until it is told to.
    """
    outlet = RecordingOutlet()
    outlet.is_slow = True
    return outlet


def test_a_settlement_waits_for_every_request_and_every_outlet() -> None:
    decided: list[bool] = []
    outlets = [a_slow_outlet(), a_slow_outlet()]
    outbox = Outbox(Signal.TRACES, outlets, OutboxSettings(max_items=1))
    settlement = Settlement(decided.append)
    origin, spans = origin_and_spans("a", "b")
    for span in spans:
        outbox.add(origin, [span], 0, settlement)
    settlement.seal()

    for outlet in outlets:
        assert [] == decided
        outlet.decide(SendOutcome.DELIVERED)
        outlet.decide(SendOutcome.REJECTED)

    assert [True] == decided


def test_an_abandoned_request_leaves_its_settlement_undecided() -> None:
    decided: list[bool] = []
    outlet = a_slow_outlet()
    outbox = Outbox(Signal.TRACES, [outlet], OutboxSettings(max_items=1))
    settlement = Settlement(decided.append)
    outbox.add(*origin_and_spans("a"), 0, settlement)
    settlement.seal()

    outlet.decide(SendOutcome.ABANDONED)

    assert [False] == decided


def test_without_an_outlet_items_are_settled_when_they_would_have_left() -> None:
    decided: list[bool] = []
    outbox = Outbox(Signal.TRACES, [])
    settlement = Settlement(decided.append)
    outbox.add(*origin_and_spans("a"), 0, settlement)
    settlement.seal()
    assert [] == decided

    outbox.flush()

    assert [True] == decided


def test_what_no_outlet_took_is_given_up_at_the_end() -> None:
    decided: list[bool] = []
    full = RecordingOutlet()
    full.is_full = True
    outbox = Outbox(Signal.TRACES, [RecordingOutlet(), full])
    settlement = Settlement(decided.append)
    outbox.add(*origin_and_spans("a", "b"), 0, settlement)
    settlement.seal()

    assert (2, [False], 0) == (outbox.abandon(), decided, outbox.size)
    assert 0 == outbox.abandon()
