"""
Which TOOL spans show the same call: rules W1 to W5 of the dialects reference, §5.5.

Pure. Retries, parallel calls, recursion with other arguments and agents used as tools stay separate calls. Every rule
looks at a span once or twice, whatever the number of its relatives.
"""

from collections import defaultdict
from collections.abc import Iterator
from math import inf

from proto_adapters.assembly.intervals import Interval, end_or_open, is_inside, only_containers, slack_ns
from proto_adapters.assembly.joined import JoinedSpans
from proto_adapters.assembly.tree import NO_SPAN, SpanTree
from proto_adapters.canonical import CanonicalSpan, SpanKind
from proto_adapters.tool_names import is_tail, tails

_SERVER, _CLIENT = 2, 3
SERVER_BRANCH = "mcp.server"
"""Name of the span that some instrumentations put around what a server does."""
_REPEATABLE_ID = "0"  # a placeholder of producers that number calls inside one answer


def join_calls(tree: SpanTree, *, clock_tolerance_ns: int) -> None:
    """
    Mark the spans that repeat a call, and give the outermost span of each call what only the others know.
    """
    joined = JoinedSpans(tree)
    _join_nested(tree, joined, clock_tolerance_ns)
    _join_same_id(tree, joined)
    _join_same_request(tree, joined)
    _join_server_branches(tree, joined, clock_tolerance_ns)
    joined.settle()


def is_mcp_server(span: CanonicalSpan) -> bool:
    """
    Whether an MCP server wrote the span: OTel kind SERVER with an MCP method.
    """
    return span.otel_kind == _SERVER and span.mcp_method is not None


def _is_mcp_client(span: CanonicalSpan) -> bool:
    return span.otel_kind == _CLIENT and span.mcp_method is not None


def _tools(tree: SpanTree) -> Iterator[tuple[int, CanonicalSpan]]:
    return ((position, span) for position, span in enumerate(tree.spans) if span.kind is SpanKind.TOOL)


def _join_nested(tree: SpanTree, joined: JoinedSpans, tolerance_ns: int) -> None:
    """W2, W3 by parent link, W4: a TOOL span and the nearest TOOL span around it, no AGENT or LLM span between."""
    around = [NO_SPAN] * len(tree.spans)
    for position in tree.preorder:
        if (parent := tree.parents[position]) == NO_SPAN:
            continue
        around[position] = _nearest_tool(tree, parent, around[parent])
        if around[position] != NO_SPAN and tree.spans[position].kind is SpanKind.TOOL:
            rule = _nested_rule(tree, joined, around[position], position, tolerance_ns)
            if rule:
                joined.join(around[position], position, rule)


def _nearest_tool(tree: SpanTree, parent: int, around_parent: int) -> int:
    kind = tree.spans[parent].kind
    if kind is SpanKind.TOOL:
        return parent
    return NO_SPAN if kind is SpanKind.AGENT or kind is SpanKind.LLM else around_parent


def _nested_rule(tree: SpanTree, joined: JoinedSpans, outer: int, inner: int, tolerance_ns: int) -> str | None:
    upper, lower = tree.spans[outer], tree.spans[inner]
    if _is_mcp_client(upper) and is_mcp_server(lower):
        return "W3"
    if not _may_be_named_alike(upper, lower):
        return None
    if is_mcp_server(upper) and is_mcp_server(lower):
        return "W4"
    return "W2" if _fits(upper, lower, tolerance_ns) and not joined.contradicts(outer, lower) else None


def _fits(upper: CanonicalSpan, lower: CanonicalSpan, tolerance_ns: int) -> bool:
    """The server of a call may run by another clock: there the parent link to the caller says more than the times."""
    one_process = upper.origin.resource_header == lower.origin.resource_header
    return is_mcp_server(lower) or is_inside(lower, upper, 0 if one_process else tolerance_ns)


def _may_be_named_alike(upper: CanonicalSpan, lower: CanonicalSpan) -> bool:
    if lower.tool_name is None:
        return _tells_nothing(lower)
    return upper.tool_name is not None and same_tool(upper, lower)


def _tells_nothing(span: CanonicalSpan) -> bool:
    """A TOOL mark without name, id and arguments is no call of its own (BeeAI's `error` below a failed tool)."""
    return span.tool_call_id is None and span.arguments_digest is None


def same_tool(one: CanonicalSpan, other: CanonicalSpan) -> bool:
    """
    Equal names, or one with a namespace before the other. A lone `_` makes a namespace only where MCP is involved.
    """
    if not one.tool_name or not other.tool_name:
        return False
    if one.tool_name == other.tool_name:
        return True
    return is_tail(one.tool_name, other.tool_name, single_underscore=_knows_mcp(one) or _knows_mcp(other))


def _knows_mcp(span: CanonicalSpan) -> bool:
    return bool(span.mcp_method or span.mcp_server or (span.tool_name or "").startswith("mcp_"))


def _join_same_id(tree: SpanTree, joined: JoinedSpans) -> None:
    """W1: one call id, one tool, at the same time. The same id at another time is another attempt."""
    by_id: dict[str, list[int]] = defaultdict(list)
    for position, span in _tools(tree):
        if span.tool_call_id and span.tool_call_id != _REPEATABLE_ID and span.tool_name:
            by_id[span.tool_call_id].append(position)
    for members in by_id.values():
        if len(members) > 1:
            _join_overlapping(tree, joined, members)


class _Attempt:
    """
    Spans of one call id and one tool that overlap: one attempt. An unfinished span fits any time but bridges none.
    """

    def __init__(self, position: int, span: CanonicalSpan) -> None:
        self.position = position
        self.start = span.start_ns
        self.end = end_or_open(span)

    def covers(self, span: CanonicalSpan) -> bool:
        return span.start_ns < self.end or span.start_ns == self.start or end_or_open(span) == inf

    def extend(self, span: CanonicalSpan) -> None:
        if (end := end_or_open(span)) != inf:
            self.end = max(self.end, end)


def _join_overlapping(tree: SpanTree, joined: JoinedSpans, members: list[int]) -> None:
    attempts: dict[str, _Attempt] = {}
    for position in sorted(members, key=lambda member: _longest_first(tree.spans[member])):
        span = tree.spans[position]
        names = [span.tool_name or "", *(tail for tail, _ in tails(span.tool_name or ""))]
        attempt = next((attempts[name] for name in names if name in attempts and attempts[name].covers(span)), None)
        if attempt is None:
            attempt = _Attempt(position, span)
        else:
            attempt.extend(span)
            joined.join(attempt.position, position, "W1")
        attempts.update(dict.fromkeys(names, attempt))


def _longest_first(span: CanonicalSpan) -> tuple[int, float, bytes]:
    return span.start_ns, -end_or_open(span), span.span_id


def _join_same_request(tree: SpanTree, joined: JoinedSpans) -> None:
    """W3 by JSON-RPC request: client and server spans of one request in one MCP session."""
    clients: dict[tuple[str, str], int] = {}
    servers = []
    for position, span in _tools(tree):
        if span.mcp_session_id and span.mcp_request_id:
            request = (span.mcp_session_id, span.mcp_request_id)
            if _is_mcp_client(span):
                clients.setdefault(request, position)
            elif is_mcp_server(span):
                servers.append((request, position))
    for request, position in servers:
        if request in clients:
            joined.join(clients[request], position, "W3")


def _join_server_branches(tree: SpanTree, joined: JoinedSpans, tolerance_ns: int) -> None:
    """W5: a server's branch beside its caller, in time inside exactly one call of that tool."""
    if not any(_begins_a_server(span) for span in tree.spans):
        return
    callers: dict[str, list[Interval]] = defaultdict(list)
    branches: dict[str, list[Interval]] = defaultdict(list)
    on_server, below_client = _sides(tree)
    for position, span in _tools(tree):
        if span.tool_name is None or joined.is_inner(position):
            continue
        if not on_server[position]:
            interval = _widened(span, position, tolerance_ns)
            for name in {span.tool_name, *(tail for tail, _ in tails(span.tool_name))}:
                callers[name].append(interval)
        elif not below_client[position]:
            end = end_or_open(span)
            branches[span.tool_name].append(Interval(span.start_ns, span.start_ns if end == inf else end, position))
    for name, branch in branches.items():
        for inner, outer in only_containers(callers.get(name, ()), branch).items():
            joined.join(outer, inner, "W5")


def _widened(span: CanonicalSpan, position: int, tolerance_ns: int) -> Interval:
    return Interval(span.start_ns - tolerance_ns, end_or_open(span) + slack_ns(span) + tolerance_ns, position)


def _begins_a_server(span: CanonicalSpan) -> bool:
    return is_mcp_server(span) or (span.name == SERVER_BRANCH and span.kind is SpanKind.CHAIN)


def _sides(tree: SpanTree) -> tuple[list[bool], list[bool]]:
    """
    Per span: whether it stands on a server's side, and whether a client's TOOL span stands above it.
    """
    on_server, below_client = [False] * len(tree.spans), [False] * len(tree.spans)
    for position in tree.preorder:
        span, parent = tree.spans[position], tree.parents[position]
        inherits = parent != NO_SPAN and span.kind is not SpanKind.AGENT
        on_server[position] = _begins_a_server(span) or (inherits and on_server[parent])
        if parent != NO_SPAN:
            is_client = tree.spans[parent].kind is SpanKind.TOOL and not on_server[parent]
            below_client[position] = is_client or below_client[parent]
    return on_server, below_client
