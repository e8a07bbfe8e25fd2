"""
The main job, end to end: load into a real Collector, the service, a second real Collector, files.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from conservation import span_bag
from e2e.collectors import Collector, filing_collector, forwarding_collector
from e2e.delivered import log_records
from e2e.peers import wait_until
from e2e.service_process import Settings, toolscore

DELIVERED_WITHIN_S = 60


def pass_load(
    directory: Path, tool_scoring: Settings, send: Callable[[str], Sequence[bytes]], *, events: int = 0
) -> Collector:
    """
    Let *send* give a load to the first Collector and return it as requests; wait until as many different spans, and as
    many *events*, are there at the other end; stop everything in the order of the path. What the last Collector wrote
    is then complete.
    """
    with (
        filing_collector(directory / "b") as last,
        toolscore(directory / "toolscore", last.grpc, tool_scoring) as service,
        forwarding_collector(directory / "a", service.grpc) as first,
    ):
        spans = len(span_bag(send(first.grpc)))
        wait_until(lambda: _has_arrived(last, spans, events), within_s=DELIVERED_WITHIN_S)
    return last


def _has_arrived(last: Collector, spans: int, events: int) -> bool:
    is_all_there = len(span_bag(last.written("traces"))) >= spans
    return is_all_there and sum(1 for _ in log_records(last.written("logs"))) >= events
