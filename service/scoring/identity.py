"""
Identifiers of evaluations: equal identifiers mean equal questions.

Pure. A hash over everything that the answer depends on beside the evidence: type, fields, their order, the tolerance
in use, the versions of the rules and the settings.
"""

import hashlib
import json
from collections.abc import Mapping

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


def identifier(question: Mapping[str, object]) -> str:
    """
    The identifier of a question that is a JSON document. Key order plays no part, list order does.
    """
    document = json.dumps(question, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(document.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_LENGTH]


def condition_identifier(condition: Condition, settings: ScoringSettings) -> str:
    """
    The identifier of one leaf or tree under *settings*.
    """
    return identifier(
        {
            "condition": condition.canonical_json,
            "version": CONDITION_VERSION,
            "name_rule_version": NAME_RULE_VERSION,
            "tolerances_ns": _tolerances(condition, settings),
            "tool_name_aliases": settings.tool_name_aliases,
            "allow_false_on_inferred": settings.allow_false_on_inferred,
            "count_embedded_calls": settings.count_embedded_calls,
            "order_from_embedded_calls": settings.order_from_embedded_calls,
        }
    )


def metric_identifier(metric: str, version: str, resolution: Resolution, settings: ScoringSettings) -> str:
    """
    The identifier of a score of expected tools.

    Tools that come from configuration are part of the question. Those of an annotation or attribute belong to one
    occurrence and may come late: they revise the answer to the same question.
    """
    expected = resolution.expected
    return identifier(
        {
            "metric": metric,
            "version": version,
            "name": settings.metric_name,
            "name_rule_version": NAME_RULE_VERSION,
            "tool_name_aliases": settings.tool_name_aliases,
            "count_embedded_calls": settings.count_embedded_calls,
            "treat_no_calls_as_zero": resolution.treat_no_calls_as_zero,
            "expected": None
            if expected is None or expected.is_own
            else [tool.canonical_json for tool in expected.tools],
        }
    )


def _tolerances(condition: Condition, settings: ScoringSettings) -> list[int]:
    return [
        tolerance_of(node, settings)
        for node in walk(condition)
        if isinstance(node, ToolsCalledInOrder | ToolsCalledInPartialOrder)
    ]
