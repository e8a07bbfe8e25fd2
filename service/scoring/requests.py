"""
Tools that a model asked for and that were not executed, or not as often.

Pure. They are told beside every result and never count as called (design §6.3).
"""

from collections import Counter

from proto_adapters.canonical import ToolCall
from proto_adapters.tool_names import comparison_key
from service.evidence import ToolEvidence


def requested_not_executed(evidence: ToolEvidence) -> tuple[str, ...]:
    """
    Names asked for in completions more often than executed, sorted: at least one request of each did not run.
    """
    if not evidence.requested_names:
        return ()
    executed = Counter(key for call in evidence.calls for key in {comparison_key(name) for name in _names(call)})
    spelled = {comparison_key(name): name for name in sorted(evidence.requested_names, reverse=True)}
    requested = Counter(comparison_key(name) for name in evidence.requested_names)
    return tuple(sorted(spelled[key] for key in requested - executed))


def _names(call: ToolCall) -> tuple[str, ...]:
    return (call.name, *call.aliases)
