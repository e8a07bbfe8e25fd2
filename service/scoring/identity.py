"""
Identifiers of evaluations: equal identifiers mean equal questions.

Pure. A hash over everything that the answer depends on beside the evidence: type, fields, their order, the tolerance
in use, the versions of the rules and the settings.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from proto_adapters.tool_names import NAME_RULE_VERSION
from service.conditions import (
    CONDITION_VERSION,
    Condition,
    ToolsCalledInOrder,
    ToolsCalledInPartialOrder,
    walk,
)
from service.scoring.expectations import Resolution
from service.scoring.order_leaves import tolerance_of
from service.scoring.settings import ScoringSettings

DIGEST_LENGTH = 32
MEMO_SIZE = 1_024
"""Questions come from configuration; a reload adds a few."""


class Question(NamedTuple):
    """
    What a metric asks of one occurrence, as far as configuration says so.
    """

    metric: str
    version: str
    expected: tuple[str, ...] | None
    treat_no_calls_as_zero: bool
    tolerance_ns: int | None


def condition_identifier(condition: Condition, settings: ScoringSettings) -> str:
    """
    The identifier of one leaf or tree under *settings*.
    """
    return _condition_identifier(condition.canonical_json, _tolerances(condition, settings), settings)


def metric_identifier(
    metric: str, version: str, resolution: Resolution, settings: ScoringSettings, *, tolerance_ns: int | None = None
) -> str:
    """
    The identifier of a score of expected tools.

    Tools that come from configuration are part of the question. Those of an annotation or attribute belong to one
    occurrence and may come late: they revise the answer to the same question.
    """
    expected = resolution.expected
    configured = None
    if expected is not None and not expected.is_own:
        configured = tuple(tool.canonical_json for tool in expected.tools)
    question = Question(metric, version, configured, resolution.treat_no_calls_as_zero, tolerance_ns)
    return _metric_identifier(question, settings)


@lru_cache(maxsize=MEMO_SIZE)
def _condition_identifier(condition: str, tolerances_ns: tuple[int, ...], settings: ScoringSettings) -> str:
    return _hash(
        {
            "condition": condition,
            "version": CONDITION_VERSION,
            "name_rule_version": NAME_RULE_VERSION,
            "tolerances_ns": tolerances_ns,
            "tool_name_aliases": settings.tool_name_aliases,
            "allow_false_on_inferred": settings.allow_false_on_inferred,
            "count_embedded_calls": settings.count_embedded_calls,
            "order_from_embedded_calls": settings.order_from_embedded_calls,
        }
    )


@lru_cache(maxsize=MEMO_SIZE)
def _metric_identifier(question: Question, settings: ScoringSettings) -> str:
    return _hash(
        {
            **question._asdict(),
            "name": settings.metric_name,
            "name_rule_version": NAME_RULE_VERSION,
            "tool_name_aliases": settings.tool_name_aliases,
            "count_embedded_calls": settings.count_embedded_calls,
        }
    )


def _hash(question: Mapping[str, object]) -> str:
    """
    The hash of a question that is a JSON document. Key order plays no part, list order does.
    """
    document = json.dumps(question, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(document.encode()).hexdigest()[:DIGEST_LENGTH]


def _tolerances(condition: Condition, settings: ScoringSettings) -> tuple[int, ...]:
    return tuple(
        tolerance_of(node, settings)
        for node in walk(condition)
        if isinstance(node, ToolsCalledInOrder | ToolsCalledInPartialOrder)
    )
