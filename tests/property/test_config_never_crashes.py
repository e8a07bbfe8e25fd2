"""
Whatever stands in a configuration, the answer is a configuration or a `ConfigError`.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.config import (
    Config,
    advice,
    config_from_tree,
    config_schema,
    default_config,
    effective_configuration,
    load_config,
)
from service.config.yaml_reader import UnreadableYaml, Value, read_yaml
from service.errors import ConfigError

SCHEMA = config_schema()


def _keys_below(place: object) -> set[str]:
    if isinstance(place, list):
        return {key for item in place for key in _keys_below(item)}
    if not isinstance(place, dict):
        return set()
    return {*place.get("properties", {}), *(key for inner in place.values() for key in _keys_below(inner))}


KEYS = [
    *sorted(_keys_below(SCHEMA)),
    "otlp",
    "otlp/2",
    "otlp_grpc",
    "otlphttp",
    "console",
    "bearertokenauth",
    "live_page",
]
TEXTS = [
    "5s",
    "0s",
    "localhost:4317",
    "http://c:4318",
    "hold",
    "${env:A}",
    "${env:B}",
    "${file:/dev/null}",
    "otlp",
    "*",
]

keys = st.sampled_from(KEYS) | st.text(max_size=5)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(TEXTS)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
)
trees: st.SearchStrategy[Value] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4), max_leaves=12
)
blocks = st.dictionaries(st.sampled_from(list(SCHEMA["properties"])) | keys, trees, max_size=4)


def _outcome(tree: Mapping[str, Value]) -> Config | ConfigError:
    try:
        return config_from_tree(tree, {"A": "1", "B": "[x"})
    except ConfigError as error:
        return error


def _check(outcome: Config | ConfigError) -> None:
    if isinstance(outcome, ConfigError):
        assert outcome.problems
        assert all(path and message for path, message in outcome.problems)
    else:
        assert effective_configuration(outcome)
        assert all(path and message for path, message in advice(outcome))


@given(blocks)
def test_any_tree_is_a_configuration_or_a_config_error(tree: dict[str, Value]) -> None:
    _check(_outcome(tree))


def _places(tree: Value, location: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    inner: list[tuple[str | int, Value]] = []
    if isinstance(tree, dict):
        inner = list(tree.items())
    elif isinstance(tree, list):
        inner = list(enumerate(tree))
    return [location, *(place for step, value in inner for place in _places(value, (*location, step)))]


def _replaced(tree: Value, location: tuple[str | int, ...], value: Value) -> Value:
    if not location:
        return value
    step, *rest = location
    if isinstance(tree, dict):
        return {key: _replaced(item, tuple(rest), value) if key == step else item for key, item in tree.items()}
    assert isinstance(tree, list)
    return [_replaced(item, tuple(rest), value) if index == step else item for index, item in enumerate(tree)]


FULL = read_yaml((Path(__file__).parent.parent / "data" / "config" / "full.yaml").read_text(encoding="utf-8"))
EFFECTIVE = read_yaml(effective_configuration(default_config()))
GOOD: list[tuple[Value, tuple[str | int, ...]]] = [
    (tree, place) for tree in (FULL, EFFECTIVE) for place in _places(tree) if place
]


@given(st.sampled_from(GOOD), trees)
def test_any_value_at_any_place_of_a_good_configuration_is_answered(
    good: tuple[Value, tuple[str | int, ...]], value: Value
) -> None:
    tree = _replaced(*good, value)
    assert isinstance(tree, dict)

    _check(_outcome(tree))


@given(st.binary(max_size=200) | st.text(st.sampled_from("ab:-[]{}&*!|>'\"%@#?,\n \t\\$"), max_size=40).map(str.encode))
@settings(max_examples=200)
def test_any_file_is_a_configuration_or_a_config_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(content)

    with suppress(ConfigError):
        load_config([path], {})


@given(st.text(max_size=60))
def test_any_text_is_yaml_or_is_refused(text: str) -> None:
    with suppress(UnreadableYaml):
        read_yaml(text)
