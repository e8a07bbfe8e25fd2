"""
What `toolscore replay` scores against, built as the running service builds it.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from service.annotations import Columns, UnreadableAnnotations
from service.annotations.annotations_file import CONFIG_PATH, read_annotations_file
from service.app.processing import build_assessor
from service.app.settings import decode_options
from service.config import ToolScoringConfig
from service.config.root_span import root_condition
from service.errors import ConfigError
from service.replay.scoring import ReplayRules, RulesFactory


def rules_factory(block: ToolScoringConfig) -> RulesFactory:
    """
    Makes the rules of *block*, with the annotations of its file as they are now. Raises `ConfigError`.
    """
    return partial(make_rules, block, annotations_of(block))


def make_rules(block: ToolScoringConfig, annotations: Mapping[str, Columns]) -> ReplayRules:
    return ReplayRules(
        assessor=build_assessor(block, annotations),
        condition=root_condition(block.root_span_condition),
        decoding=decode_options(block),
        with_sessions=block.session.enabled,
    )


def annotations_of(block: ToolScoringConfig) -> Mapping[str, Columns]:
    """
    What the `annotations_file` of *block* holds. Raises `ConfigError`.
    """
    if block.annotations_file is None:
        return {}
    try:
        annotations, _ = read_annotations_file(Path(block.annotations_file))
    except UnreadableAnnotations as error:
        raise ConfigError([(CONFIG_PATH, f"{block.annotations_file} {error}")]) from error
    return annotations
