"""
The demo agent's runs: the recorded ones, with new ids, ending now.
"""

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from wire_spans import agent, tool, trace_request

from deploy.demo_agent.agent import read_run, renewed, spans
from service.app.demo import RECORDINGS

NOW_NS = 1_900_000_000_000_000_000
FILES = sorted(RECORDINGS.glob("*.jsonl.gz"))
Run = list[ExportTraceServiceRequest]


@pytest.fixture(params=FILES, ids=lambda file: file.name.split(".")[0])
def recorded_run(request: pytest.FixtureRequest) -> Run:
    return read_run(request.param)


def shape(run: Run) -> list[tuple[str, int | None, int]]:
    """
    Each span's name, the place of its parent, and its length.
    """
    places = {span.span_id: place for place, span in enumerate(spans(run))}
    return [
        (span.name, places.get(span.parent_span_id), max(span.end_time_unix_nano - span.start_time_unix_nano, 0))
        for span in spans(run)
    ]


def test_a_replayed_run_is_the_recorded_one(recorded_run: Run) -> None:
    assert shape(recorded_run) == shape(renewed(recorded_run, NOW_NS))


def test_a_replayed_run_has_ids_of_its_own(recorded_run: Run) -> None:
    first, second = renewed(recorded_run, NOW_NS), renewed(recorded_run, NOW_NS)

    ids = [{span.trace_id for span in spans(run)} for run in (recorded_run, first, second)]
    assert set.intersection(ids[0], ids[1]) == set.intersection(ids[1], ids[2]) == set()
    assert len(ids[0]) == len(ids[1])


def test_a_replayed_run_ends_now(recorded_run: Run) -> None:
    run = renewed(recorded_run, NOW_NS)

    assert NOW_NS == max(max(span.start_time_unix_nano, span.end_time_unix_nano) for span in spans(run))


def test_a_span_that_never_ended_has_no_end_after_all() -> None:
    run = [ExportTraceServiceRequest.FromString(trace_request([tool("a", end=None), agent()]))]

    assert [False, True] == [bool(span.end_time_unix_nano) for span in spans(renewed(run, NOW_NS))]
