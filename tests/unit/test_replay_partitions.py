"""
Taking recorded files apart: every trace whole, in one partition, at its place.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from replaying import framed, replayed
from wire_spans import agent, tool, trace_request

from service.config import ToolScoringConfig, config_from_tree
from service.replay.partitions import (
    MAX_PARTITIONS,
    PARTITION_BYTES,
    PartitionFiles,
    partition_count,
    read_batches,
    read_chunks,
    take_apart,
)
from service.replay.replay import run_in_order

TRACES = [bytes([number]) * 16 for number in range(1, 60)]
REQUESTS = [
    *(trace_request([tool("a", trace=trace), tool("b", trace=trace)]) for trace in TRACES),
    *(trace_request([agent(trace=trace)]) for trace in reversed(TRACES)),
]
"""Each trace begins in one half of the file and ends in the other."""


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "traces.pb"
    path.write_bytes(framed(REQUESTS))
    return path


def block() -> ToolScoringConfig:
    selection = {"tool_selection_accuracy": {"expected_tools": ["a", "b"]}}
    return config_from_tree({"processors": {"tool_scoring": selection}}, environ={}).tool_scoring  # type: ignore[dict-item]  # plain values of a test


def test_the_spans_of_a_trace_are_in_one_partition(recording: Path, tmp_path: Path) -> None:
    files = PartitionFiles(tmp_path, 8)
    for batch in read_batches([recording], lambda _: None):
        files.append(take_apart(batch, 8))

    held = [{span.data[2:18] for chunk in read_chunks(path) for span in chunk.spans} for path in files.close()]

    assert len(TRACES) == sum(map(len, held)) == len(set().union(*held))
    assert len(held) > 1


def test_traces_come_back_whole_in_the_order_in_which_they_began(recording: Path) -> None:
    results = replayed(block(), recording)

    assert [trace.hex() for trace in TRACES] == [result.line.occurrence for result in results]
    assert {("root_span", "complete", 1.0)} == {
        (result.line.trigger, result.line.coverage, result.line.score) for result in results
    }


def test_the_number_of_partitions_grows_with_the_input_up_to_a_limit(tmp_path: Path) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    small.write_bytes(b"x")
    with large.open("wb") as file:
        file.truncate(3 * PARTITION_BYTES)

    assert [1, 3, 4] == [
        partition_count([small], 1),
        partition_count([large], 1),
        partition_count([small, large], 1),
    ]
    assert 8 == partition_count([small], 2)
    assert MAX_PARTITIONS == partition_count([large] * 1_000, 2)


def test_work_is_never_far_ahead_of_what_was_taken() -> None:
    """
    A file of any size: without processes nothing is read before it is asked for.
    """
    taken: list[int] = []

    def numbers() -> Iterator[int]:
        for number in range(100):
            taken.append(number)
            yield number

    results = run_in_order(None, str, numbers(), ahead=2)
    assert "0" == next(results)

    assert [0] == taken
