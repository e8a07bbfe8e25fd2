"""
From files and an environment to a `Config`, or to every mistake in them at once.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from service.config.expansion import Expansion, Location, read_text
from service.config.named_files import missing_files
from service.config.problems import Problem, path_text, problems_of
from service.config.references import mistakes, undefined_names
from service.config.root import Config
from service.config.yaml_reader import Value, read_yaml
from service.errors import ConfigError


def default_config() -> Config:
    """
    What runs without any configuration.
    """
    return Config()


def load_config(paths: Sequence[Path], environ: Mapping[str, str]) -> Config:
    """
    The configuration of *paths*, merged in order: blocks key by key, lists and values as a whole.

    Raises `ConfigError` and nothing else.
    """
    tree: dict[str, Value] = {}
    for path in paths:
        tree = merged(tree, _read_file(path))
    return config_from_tree(tree, environ)


def config_from_tree(tree: Mapping[str, Value], environ: Mapping[str, str]) -> Config:
    """
    The configuration that a tree of plain values describes. Raises `ConfigError`.
    """
    expansion = Expansion(environ)
    expanded = expansion.expand(dict(tree))
    unreplaced = [(path_text(location), message) for location, message in expansion.problems]
    try:
        config = _validated(expanded, expansion.texts)
    except ConfigError as error:
        wrong = _not_at(error.problems, [path for path, _ in unreplaced])
        undefined = undefined_names(expanded) if isinstance(expanded, dict) else []
        raise ConfigError([*unreplaced, *wrong, *undefined]) from None
    problems = [*unreplaced, *_not_at([*mistakes(config), *missing_files(config)], [path for path, _ in unreplaced])]
    if problems:
        raise ConfigError(problems)
    return config


def _not_at(problems: Iterable[Problem], places: Sequence[str]) -> list[Problem]:
    """
    Without what is only said because nothing stands at *places*, where a reference could not be replaced.
    """
    return [problem for problem in problems if not any(f"{place}::".startswith(f"{problem[0]}::") for place in places)]


def _read_file(path: Path) -> dict[str, Value]:
    try:
        tree = read_yaml(read_text(path))
    except OSError as error:
        raise ConfigError([(str(path), error.strerror or "cannot be read")]) from None
    except ValueError as error:
        raise ConfigError([(str(path), str(error))]) from None
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise ConfigError([(str(path), "should be a block of keys: receivers, processors, exporters …")])
    return tree


def merged(base: Mapping[str, Value], over: Mapping[str, Value]) -> dict[str, Value]:
    """
    *base* with what *over* says instead: blocks key by key, lists and values as a whole.
    """
    result = dict(base)
    for key, value in over.items():
        below = result.get(key)
        result[key] = merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return result


def _validated(tree: Value, texts: Mapping[Location, str]) -> Config:
    try:
        return Config.model_validate(tree)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False)
    as_text = {error["loc"] for error in errors if error["type"] == "string_type"} & texts.keys()
    if not as_text:
        raise ConfigError(problems_of(errors, tree, config_schema()))
    for location in as_text:
        tree = _with_text(tree, location, texts[location])
    return _validated(tree, {})


def _with_text(tree: Value, location: Location, text: str) -> Value:
    """
    *tree* with the unparsed text at *location*, where a string is needed: a token `0123` is not a number.
    """
    if not location:
        return text
    step, *rest = location
    if isinstance(tree, dict) and isinstance(step, str):
        return {**tree, step: _with_text(tree[step], tuple(rest), text)}
    if isinstance(tree, list) and isinstance(step, int):
        return [*tree[:step], _with_text(tree[step], tuple(rest), text), *tree[step + 1 :]]
    return tree


@cache
def config_schema() -> dict[str, Any]:
    """
    JSON Schema of the configuration file.
    """
    return Config.model_json_schema()
