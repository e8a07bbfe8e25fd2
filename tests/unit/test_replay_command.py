"""
`toolscore replay`: what it prints, and how it exits.
"""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from processing import Processing
from replaying import stored
from typer.testing import CliRunner, Result
from wire_spans import agent, tool, trace_request, wire_span

from proto_adapters.otlp_json import traces_to_json
from service.cli import app

KEYS = [
    "partition",
    "occurrence",
    "evaluation",
    "expectation",
    "status",
    "score",
    "label",
    "lower",
    "upper",
    "missing",
    "coverage",
    "reasons",
    "trigger",
    "revision",
    "idempotency_id",
]
CONFIG = """
processors:
  tool_scoring:
    expectations:
      - name: plan
        expected_tools: [a, b]
        conditions: [{condition_type: tools_called_in_order, name: a_first, tools: [a, b]}]
"""
EXPECTATIONS = [
    {
        "name": "plan",
        "expected_tools": ["a", "b"],
        "conditions": [{"condition_type": "tools_called_in_order", "name": "a_first", "tools": ["a", "b"]}],
    }
]
"""The same."""
ONE, TWO, THREE = (bytes([number]) * 16 for number in (1, 2, 3))


def good(trace: bytes) -> list[bytes]:
    return [tool("a", start=0, end=1, trace=trace), tool("b", start=2, end=3, trace=trace), agent(trace=trace)]


def bad(trace: bytes) -> list[bytes]:
    return [tool("b", start=0, end=1, trace=trace), tool("x", start=2, end=3, trace=trace), agent(trace=trace)]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "toolscore.yaml"
    path.write_text(CONFIG)
    return path


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """
    One good and one bad trace, the spans of which come by turns, and one that is neither.
    """
    path = tmp_path / "traces.jsonl"
    turns = zip(good(ONE), bad(TWO), strict=True)
    lines = [traces_to_json(trace_request(turn)) for turn in turns]
    path.write_text("\n".join([*lines, traces_to_json(trace_request([wire_span("db", trace=THREE)]))]))
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["replay", *map(str, arguments)])


def test_json_is_one_line_for_each_evaluation_with_the_stated_keys(recording: Path, config: Path) -> None:
    result = run(recording, "--config", config, "--json")
    lines = [json.loads(line) for line in result.stdout.splitlines()]

    assert 0 == result.exit_code
    assert [KEYS] * 5 == [list(line) for line in lines]
    assert [
        (ONE.hex(), "tool_selection_accuracy", "scored", 1.0, None),
        (ONE.hex(), "a_first", "scored", 1.0, "true"),
        (TWO.hex(), "tool_selection_accuracy", "scored", 0.5, None),
        (TWO.hex(), "a_first", "scored", 0.0, "false"),
        (THREE.hex(), "tool_selection_accuracy", "ineligible", None, None),
    ] == [tuple(line[key] for key in ("occurrence", "evaluation", "status", "score", "label")) for line in lines]
    assert {"root_span"} == {line["trigger"] for line in lines}


def test_the_table_tells_why(recording: Path, config: Path) -> None:
    output = run(recording, "--config", config).stdout

    for text in (ONE.hex()[:12], "a_first", "missing: a", "ineligible", "0.750"):
        assert text in output


def test_expected_tools_can_be_given_without_a_configuration(recording: Path) -> None:
    lines = [json.loads(line) for line in run(recording, "--expect", "x", "--json").stdout.splitlines()]

    assert [0.0, 1.0, None] == [line["score"] for line in lines]


@pytest.mark.parametrize(
    ("options", "status", "told"),
    [
        (["--fail-under", "tool_selection_accuracy=0.75"], 0, ""),
        (["--fail-under", "tool_selection_accuracy=0.9"], 1, "the mean of tool_selection_accuracy is 0.75"),
        (["--fail-under", "a_first=0.6"], 1, "the mean of a_first is 0.5"),
        (["--fail-under", "absent=0"], 1, "absent has no number at all"),
        (["--fail-on", "false"], 1, "a_first is false 1 times"),
        (["--fail-on", "undetermined"], 0, ""),
        (["--fail-on", "ineligible"], 1, "tool_selection_accuracy is ineligible 1 times"),
        (["--fail-on", "undetermined", "--fail-under", "a_first=0.5"], 0, ""),
        (["--fail-on", "maybe"], 2, "maybe should be one of"),
        (["--fail-under", "a_first"], 2, "should be NAME=VALUE"),
        (["--fail-under", "a_first=nan"], 2, "should be NAME=VALUE"),
        (["--jobs", "0"], 2, "--jobs"),
    ],
)
def test_the_exit_status_is_for_ci(options: list[str], status: int, told: str, recording: Path, config: Path) -> None:
    result = run(recording, "--config", config, "--json", *options)

    assert status == result.exit_code
    assert told in result.stderr


def test_what_cannot_be_read_is_told_and_is_no_failed_gate(recording: Path, config: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text("{")
    for arguments in ([broken], [tmp_path / "absent"], [recording, "--config", broken], [recording, "--expect", ""]):
        result = run(*arguments)

        assert 2 == result.exit_code
        assert result.stderr


def test_junit_has_a_case_for_each_result_and_for_each_gate(recording: Path, config: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    gates = ["--fail-on", "false", "--fail-under", "a_first=0.4"]
    run(recording, "--config", config, "--json", "--junit", report, *gates)

    suites = ET.parse(report).getroot()
    cases = {
        (case.get("classname"), case.get("name")): [child.tag for child in case] for case in suites.iter("testcase")
    }

    assert {
        ("tool_selection_accuracy", ONE.hex()): ["system-out"],
        ("a_first", ONE.hex()): ["system-out"],
        ("tool_selection_accuracy", TWO.hex()): ["system-out"],
        ("a_first", TWO.hex()): ["failure"],
        ("tool_selection_accuracy", THREE.hex()): ["skipped"],
        ("gates", "--fail-on false"): ["failure"],
    } == cases
    assert ("6", "2", "0", "1") == tuple(suites.get(key) for key in ("tests", "failures", "errors", "skipped"))


async def test_stored_evidence_prints_every_closing_and_gates_count_the_newest(config: Path, tmp_path: Path) -> None:
    """
    A late span withdrew a false: the run is no longer false, and both closings are told with their revisions.
    """
    processing = Processing(expectations=EXPECTATIONS)
    await processing.send(*bad(ONE))
    await processing.after(5)
    await processing.send(wire_span("late", "agent", trace=ONE))
    await processing.after(5)
    evidence = tmp_path / "evidence.jsonl"
    evidence.write_bytes(b"".join(stored(processing, closing) for closing in processing.closings))

    result = run(evidence, "--config", config, "--json", "--fail-on", "false")
    lines = [json.loads(line) for line in result.stdout.splitlines()]

    assert [("false", 0), ("undetermined", 1)] == [
        (line["label"], line["revision"]) for line in lines if line["evaluation"] == "a_first"
    ]
    assert 0 == result.exit_code
    assert {delivery.idempotency_id for closing in processing.closings for delivery in closing.deliveries} == {
        line["idempotency_id"] for line in lines
    }


async def test_each_evaluation_keeps_the_revision_that_it_was_delivered_with(config: Path, tmp_path: Path) -> None:
    """
    A late annotation revised the selection; the verdict on the order was not delivered again.
    """
    processing = Processing(expectations=EXPECTATIONS)
    await processing.send(*bad(ONE))
    await processing.after(5)
    processing.annotations[ONE.hex()] = {"expected_tools": "b"}
    processing.processor.annotation_changed(ONE.hex())
    await processing.after(5)
    evidence = tmp_path / "evidence.jsonl"
    evidence.write_bytes(stored(processing, processing.last))

    lines = [json.loads(line) for line in run(evidence, "--config", config, "--json").stdout.splitlines()]

    assert {("tool_selection_accuracy", "annotation", 1), ("a_first", "plan", 0)} == {
        (line["evaluation"], line["expectation"], line["revision"]) for line in lines
    }


async def test_stored_evidence_is_scored_against_other_expectations(tmp_path: Path) -> None:
    processing = Processing()
    await processing.send(*bad(ONE))
    await processing.after(5)
    evidence = tmp_path / "evidence.jsonl"
    evidence.write_bytes(stored(processing, processing.last))

    (line,) = (json.loads(line) for line in run(evidence, "--expect", "b,x", "--json").stdout.splitlines())

    assert (1.0, 0) == (line["score"], line["revision"])


async def test_an_edited_document_ends_the_run(tmp_path: Path) -> None:
    processing = Processing()
    await processing.send(*bad(ONE))
    await processing.after(5)
    evidence = tmp_path / "evidence.jsonl"
    evidence.write_bytes(stored(processing, processing.last).replace(b'"x"', b'"a"'))

    result = run(evidence, "--expect", "a,b")

    assert 2 == result.exit_code
    assert f"{evidence}:1: was changed after it was written" in result.stderr
