"""
Which session and which agent run a trace belongs to, and calls that two traces show (rule W6).

Pure. Dialects reference §4, last paragraph, and §5.5; design §8.
"""

from collections.abc import Iterable, Iterator, Sequence

from proto_adapters.assembly.one_call import is_mcp_server, same_tool
from proto_adapters.assembly.tree import NO_SPAN, SpanTree
from proto_adapters.canonical import CanonicalSpan, CanonicalTrace, SpanKind

SpanIdentity = tuple[bytes, bytes]
"""Trace id and span id."""


def session_ids(tree: SpanTree) -> tuple[str, ...]:
    """
    The distinct session ids of a trace with a GenAI span, the one nearest the root first.

    `session.id` is written by browser and mobile telemetry too, so a trace without a GenAI span has no session.
    """
    if all(span.kind is SpanKind.UNKNOWN and not span.dialects for span in tree.spans):
        return ()
    told = {span.session_id for span in tree.spans if span.session_id}
    if len(told) < 2:
        return tuple(told)
    fragments = _fragments(tree)
    having = [position for position, span in enumerate(tree.spans) if span.session_id]
    having.sort(key=lambda position: (fragments[position], tree.depths[position], position))
    return tuple(dict.fromkeys(tree.spans[position].session_id or "" for position in having))


def _fragments(tree: SpanTree) -> list[bool]:
    """Whether each span hangs from a span whose parent is missing: how far it is from the root is not known."""
    fragments = [False] * len(tree.spans)
    for position in tree.preorder:
        parent = tree.parents[position]
        at_top = parent == NO_SPAN
        fragments[position] = tree.spans[position].parent_span_id is not None if at_top else fragments[parent]
    return fragments


def outermost_agent(tree: SpanTree) -> CanonicalSpan | None:
    """
    The AGENT span nearest its root; of several, the earliest.
    """
    agents = [position for position, span in enumerate(tree.spans) if span.kind is SpanKind.AGENT]
    return tree.spans[min(agents, key=lambda position: (tree.depths[position], position))] if agents else None


def is_server_only(tree: SpanTree) -> bool:
    """
    Whether every span with a meaning is an MCP server's or below one: a fragment of a run that is told elsewhere.
    """
    served = [False] * len(tree.spans)
    any_server = False
    for position in tree.preorder:
        span, parent = tree.spans[position], tree.parents[position]
        served[position] = is_mcp_server(span) or (parent != NO_SPAN and served[parent])
        if not served[position] and span.kind is not SpanKind.UNKNOWN:
            return False
        any_server = any_server or served[position]
    return any_server


def linked_calls(traces: Sequence[CanonicalTrace]) -> dict[SpanIdentity, SpanIdentity]:
    """
    W6: calls of MCP spans that link to the TOOL span of another trace with the same tool, each with that call.

    A gateway that links to its caller shows the caller's call again; a session counts it once, as the caller saw it.
    """
    tools = {_identity(span): span for trace in traces for span in _tools(trace.spans)}
    found: dict[SpanIdentity, SpanIdentity] = {}
    for span in tools.values():
        if span.mcp_method and span.duplicate_of is None:
            caller = next((tools[link] for link in _links(span) if link in tools), None)
            if caller and caller.trace_id != span.trace_id and same_tool(caller, span):
                found[_identity(span)] = (caller.trace_id, caller.duplicate_of or caller.span_id)
    return found


def _tools(spans: Iterable[CanonicalSpan]) -> Iterator[CanonicalSpan]:
    return (span for span in spans if span.kind is SpanKind.TOOL)


def _identity(span: CanonicalSpan) -> SpanIdentity:
    return span.trace_id, span.span_id


def _links(span: CanonicalSpan) -> Iterator[SpanIdentity]:
    return ((link.trace_id, link.span_id) for link in span.links)
