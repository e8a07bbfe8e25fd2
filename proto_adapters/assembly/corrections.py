"""
What a span means that only its trace can tell: corrections C7 and C9, and the names that a trace explains.

Pure. Each correction replaces spans of the tree in place; none changes an id, a time or a parent.
"""

import re
from collections import defaultdict

from msgspec.structs import replace

from proto_adapters.assembly.tree import NO_SPAN, SpanTree
from proto_adapters.canonical import CanonicalSpan, CompletionState, SpanKind
from proto_adapters.span_fields import SPAN_NAME

_CLAUDE_CODE = "claude_code"
_CLAUDE_EXECUTION = "claude_code.tool.execution"
_MLFLOW = "mlflow"
_NUMBERED = re.compile(r"(?P<base>.+)_(?P<number>[1-9][0-9]*)")


def correct(tree: SpanTree, *, handoffs_as_tools: bool) -> None:
    """
    Apply every correction that needs the whole trace.
    """
    if handoffs_as_tools:
        _count_handoffs(tree)
    _mark_stale_completions(tree)
    _mark_refused_calls(tree)
    _strip_agent_prefixes(tree)
    _strip_rename_series(tree)


def _count_handoffs(tree: SpanTree) -> None:
    for position, span in enumerate(tree.spans):
        if span.handoff and span.kind is not SpanKind.TOOL:
            name = span.tool_name or span.name
            tree.spans[position] = replace(span, kind=SpanKind.TOOL, tool_name=name, control_tool=True)


def _mark_stale_completions(tree: SpanTree) -> None:
    """C7: an LLM span around whole tool calls holds parts of several responses."""
    if not any(_holds_a_run(span) for span in tree.spans):
        return
    above_tool = [False] * len(tree.spans)
    for position in reversed(tree.preorder):
        span, parent = tree.spans[position], tree.parents[position]
        if above_tool[position] and _holds_a_run(span):
            tree.spans[position] = replace(span, completion=CompletionState.STALE, kind_rule="C7")
        if parent != NO_SPAN and (above_tool[position] or span.kind is SpanKind.TOOL):
            above_tool[parent] = True


def _holds_a_run(span: CanonicalSpan) -> bool:
    return span.kind is SpanKind.LLM and span.name.startswith("invoke_agent")


def _mark_refused_calls(tree: SpanTree) -> None:
    """C9: a Claude Code tool that ended without an execution below it was denied."""
    for position, span in enumerate(tree.spans):
        if span.kind is SpanKind.TOOL and _CLAUDE_CODE in span.dialects and span.executed is None and span.has_ended:
            names = {tree.spans[child].name for child in tree.children[position]}
            if _CLAUDE_EXECUTION not in names:
                tree.spans[position] = replace(span, executed=False)


def _strip_agent_prefixes(tree: SpanTree) -> None:
    """`{agent}.{tool}` in a span name (AutoGen), if the trace has an agent of that name."""
    agents = {span.agent_name for span in tree.spans if span.agent_name}
    for position, span in enumerate(tree.spans):
        if span.tool_name and span.tool_name_key == SPAN_NAME:
            agent, _, tool = span.tool_name.partition(".")
            if tool and agent in agents:
                tree.spans[position] = replace(span, tool_name=tool)


def _strip_rename_series(tree: SpanTree) -> None:
    """`x_1 … x_n` (older MLflow trackers number repeated span names), if the trace has the whole series and no `x`."""
    series: dict[str, list[tuple[int, int]]] = defaultdict(list)
    names = set()
    for position, span in enumerate(tree.spans):
        if span.tool_name and span.tool_name_key == SPAN_NAME and _MLFLOW in span.dialects:
            names.add(span.tool_name)
            if numbered := _NUMBERED.fullmatch(span.tool_name):
                series[numbered["base"]].append((int(numbered["number"]), position))
    for base, members in series.items():
        if base not in names and _is_whole_series(members):
            for _, position in members:
                tree.spans[position] = replace(tree.spans[position], tool_name=base)


def _is_whole_series(members: list[tuple[int, int]]) -> bool:
    return len(members) > 1 and sorted(number for number, _ in members) == list(range(1, len(members) + 1))
