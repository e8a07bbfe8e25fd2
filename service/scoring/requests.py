"""
Tools that a model asked for and that were not executed.

Pure. They are told beside every result and never count as called (design §6.3).
"""

from proto_adapters.tool_names import comparison_key
from service.evidence import ToolEvidence


def requested_not_executed(evidence: ToolEvidence) -> tuple[str, ...]:
    """
    Names asked for in completions without an execution of that name, sorted.
    """
    executed = {comparison_key(name) for call in evidence.calls for name in (call.name, *call.aliases)}
    requested = {comparison_key(name): name for name in sorted(evidence.requested_names, reverse=True)}
    return tuple(sorted(name for key, name in requested.items() if key not in executed))
