"""
What is generated from the configuration models is up to date, loads, and is complete.
"""

from pathlib import Path
from typing import Any

import jsonschema
import pytest

from service.conditions import CONDITION_TYPES
from service.config import config_from_tree, config_schema, load_config
from service.config.documentation import DOCS, README_OPTIONS, configuration_page, main, readme_options, stale_files
from service.config.sample import EXAMPLE
from service.config.yaml_reader import read_yaml

DATA = Path(__file__).parent.parent / "data" / "config"


def test_generated_files_are_up_to_date() -> None:
    assert [] == stale_files()
    assert 0 == main(["--check"])


def test_the_sample_loads_as_the_defaults_around_its_example() -> None:
    assert config_from_tree(EXAMPLE, {}) == load_config([DOCS / "toolscore.sample.yaml"], {})


def test_the_sample_and_a_full_configuration_fit_the_json_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(config_schema())
    for path in (DOCS / "toolscore.sample.yaml", DATA / "full.yaml"):
        jsonschema.validate(read_yaml(path.read_text(encoding="utf-8")), config_schema())


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("processors: {tool_scoring: {trce_timeout: 5m}}", id="unknown key"),
        pytest.param("processors: {tool_scoring: {idle_timeout: 5}}", id="duration without unit"),
        pytest.param("exporters: {otlp: {}}", id="missing key"),
        pytest.param("exporters: {kafka: {}}", id="unknown type"),
    ],
)
def test_the_json_schema_refuses_what_the_models_refuse(text: str) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(read_yaml(text), config_schema())


def _undescribed(place: object) -> list[str]:
    """Keys without a description."""
    if isinstance(place, list):
        return [key for item in place for key in _undescribed(item)]
    if not isinstance(place, dict):
        return []
    bare = [key for key, field in place.get("properties", {}).items() if not field.get("description")]
    return bare + [key for inner in place.values() for key in _undescribed(inner)]


def test_every_key_but_the_name_of_a_condition_type_has_a_description() -> None:
    assert {"condition_type"} == set(_undescribed(config_schema()))


def test_every_component_and_condition_type_is_on_the_page() -> None:
    headings = [line for line in configuration_page().splitlines() if line.startswith("#")]

    for block in ("receivers", "exporters", "extensions"):
        for pattern in config_schema()["properties"][block]["patternProperties"]:
            name = pattern.removeprefix("^").removesuffix("(/[^/]+)?$")
            assert any(name in heading for heading in headings), name
    assert all(f"### condition_type: {name}" in headings for name in CONDITION_TYPES)


def test_the_readme_table_has_every_option_it_promises() -> None:
    assert [f"| `{key}` |" for key in README_OPTIONS] == [
        line[: line.index("|", 1) + 1] for line in readme_options().splitlines()[2:]
    ]


@pytest.mark.parametrize(
    "block",
    [
        pytest.param({}, id="all defaults"),
        pytest.param({"annotations": None, "expected_tools": None}, id="nulls"),
        pytest.param(
            {
                "metric_name": "tool_selection_accuracy",
                "expected_tools": ["get_weather", "get_time"],
                "annotations": {"0af7651916cd43dd8448eb211c80319c": {"expected_tools": '["get_weather"]'}},
                "treat_no_calls_as_zero": True,
            },
            id="all keys",
        ),
    ],
)
def test_the_metrics_own_configuration_block_is_accepted_verbatim(block: dict[str, Any]) -> None:
    config = config_from_tree({"processors": {"tool_scoring": {"tool_selection_accuracy": block}}}, {})

    accepted = config.tool_scoring.tool_selection_accuracy.model_dump(by_alias=True, mode="json")
    defaults = {
        "metric_name": "tool_selection_accuracy",
        "expected_tools": None,
        "annotations": None,
        "treat_no_calls_as_zero": False,
    }
    assert {**defaults, **block} == accepted
