"""
The harness itself: what two real Collectors in a row deliver is what was sent, so any difference that a test with the
service between them finds is the service's.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from conservation import assert_conserved, span_bag
from e2e.agent_runs import record_runs
from e2e.collectors import Collector, filing_collector, forwarding_collector
from e2e.peers import PeerFailed, running
from e2e.sending import send_over_grpc, send_over_http
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from recorded import BUNDLES, recordings


def every_recorded_request() -> list[bytes]:
    return [request for bundle in BUNDLES for found in recordings(bundle) for request in found.requests]


def test_two_collectors_deliver_every_span_of_the_sdk_unchanged(tmp_path: Path) -> None:
    with filing_collector(tmp_path / "b") as last:
        with forwarding_collector(tmp_path / "a", last.grpc) as first:
            sent = record_runs(OTLPSpanExporter(endpoint=first.grpc, insecure=True), times=20)
        delivered = last

    assert_conserved(sent.requests, delivered.written("traces"))


@pytest.mark.parametrize(
    ("send", "address"),
    [
        pytest.param(send_over_grpc, lambda collector: collector.grpc, id="grpc"),
        pytest.param(send_over_http, lambda collector: collector.http, id="http"),
    ],
)
def test_two_collectors_deliver_recordings_of_real_agents_unchanged(
    send: Callable[[str, Iterable[bytes]], None], address: Callable[[Collector], str], tmp_path: Path
) -> None:
    requests = every_recorded_request()

    with filing_collector(tmp_path / "b") as last, forwarding_collector(tmp_path / "a", last.grpc) as first:
        send(address(first), requests)

    assert_conserved(requests, last.written("traces"))


def test_a_lost_doubled_or_changed_span_is_noticed() -> None:
    requests = record_runs(InMemorySpanExporter()).requests
    changed = [request.replace(b"lookup_order", b"lookup_Order") for request in requests]

    for received in ([], requests * 2, changed):
        with pytest.raises(AssertionError):
            assert_conserved(requests, received)
    assert 0 < span_bag(requests).total()


def test_a_program_that_does_not_become_ready_is_reported_with_its_log(tmp_path: Path) -> None:
    command = ["sh", "-c", "echo no configuration; exit 3"]

    with (
        pytest.raises(PeerFailed, match="no configuration"),
        running(command, tmp_path / "log", ready="http://127.0.0.1:1/"),
    ):
        pass
