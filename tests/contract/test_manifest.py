"""
The manifest equals the published one, and the configuration block is the one it describes.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from service.config.tool_selection_accuracy import ToolSelectionAccuracyConfig
from service.manifest import manifest, manifest_text
from service.scoring.selection import METRIC_TYPE, METRIC_VERSION

PUBLISHED: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "data/tool_selection_accuracy.manifest.json").read_text(encoding="utf-8")
)
SCHEMA = PUBLISHED["config_schema"]


def test_the_manifest_has_the_published_fields_and_values() -> None:
    assert PUBLISHED == manifest()
    assert PUBLISHED == yaml.safe_load(manifest_text())


def test_the_score_is_of_the_published_version() -> None:
    assert (PUBLISHED["version"], PUBLISHED["name"]) == (METRIC_VERSION, f"agent.{METRIC_TYPE}")


def test_the_block_has_the_published_keys_and_defaults() -> None:
    fields = ToolSelectionAccuracyConfig.model_fields

    assert {name: field["default"] for name, field in SCHEMA["properties"].items()} == {
        name: field.default for name, field in fields.items()
    }


BLOCKS: list[dict[str, object]] = [
    {},
    {"metric_name": "tool_selection_accuracy", "expected_tools": None, "annotations": None},
    {"expected_tools": ["get_weather", "get_time"], "treat_no_calls_as_zero": True},
    {"annotations": {"0af7651916cd43dd8448eb211c80319c": {"expected_tools": '["a"]', "another_column": "x"}}},
    {"annotations": {"session-1": {"expected_tools": "not even [valid"}}, "expected_tools": ["a"]},
]


@pytest.mark.parametrize("block", BLOCKS, ids=map(str, range(len(BLOCKS))))
def test_a_block_of_the_published_schema_is_accepted_verbatim(block: dict[str, object]) -> None:
    accepted = ToolSelectionAccuracyConfig.model_validate(block)

    assert block.items() <= json.loads(accepted.model_dump_json()).items()


MISTAKES: dict[str, dict[str, object]] = {
    "unknown key": {"expected_tool": ["a"]},
    "empty list": {"expected_tools": []},
    "blank name": {"expected_tools": ["a", " "]},
    "one string": {"expected_tools": "a"},
    "annotation that is no text": {"annotations": {"s": {"expected_tools": ["a"]}}},
    "annotation without columns": {"annotations": {"s": "a"}},
    "text for a switch": {"treat_no_calls_as_zero": "true"},
    "name that no attribute key can hold": {"metric_name": "Tool Selection"},
}


@pytest.mark.parametrize("block", MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_in_the_block_is_refused(block: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ToolSelectionAccuracyConfig.model_validate(block)
