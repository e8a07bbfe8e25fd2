"""
`toolscore expectations test`: which entry of the expectations each trace gets, and why.
"""

import json
from pathlib import Path

import pytest
from replaying import framed
from typer.testing import CliRunner, Result
from wire_spans import agent, tool, trace_request, wire_span

from service.cli import app

CONFIG = """
processors:
  tool_scoring:
    tool_selection_accuracy: {annotations: {"%s": {expected_tools: "[1"}}}
    expectations:
      - {name: sessions, partition: session, expected_tools: [z]}
      - {name: other_shop, match: {service_name: [store, bazaar*]}, expected_tools: [z]}
      - {name: tenant, match: {attributes: {tenant: acme}}, expected_tools: [z]}
      - {name: planner, match: {agent_name: plan*}, conditions: [{condition_type: tools_called, tools: [a]}]}
"""
ONE, TWO, THREE, FOUR = (bytes([number]) * 16 for number in (1, 2, 3, 4))


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """
    Traces of the planner, without a root, of no agent, and annotated with something else than names.
    """
    path = tmp_path / "traces.pb"
    spans = [tool("a", trace=ONE), agent(trace=ONE), tool("a", trace=TWO, parent="gone"), wire_span("db", trace=THREE)]
    path.write_bytes(framed([trace_request([*spans, tool("a", trace=FOUR), agent(trace=FOUR)])]))
    return path


def run(recording: Path, *options: str) -> Result:
    config = recording.with_suffix(".yaml")
    config.write_text(CONFIG % FOUR.hex())
    return CliRunner().invoke(app, ["expectations", "test", str(recording), "--config", str(config), *options])


def test_each_trace_tells_what_decided_and_why_nothing_before_did(recording: Path) -> None:
    first, second, third, fourth = (json.loads(line) for line in run(recording, "--json").stdout.splitlines())

    assert [
        ("sessions", "other_partition", "it is for another partition"),
        ("other_shop", "differs", "service_name is shop, it wants store or bazaar*"),
        ("tenant", "differs", "attributes.tenant is absent, it wants acme"),
        ("planner", "fits", "everything it asks for fits"),
    ] == [(entry["name"], entry["fit"], entry["why"]) for entry in first["entries"]]
    assert ("planner", "policy", None, ["tools_called"]) == (
        first["expectation"],
        first["expected_source"],
        first["expected_tools"],
        first["conditions"],
    )
    assert ("tenant", "waits_for_root") == (second["entries"][-1]["name"], second["entries"][-1]["fit"])
    assert not third["is_eligible"]
    assert ("annotation", "annotation_invalid") == (fourth["expected_source"], fourth["failure"])


def test_the_tree_says_it_in_words(recording: Path) -> None:
    output = " ".join(run(recording).stdout.split())

    for text in (
        "planner (policy): conditions tools_called",
        "tenant waits: it reads the root",
        "nothing is expected of it",
        "no TOOL and no LLM span: it is not scored",
        "annotation: annotation_invalid",
    ):
        assert text in output


def test_a_trace_of_which_nothing_is_expected_can_fail_the_run(recording: Path) -> None:
    assert 0 == run(recording).exit_code

    result = run(recording, "--fail-unresolved")

    assert 1 == result.exit_code
    assert "nothing is expected of 1 traces" in result.stderr


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text("{")

    result = run(broken)

    assert (2, True) == (result.exit_code, "broken.jsonl:1" in result.stderr)
