"""
The distinct spans of one trace, assembled: the calls that were made, the calls that were asked for, and the session.

Pure and linear but for sorting. The result is independent of the order of spans and log records. Design §4 and §5,
dialects reference §5; one module of `assembly` per question.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from msgspec import Struct

from proto_adapters.assembly.completions import merge_logs
from proto_adapters.assembly.corrections import correct
from proto_adapters.assembly.one_call import join_calls
from proto_adapters.assembly.pending import resolve_pending
from proto_adapters.assembly.repeated_completions import mark_repeated
from proto_adapters.assembly.sessions import is_server_only, linked_calls, outermost_agent, session_ids
from proto_adapters.assembly.tree import SpanTree
from proto_adapters.canonical import (
    CanonicalSpan,
    CanonicalTrace,
    CompletionState,
    EmbeddedCall,
    LogCompletion,
    Shape,
    SpanKind,
    ToolCall,
)

__all__ = ["AssemblyOptions", "assemble", "linked_calls"]


class AssemblyOptions(Struct, frozen=True):
    """
    What the configuration changes in assembly.
    """

    handoffs_as_tools: bool = False
    clock_tolerance_ns: int = 0
    """How far the clocks of two processes may differ when one span is asked to lie in another."""


DEFAULT_OPTIONS = AssemblyOptions()


def assemble(
    spans: Sequence[CanonicalSpan],
    logs: Sequence[LogCompletion] = (),
    options: AssemblyOptions = DEFAULT_OPTIONS,
) -> CanonicalTrace:
    """
    The trace of *spans*, whose span ids are distinct, with what *logs* tell of their completions.
    """
    tree = SpanTree(resolve_pending(spans))
    correct(tree, handoffs_as_tools=options.handoffs_as_tools)
    merge_logs(tree, logs)
    mark_repeated(tree)
    join_calls(tree, clock_tolerance_ns=options.clock_tolerance_ns)
    return _trace(tree)


def _trace(tree: SpanTree) -> CanonicalTrace:
    tools = [span for span in tree.spans if span.kind is SpanKind.TOOL]
    models = [span for span in tree.spans if span.kind is SpanKind.LLM]
    survivors = [span for span in tools if span.executed is not False and span.duplicate_of is None]
    embedded = tuple(_embedded(models))
    shape = Shape.TOOL_SPANS if tools else Shape.LLM_EMBEDDED if models else None
    names = (call.name for _, call in embedded) if shape is Shape.LLM_EMBEDDED else _called_names(tools)
    ids = session_ids(tree)
    return CanonicalTrace(
        spans=tuple(tree.spans),
        shape=shape,
        calls=tuple(_calls(survivors, tools)),
        called_names=tuple(dict.fromkeys(names)),
        nameless_calls=sum(not span.tool_name for span in survivors),
        embedded=embedded,
        session_id=ids[0] if ids else None,
        other_session_ids=ids[1:],
        agent_span=outermost_agent(tree),
        server_only=is_server_only(tree),
    )


def _called_names(tools: Sequence[CanonicalSpan]) -> Iterator[str]:
    """Names of executed TOOL spans, joined ones included: each is a name of a call."""
    refused = {span.span_id for span in tools if span.executed is False}
    executed = (span for span in tools if span.executed is not False and span.duplicate_of not in refused)
    return (span.tool_name for span in executed if span.tool_name)


def _calls(survivors: Sequence[CanonicalSpan], tools: Sequence[CanonicalSpan]) -> Iterator[ToolCall]:
    aliases: dict[bytes, set[str]] = defaultdict(set)
    for span in tools:
        if span.duplicate_of and span.tool_name:
            aliases[span.duplicate_of].add(span.tool_name)
    return (_call(span, aliases[span.span_id]) for span in survivors if span.tool_name)


def _call(span: CanonicalSpan, names: set[str]) -> ToolCall:
    return ToolCall(
        name=span.tool_name or "",
        trace_id=span.trace_id,
        span_id=span.span_id,
        start_ns=span.start_ns,
        end_ns=span.end_ns if span.has_valid_time else None,
        status=span.status,
        call_id=span.tool_call_id,
        aliases=tuple(sorted(names - {span.tool_name})),
        control_tool=span.control_tool,
        order_evidence=span.order_evidence,
        arguments=span.tool_arguments,
    )


def _embedded(models: Sequence[CanonicalSpan]) -> Iterator[tuple[CanonicalSpan, EmbeddedCall]]:
    """Calls of completions that can be read and repeat none; the same id and name is the same call."""
    seen: set[tuple[str, str]] = set()
    for span in models:
        if span.embedded_calls and span.duplicate_of is None and _can_be_read(span):
            for call in span.embedded_calls:
                if call.call_id is None or (call.call_id, call.name) not in seen:
                    seen.add((call.call_id or "", call.name))
                    yield span, call


def _can_be_read(span: CanonicalSpan) -> bool:
    return span.completion is CompletionState.READ or span.completion is CompletionState.STALE
