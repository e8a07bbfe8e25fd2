"""
What is read of spans and log records beyond their plain facts. Pure values.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from proto_adapters.call_collector import DEFAULT_LIMITS, ReadLimits
from proto_adapters.canonical import EmbeddedCall
from proto_adapters.tool_names import comparison_key

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
    session_keys: tuple[str, ...] = ()
    """Attributes that hold the session id, the first present wins; empty for those of every dialect."""
    control_tools: frozenset[str] = CONTROL_TOOLS
    limits: ReadLimits = DEFAULT_LIMITS


DEFAULT_OPTIONS: Final = ReadOptions()


@lru_cache(4096)
def is_control_tool(name: str, control_tools: frozenset[str] = CONTROL_TOOLS) -> bool:
    """
    Whether *name* is a tool of a framework itself, in any spelling.
    """
    return name in control_tools or comparison_key(name) in {comparison_key(tool) for tool in control_tools}


def with_control_tools(calls: Iterable[EmbeddedCall], options: ReadOptions) -> tuple[EmbeddedCall, ...]:
    """
    *calls*, those of a framework's own tools marked.
    """
    return tuple(
        replace(call, control_tool=True) if is_control_tool(call.name, options.control_tools) else call
        for call in calls
    )
