"""
References to the environment and to files are replaced once, and never leak what they refer to.
"""

from pathlib import Path

import pytest

from service.config.expansion import Expansion
from service.config.yaml_reader import Value

ENVIRON = {"PORT": "4317", "HOST": "collector", "EMPTY": "", "LIST": "[a, b]", "NESTED": "${env:HOST}", "BROKEN": "[x"}


def _expand(value: Value) -> Value:
    expansion = Expansion(ENVIRON)
    expanded = expansion.expand(value)
    assert expansion.problems == []
    return expanded


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("${env:PORT}", 4317, id="alone it is parsed as YAML"),
        pytest.param("${env:LIST}", ["a", "b"], id="alone it may be a list"),
        pytest.param("${env:HOST}:${env:PORT}", "collector:4317", id="within text it is text"),
        pytest.param("${env:MISSING:-5}", 5, id="default"),
        pytest.param("${env:MISSING:-}", None, id="empty default"),
        pytest.param("${env:HOST:-other}", "collector", id="default not needed"),
        pytest.param("${env:EMPTY:-other}", None, id="set but empty is set"),
        pytest.param("x${env:EMPTY}y", "xy", id="empty within text"),
        pytest.param("$$", "$", id="dollar"),
        pytest.param("$${env:HOST}", "${env:HOST}", id="escaped reference"),
        pytest.param("price: 5$", "price: 5$", id="dollar without braces"),
        pytest.param("${env:NESTED}", "${env:HOST}", id="what comes in is not expanded again"),
    ],
)
def test_references_are_replaced(text: str, expected: Value) -> None:
    assert expected == _expand(text)


def test_references_are_replaced_at_any_depth_but_not_in_keys() -> None:
    assert {"${env:HOST}": [{"a": "collector"}]} == _expand({"${env:HOST}": [{"a": "${env:HOST}"}]})


def test_a_file_is_parsed_as_yaml_without_its_last_line_break(tmp_path: Path) -> None:
    (tmp_path / "block.yaml").write_text("limit_mib: 512\n", encoding="utf-8")

    assert {"limit_mib": 512} == _expand(f"${{file:{tmp_path}/block.yaml}}")
    assert "Bearer limit_mib: 512" == _expand(f"Bearer ${{file:{tmp_path}/block.yaml}}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            "${env:MISSING}", "the environment variable MISSING is not set and there is no :-default", id="unset"
        ),
        pytest.param(
            "a${env:MISSING}", "the environment variable MISSING is not set and there is no :-default", id="within"
        ),
        pytest.param(
            "${env:1A}", "the name of an environment variable has letters, digits and underscores only", id="name"
        ),
        pytest.param(
            "${HOST}",
            "should be ${env:NAME}, ${env:NAME:-default} or ${file:path}; a dollar sign is written $$",
            id="no scheme",
        ),
        pytest.param(
            "${http:x}",
            "should be ${env:NAME}, ${env:NAME:-default} or ${file:path}; a dollar sign is written $$",
            id="unknown scheme",
        ),
        pytest.param(
            "${env:HOST",
            "${ without its }, or a reference inside a reference; a dollar sign is written $$",
            id="not closed",
        ),
        pytest.param("${file:/nonexistent/x}", "cannot read the file: No such file or directory", id="no file"),
        pytest.param("${file:/}", "cannot read the file: Is a directory", id="folder"),
        pytest.param("${file:\x00}", "cannot read the file: embedded null byte", id="NUL in the path"),
        pytest.param(
            "${env:BROKEN}",
            "line 1, column 3: expected ',' or ']', but got '<stream end>'",
            id="not YAML, and not quoted",
        ),
    ],
)
def test_a_reference_that_cannot_be_replaced_is_told_with_its_place(text: str, message: str) -> None:
    expansion = Expansion(ENVIRON)
    expansion.expand({"a": [text]})

    assert [(("a", 0), message)] == expansion.problems


def test_an_environment_that_is_not_utf_8_is_refused() -> None:
    expansion = Expansion({"RAW": "\udcff"})
    expansion.expand("x${env:RAW}")

    assert [((), "the environment variable RAW is not UTF-8 text")] == expansion.problems
