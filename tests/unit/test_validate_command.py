"""
`toolscore validate` tells every mistake, and nothing when there is none.
"""

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from service.commands.validate import validate

APP = typer.Typer()
APP.command()(validate)


@pytest.fixture
def config_file(tmp_path: Path) -> Path:
    return tmp_path / "toolscore.yaml"


def test_a_good_configuration_exits_zero_without_a_word(config_file: Path) -> None:
    config_file.write_text("processors: {tool_scoring: {mode: hold}}", encoding="utf-8")

    result = CliRunner().invoke(APP, ["--config", str(config_file)])

    assert (0, "") == (result.exit_code, result.output)


def test_each_mistake_is_one_line_and_the_exit_status_is_not_zero(config_file: Path) -> None:
    config_file.write_text("processors: {tool_scoring: {mode: x, trce_timeout: 1s}}", encoding="utf-8")

    result = CliRunner().invoke(APP, ["--config", str(config_file)])

    assert 1 == result.exit_code
    assert [
        "processors::tool_scoring::mode: should be 'hold' or 'pass_through'",
        "processors::tool_scoring::trce_timeout: unknown key; did you mean trace_timeout?",
    ] == result.stdout.splitlines()


def test_advice_and_broken_annotations_are_warnings(config_file: Path) -> None:
    config_file.write_text(
        "receivers: {otlp: {protocols: {grpc: {endpoint: '0.0.0.0:4317'}}}}\n"
        "processors: {tool_scoring: {tool_selection_accuracy: {annotations: {abc: {expected_tools: '[1'}}}}}",
        encoding="utf-8",
    )

    result = CliRunner().invoke(APP, ["--config", str(config_file)])

    assert 0 == result.exit_code
    assert 2 == result.stderr.count("warning: ")
    assert "annotations.abc.expected_tools: should be a JSON array of tool names" in result.stderr


def test_the_effective_configuration_is_printed_with_secrets_masked(config_file: Path) -> None:
    config_file.write_text("extensions: {bearertokenauth: {token: '${env:TOKEN}'}}", encoding="utf-8")

    result = CliRunner().invoke(APP, ["--config", str(config_file), "--print"], env={"TOKEN": "s3cret"})

    assert 0 == result.exit_code
    assert "trace_timeout: 5m" in result.stdout
    assert "s3cret" not in result.output


def test_the_annotations_file_is_checked_too(config_file: Path) -> None:
    annotations = config_file.with_name("annotations.yaml")
    config_file.write_text(f"processors: {{tool_scoring: {{annotations_file: '{annotations}'}}}}", encoding="utf-8")

    annotations.write_text("abc: {expected_tools: '[1'}")
    warned = CliRunner().invoke(APP, ["--config", str(config_file)])
    annotations.write_text("[")
    refused = CliRunner().invoke(APP, ["--config", str(config_file)])

    assert 0 == warned.exit_code
    assert "annotations_file: annotations.abc.expected_tools: should be a JSON array" in warned.stderr
    assert 1 == refused.exit_code
    assert "is neither JSON nor YAML" in refused.stdout
