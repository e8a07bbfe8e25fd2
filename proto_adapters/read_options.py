"""
What is read of spans and log records beyond their plain facts. Pure values.
"""

from typing import Final

from msgspec import Struct

from proto_adapters.call_collector import DEFAULT_LIMITS, ReadLimits

CONTROL_TOOLS: Final = frozenset(
    {
        "final_answer",
        "finish",
        "transfer_to_agent",
        "handoff",
        "delegate_task_to_member",
        "Delegate work to coworker",
        "final_result",
    }
)
"""Tools of the frameworks themselves (reference §1, point 14)."""


class ReadOptions(Struct, frozen=True):
    """
    What is read beyond the plain facts of a span.
    """

    keep_arguments: bool = False
    """Only if a condition reads arguments: they may hold what users said."""
    read_results: bool = False
    """Only for `order_from_embedded_calls`."""
    selected_keys: frozenset[str] = frozenset()
    """Attributes that the configuration names."""
    control_tools: frozenset[str] = CONTROL_TOOLS
    limits: ReadLimits = DEFAULT_LIMITS


DEFAULT_OPTIONS: Final = ReadOptions()
