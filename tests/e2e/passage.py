"""
The main job, end to end: load into a real Collector, the service, a second real Collector, files.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from conservation import span_bag
from e2e.collectors import Collector, filing_collector, forwarding_collector
from e2e.peers import wait_until
from e2e.service_process import Settings, toolscore

DELIVERED_WITHIN_S = 60


def pass_load(directory: Path, tool_scoring: Settings, send: Callable[[str], Sequence[bytes]]) -> Collector:
    """
    Let *send* give a load to the first Collector and return it as requests; wait until as many different spans are
    there at the other end, and stop everything in the order of the path. What the last Collector wrote is complete.
    """
    with (
        filing_collector(directory / "b") as last,
        toolscore(directory / "toolscore", last.grpc, tool_scoring) as service,
        forwarding_collector(directory / "a", service.grpc) as first,
    ):
        expected = len(span_bag(send(first.grpc)))
        wait_until(lambda: len(span_bag(last.written("traces"))) >= expected, within_s=DELIVERED_WITHIN_S)
    return last
