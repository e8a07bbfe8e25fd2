"""
Early verdicts: results on an open trace that no further span can overturn (design §6.4).

Pure. Only what was seen counts, in `tool_spans` shape: that every required tool was called, that a forbidden one was,
that an order is established. What rests on a call whose name, execution or interval may still change is left out.
"""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from proto_adapters.assembly.one_call import SERVER_BRANCH, is_mcp_server
from proto_adapters.assembly.tree import NO_SPAN, SpanTree
from proto_adapters.canonical import CanonicalSpan, CanonicalTrace, Shape, SpanKind, ToolCall
from proto_adapters.span_fields import SPAN_NAME
from service.conditions import Leaf, ToolsCalled, ToolsCalledInOrder, ToolsCalledInPartialOrder, ToolsNotCalled
from service.evaluation import Evaluation, Reason
from service.evidence import Coverage, CoverageReason, ToolEvidence
from service.scoring.conditions import evaluate_condition, find_leaf
from service.scoring.expectations import Resolution
from service.scoring.findings import Finding, undetermined
from service.scoring.selection import score_selection
from service.scoring.settings import ScoringSettings

PRESENCE = (ToolsCalled, ToolsNotCalled)
ORDER = (ToolsCalledInOrder, ToolsCalledInPartialOrder)

BRIDGE, EXECUTOR = "claude_agent_sdk", "claude_code"
"""A span of the first stands for a call also if it was denied; a span of the second tells that it ran."""

STILL_OPEN = Coverage((CoverageReason.NOT_CLOSED_BY_ROOT,))


class Settled(Struct, frozen=True):
    """
    The evidence of an open trace cut to what stays: for questions of presence, and for questions of order.
    """

    presence: ToolEvidence
    order: ToolEvidence


def find_early(settled: Settled, resolution: Resolution, settings: ScoringSettings) -> Iterator[Evaluation]:
    """
    The evaluations that stand, whatever comes.
    """
    if resolution.expected is not None:
        selection = score_selection(settled.presence, resolution, settings)
        if selection is not None and selection.score == 1.0:
            yield selection
    if resolution.conditions is not None:
        yield from _find_conditions(settled, resolution, settings)


def _find_conditions(settled: Settled, resolution: Resolution, settings: ScoringSettings) -> Iterator[Evaluation]:
    def find(leaf: Leaf) -> Finding:
        if isinstance(leaf, PRESENCE + ORDER) and not any(tool.reads_arguments for tool in leaf.requirements):
            evidence = settled.presence if isinstance(leaf, PRESENCE) else settled.order
            return find_leaf(leaf, evidence, settings)
        return undetermined(Reason.PARTIAL_COVERAGE)

    assert resolution.conditions is not None
    for condition in resolution.conditions.conditions:
        evaluations = evaluate_condition(
            condition, settled.presence, resolution.conditions.expectation, settings, find=find
        )
        yield from (evaluation for evaluation in evaluations if evaluation.score is not None)


def settle(trace: CanonicalTrace, read: Mapping[bytes, CanonicalSpan], evidence: ToolEvidence) -> Settled | None:
    """
    What stays of the *evidence* of *trace*, whose spans were *read* as they stand there; `None` if it has no TOOL span.
    """
    if evidence.shapes != (Shape.TOOL_SPANS,):
        return None
    groups = _groups(trace.spans)
    calls = [call for call in evidence.calls if _is_known_to_run(groups[call.span_id])]
    named = tuple(_with_settled_names(calls, groups, read))
    places = _Places(trace.spans)
    fixed = tuple(call for call in calls if _is_fixed(call.span_id, groups[call.span_id], places, read))
    base = replace(evidence, coverage=STILL_OPEN, requested_names=(), embedded_calls=())
    return Settled(
        presence=replace(base, calls=named, called_names=tuple(_names(named))),
        order=replace(base, calls=fixed, called_names=tuple(_names(fixed))),
    )


def _names(calls: Iterable[ToolCall]) -> Iterator[str]:
    return (name for call in calls for name in (call.name, *call.aliases))


def _groups(spans: Iterable[CanonicalSpan]) -> Mapping[bytes, list[CanonicalSpan]]:
    """
    Span id of each call -> all spans that show it.
    """
    groups: dict[bytes, list[CanonicalSpan]] = defaultdict(list)
    for span in spans:
        if span.kind is SpanKind.TOOL:
            groups[span.duplicate_of or span.span_id].append(span)
    return groups


def _is_known_to_run(group: Sequence[CanonicalSpan]) -> bool:
    """
    Every span of the call has ended, and none that is still to come can say that it was refused (correction C9).
    """
    dialects = {dialect for span in group for dialect in span.dialects}
    return all(span.has_ended for span in group) and (BRIDGE not in dialects or EXECUTOR in dialects)


def _with_settled_names(
    calls: Iterable[ToolCall], groups: Mapping[bytes, Sequence[CanonicalSpan]], read: Mapping[bytes, CanonicalSpan]
) -> Iterator[ToolCall]:
    for call in calls:
        names = [span.tool_name for span in groups[call.span_id] if span.tool_name and _has_settled_name(span, read)]
        if names:
            yield replace(call, name=names[0], aliases=tuple(names[1:]))


def _has_settled_name(span: CanonicalSpan, read: Mapping[bytes, CanonicalSpan]) -> bool:
    """
    Whether the span told the name itself, in a form that no other span of the trace can correct.
    """
    own = read.get(span.span_id)
    if own is None or own.pending or not own.tool_name:
        return False
    return own.tool_name_key != SPAN_NAME or ("." not in own.tool_name and not own.tool_name[-1].isdigit())


def _is_fixed(
    call_id: bytes, group: Sequence[CanonicalSpan], places: "_Places", read: Mapping[bytes, CanonicalSpan]
) -> bool:
    """
    Whether the interval and the name of a call stay: no span that comes later can be around any span that shows it.
    """
    members = {span.span_id for span in group}
    own = next(span for span in group if span.span_id == call_id)
    return _has_settled_name(own, read) and all(
        places.are_known_above(member, members) or places.is_below(member, call_id) for member in members
    )


class _Places:
    """
    Where the spans of an open trace stand.
    """

    def __init__(self, spans: Iterable[CanonicalSpan]) -> None:
        self._tree = SpanTree(spans)
        self._is_known = [False] * len(self._tree.spans)
        self._tool_above = [NO_SPAN] * len(self._tree.spans)
        for position in self._tree.preorder:
            self._is_known[position] = self._is_way_known(position)
            self._tool_above[position] = self._find_tool_above(self._tree.parents[position])

    def are_known_above(self, span_id: bytes, members: Container[bytes]) -> bool:
        """
        All spans from the span up to an AGENT, LLM or root span are held, and no tool but its own call is among them.
        """
        position = self._tree.index[span_id]
        above = self._tool_above[position]
        return self._is_known[position] and (above == NO_SPAN or self._tree.spans[above].span_id in members)

    def is_below(self, span_id: bytes, upper_id: bytes) -> bool:
        return self._tree.is_ancestor(self._tree.index[upper_id], self._tree.index[span_id])

    def _is_way_known(self, position: int) -> bool:
        """
        The caller of what a server does may come later, and a span that has not ended may turn out to be a tool.
        """
        span, parent = self._tree.spans[position], self._tree.parents[position]
        if span.kind in {SpanKind.AGENT, SpanKind.LLM}:
            return True
        if not span.has_ended or is_mcp_server(span) or span.name == SERVER_BRANCH:
            return False
        return span.parent_span_id is None if parent == NO_SPAN else self._is_known[parent]

    def _find_tool_above(self, parent: int) -> int:
        if parent == NO_SPAN or self._tree.spans[parent].kind in {SpanKind.AGENT, SpanKind.LLM}:
            return NO_SPAN
        return parent if self._tree.spans[parent].kind is SpanKind.TOOL else self._tool_above[parent]
