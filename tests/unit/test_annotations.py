"""
Annotations: how a file and a request body are read, how long they are held, which of two counts.
"""

import json
import os
from pathlib import Path

import pytest
from doubles import ManualClock

from service.annotations import (
    AnnotationsFile,
    HeldAnnotations,
    LiveAnnotations,
    UnreadableAnnotations,
    read_annotation,
    read_annotations,
)
from service.config import ToolScoringConfig, config_from_tree
from service.durations import SECOND
from service.errors import ConfigError
from service.telemetry.otel_recorder import OtelRecorder
from service.telemetry.recorder import NullRecorder

TRACE_ID = "0123456789abcdef" * 2
ONE = {"expected_tools": "a"}


@pytest.mark.parametrize(
    "content",
    [
        f"{TRACE_ID}: {{expected_tools: 'a, b'}}",
        f"{TRACE_ID}:\n  expected_tools: [a, b]\n",
        json.dumps({TRACE_ID.upper(): {"expected_tools": ["a", "b"], "input": "another column"}}),
    ],
    ids=["YAML text", "YAML list", "JSON, id in capitals"],
)
def test_a_file_is_yaml_or_json(content: str) -> None:
    annotations, problems = read_annotations(content.encode())

    assert [] == list(problems)
    assert annotations[TRACE_ID]["expected_tools"] in {"a, b", '["a", "b"]'}


def test_a_malformed_annotation_fails_its_occurrence_only_and_is_told_with_its_path() -> None:
    annotations, problems = read_annotations(
        b"one: {expected_tools: a}\ntwo: {expected_tools: '[1'}\nthree: {expected_tools: 7}\nfour: text\n"
    )

    assert ONE == annotations["one"]
    assert [f"annotations.{name}.expected_tools" for name in ("two", "three", "four")] == [path for path, _ in problems]


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"[1, 2]", "mapping"), (b"a: [", "neither JSON nor YAML"), (b"\xff", "neither"), (b"a: 1\na: 2\n", "twice")],
)
def test_a_file_that_is_no_mapping_is_unreadable(content: bytes, reason: str) -> None:
    with pytest.raises(UnreadableAnnotations, match=reason):
        read_annotations(content)


@pytest.mark.parametrize("body", [b'{"expected_tools": ["a", "b"]}', b'{"expected_tools": "a, b"}'])
def test_a_body_names_the_tools_as_a_list_or_as_text(body: bytes) -> None:
    assert {"expected_tools": '["a", "b"]'} == read_annotation(body)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "not JSON"),
        (b"[]", "JSON object"),
        (b"{}", "expected_tools: should name at least one tool"),
        (b'{"expected_tools": []}', "expected_tools: should name at least one tool"),
        (b'{"expected_tools": [1]}', "expected_tools: should be a list of tool names"),
        (b'{"expected_tools": "[1"}', "expected_tools: should be a JSON array"),
        (b'{"expected_tools": ["a"], "other": 1}', "other: unknown key"),
    ],
)
def test_a_malformed_body_is_refused_with_path_and_reason(body: bytes, reason: str) -> None:
    with pytest.raises(UnreadableAnnotations, match=reason):
        read_annotation(body)


def test_the_oldest_annotations_go_first() -> None:
    held = HeldAnnotations(max_entries=2, ttl_ns=100)
    for number, occurrence in enumerate(["one", "two", "one", "three"]):
        held.put(occurrence, ONE, number)

    assert ["one", "three"] == list(held.occurrences())


def test_annotations_expire() -> None:
    held = HeldAnnotations(max_entries=2, ttl_ns=100)
    held.put("one", ONE, 0)
    held.put("two", ONE, 50)

    assert (None, ONE) == (held.get("one", 100), held.get("two", 100))
    held.expire(100)
    assert 1 == len(held)


def test_annotations_are_bounded_in_size_too() -> None:
    held = HeldAnnotations(max_entries=100, ttl_ns=100, max_bytes=10_000)
    for number in range(100):
        held.put(str(number), {"expected_tools": "x" * 1_000}, 0)

    assert 0 < len(held) < 10
    assert held.get("99", 0)
    assert all(held.delete(occurrence) for occurrence in list(held.occurrences()))
    held.put("big", {"expected_tools": "x" * 9_000}, 0)
    assert 1 == len(held)


class Watched:
    """
    An annotations file with what was told of its changes.
    """

    def __init__(self, path: Path, content: str) -> None:
        self.path = path
        self.recorder = OtelRecorder(ManualClock())
        self.changed: list[str] = []
        self._writes = 0
        self.write(content)
        self.file = AnnotationsFile(path, self.recorder, self.changed.append)

    def write(self, content: str) -> None:
        self.path.write_text(content)
        self._writes += 1
        os.utime(self.path, ns=(self._writes, self._writes))

    def counted(self) -> dict[object, float]:
        return {
            (point.attributes or {})["outcome"]: point.value  # type: ignore[union-attr]
            for resource in self.recorder.collect().resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == "toolscore.reloads"
            for point in metric.data.data_points
        }


async def test_a_changed_file_is_read_again_and_tells_what_changed(tmp_path: Path) -> None:
    watched = Watched(tmp_path / "a.yaml", "one: {expected_tools: a}\ntwo: {expected_tools: a}\n")
    watched.file.load()

    watched.write("one: {expected_tools: b}\ntwo: {expected_tools: a}\nthree: {expected_tools: a}\n")
    await watched.file.reload_if_changed()
    await watched.file.reload_if_changed()

    assert {"one", "three"} == set(watched.changed)
    assert {"success": 1} == watched.counted()
    assert {"expected_tools": "b"} == watched.file.annotations["one"]


async def test_a_broken_file_keeps_the_last_good_one_and_is_counted(tmp_path: Path) -> None:
    watched = Watched(tmp_path / "a.yaml", "one: {expected_tools: a}")
    watched.file.load()

    watched.write("one: {expected_tools: [")
    await watched.file.reload_if_changed()
    assert ({"failure": 1}, []) == (watched.counted(), watched.changed)
    assert ONE == watched.file.annotations["one"]

    watched.path.unlink()
    await watched.file.reload_if_changed()
    assert {"failure": 2} == watched.counted()

    watched.write("one: {expected_tools: c}")
    await watched.file.reload_if_changed()
    assert {"expected_tools": "c"} == watched.file.annotations["one"]


def test_a_file_that_is_broken_at_the_start_ends_it(tmp_path: Path) -> None:
    watched = Watched(tmp_path / "a.yaml", "[")

    with pytest.raises(ConfigError, match=r"annotations_file: a.yaml is neither JSON nor YAML"):
        watched.file.load()


def block(**annotations: object) -> ToolScoringConfig:
    tree = {"processors": {"tool_scoring": annotations}}
    return config_from_tree(tree, environ={}).tool_scoring  # type: ignore[arg-type]  # plain values of a test


def test_what_was_put_stands_before_the_file_until_it_is_taken_back_or_expires(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("one: {expected_tools: of the file}")
    clock = ManualClock()
    settings = block(annotations_file=str(path), annotations_api={"ttl": "10s"})
    annotations = LiveAnnotations(settings, NullRecorder(), clock)
    assert annotations.file is not None
    annotations.file.load()
    told: list[str] = []
    annotations.changed = told.append

    annotations.put("one", ONE)
    assert ONE == annotations["one"]
    assert annotations.delete("one")
    assert {"expected_tools": "of the file"} == annotations["one"]
    assert not annotations.delete("one")

    annotations.put("one", ONE)
    clock.advance(10 * SECOND)
    assert {"expected_tools": "of the file"} == annotations["one"]
    assert ["one"] * 3 == told
    assert ({"one"}, 1, None) == (set(annotations), len(annotations), annotations.get("two"))
