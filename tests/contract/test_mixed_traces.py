"""
Traces as they are in the field: several dialects in one trace, one call seen by two instrumentations, and a trace that
arrives span by span from several resources.
"""

from collections.abc import Iterable, Iterator
from itertools import count

import pytest
from msgspec.structs import replace
from recorded import BUNDLES, Recording, raw_spans, read_spans, recording, recordings, traces

from proto_adapters.canonical import CanonicalSpan, CanonicalTrace, Origin, SpanKind
from proto_adapters.otlp_encode import join_traces
from proto_adapters.trace_assembly import assemble
from proto_adapters.wire import frame

TRACE_ID = b"one trace for all"[:16]
ROOT = replace(
    CanonicalSpan(trace_id=TRACE_ID, span_id=b"the root", name="POST /trips", start_ns=1),
    end_ns=2_000_000_000_000_000_000,
)


def below_one_root(recorded: Recording) -> Iterator[CanonicalSpan]:
    """
    The spans of a recording as parts of one trace.
    """
    for span in {span.span_id: span for span in read_spans(recorded)}.values():
        parent = span.parent_span_id or ROOT.span_id
        yield replace(span, trace_id=TRACE_ID, parent_span_id=parent)


def names(found: Iterable[CanonicalTrace]) -> list[str]:
    return sorted(call.name for trace in found for call in trace.calls)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("python/langgraph-openinference/sequential", "python/pydantic-ai-v5/retry"),
        ("python/traceloop-sdk/sequential", "python/google-adk/parallel"),
        ("javascript/mastra/sequential", "javascript/vercel-ai-v5/retry"),
        ("python/mcp-fastmcp/parallel", "javascript/genkit/sequential"),
    ],
)
def test_two_dialects_in_one_trace_give_the_calls_of_both(first: str, second: str) -> None:
    one, other = recording(first), recording(second)

    trace = assemble([ROOT, *below_one_root(one), *below_one_root(other)])

    assert names([trace]) == sorted(names(traces(one)) + names(traces(other)))


def seen_twice(spans: Iterable[CanonicalSpan]) -> Iterator[CanonicalSpan]:
    """
    Each TOOL span, and below it the span that an MCP client would have made of the same call.
    """
    numbers = count(1)
    for span in spans:
        yield span
        if span.kind is SpanKind.TOOL and span.tool_name and not span.pending:
            yield CanonicalSpan(
                trace_id=span.trace_id,
                span_id=b"twin" + next(numbers).to_bytes(4, "big"),
                parent_span_id=span.span_id,
                kind=SpanKind.TOOL,
                name=f"tools/call {span.tool_name}",
                tool_name=f"trips_{span.tool_name}",
                mcp_method="tools/call",
                start_ns=span.start_ns,
                end_ns=span.end_ns,
            )


@pytest.mark.parametrize(
    "id_",
    [
        "python/agent-framework/retry",
        "python/crewai-openinference/parallel",
        "python/strands/multi_turn",
        "python/pydantic-ai-logfire/killed",
        "javascript/langsmith/parallel",
        "javascript/voltagent/retry",
    ],
)
def test_a_call_seen_by_two_instrumentations_is_one_call(id_: str) -> None:
    recorded = recording(id_)
    by_trace: dict[bytes, dict[bytes, CanonicalSpan]] = {}
    for span in read_spans(recorded):
        by_trace.setdefault(span.trace_id, {})[span.span_id] = span

    twice = [assemble(list(seen_twice(by_trace[trace_id].values()))) for trace_id in sorted(by_trace)]

    assert [trace.calls for trace in without_aliases(twice)] == [
        trace.calls for trace in without_aliases(traces(recorded))
    ]


def without_aliases(found: Iterable[CanonicalTrace]) -> Iterator[CanonicalTrace]:
    for trace in found:
        yield replace(trace, calls=tuple(replace(call, aliases=()) for call in trace.calls))


def span_by_span(recorded: Recording) -> Recording:
    """
    The recording with every span in a request of its own, last first, from one of three resources.
    """
    spans = list(raw_spans(recorded))
    requests = [
        join_traces([(Origin(origin.resource_header + _extra_attribute(number % 3), origin.scope_header), [span])])
        for number, (origin, span) in enumerate(spans)
    ]
    return replace(recorded, requests=tuple(reversed(requests)))


def _extra_attribute(number: int) -> bytes:
    """A further part of the resource message: protobuf merges it into the first."""
    value = frame(0x12, frame(0x0A, f"host-{number}".encode()))
    return frame(0x0A, frame(0x0A, frame(0x0A, b"host.name") + value))


@pytest.mark.parametrize("bundle", BUNDLES)
def test_a_trace_that_arrives_span_by_span_from_several_resources_is_the_same_trace(bundle: str) -> None:
    recorded = recordings(bundle)[0]

    split = traces(span_by_span(recorded))

    assert [trace.calls for trace in split] == [trace.calls for trace in traces(recorded)]
    assert [trace.session_id for trace in split] == [trace.session_id for trace in traces(recorded)]
