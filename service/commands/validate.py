"""
`toolscore validate`: every mistake in a configuration, before anything starts.
"""

import os
from pathlib import Path
from typing import Annotated

import typer

from service.annotations import UnreadableAnnotations
from service.annotations.annotations_file import CONFIG_PATH, read_annotations_file
from service.config import Config, advice, effective_configuration, load_config
from service.errors import ConfigError
from service.scoring.annotations import find_annotation_problems

INVALID = 1

ConfigFiles = Annotated[
    list[Path], typer.Option("--config", "-c", help="Configuration file; repeat it to lay one over another.")
]
Print = Annotated[bool, typer.Option("--print", help="Print the effective configuration, secrets masked.")]


def validate(config: ConfigFiles, *, print_effective: Print = False) -> None:
    """
    Check configuration files: print `path: message` for every mistake and exit non-zero if there is one.
    """
    try:
        loaded = load_config(config, os.environ)
        problems = [*_annotation_problems(loaded), *_file_problems(loaded)]
    except ConfigError as error:
        typer.echo(str(error))
        raise typer.Exit(INVALID) from None
    for path, message in [*advice(loaded), *problems]:
        typer.echo(f"warning: {path}: {message}", err=True)
    if print_effective:
        typer.echo(effective_configuration(loaded), nl=False)


def _annotation_problems(config: Config) -> list[tuple[str, str]]:
    """
    Annotations that will fail their occurrence, and only that (design §7).
    """
    block = config.tool_scoring.tool_selection_accuracy
    problems = find_annotation_problems(block.annotations or {})
    return [(f"processors::tool_scoring::tool_selection_accuracy::{path}", message) for path, message in problems]


def _file_problems(config: Config) -> list[tuple[str, str]]:
    """
    The same of `annotations_file`. Raises `ConfigError` if it holds no annotations at all.
    """
    name = config.tool_scoring.annotations_file
    if name is None:
        return []
    try:
        _, problems = read_annotations_file(Path(name))
    except UnreadableAnnotations as error:
        raise ConfigError([(CONFIG_PATH, f"{name} {error}")]) from error
    return [(f"{CONFIG_PATH}: {path}", message) for path, message in problems]
