"""
What a condition was found to be, before it becomes an evaluation.
"""

from collections.abc import Sequence

from msgspec import Struct

from service.conditions import ToolRequirement
from service.evaluation import Reason, Verdict
from service.scoring.calls import FoundCalls


class Finding(Struct, frozen=True):
    """
    A verdict with its reason and the names that explain it.
    """

    verdict: Verdict
    reason: Reason | None = None
    called: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    explanation: str = ""
    from_embedded_calls: bool = False


def undetermined(reason: Reason) -> Finding:
    return Finding(Verdict.UNDETERMINED, reason)


def names_called(tools: Sequence[ToolRequirement], found: Sequence[FoundCalls]) -> tuple[str, ...]:
    return tuple(tool.name for tool, calls in zip(tools, found, strict=True) if calls.certain)


def names_missing(tools: Sequence[ToolRequirement], found: Sequence[FoundCalls]) -> tuple[str, ...]:
    return tuple(tool.name for tool, calls in zip(tools, found, strict=True) if not calls.certain)
