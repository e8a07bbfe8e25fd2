"""
What assembly may not depend on: the order in which spans and log records came.
"""

from collections.abc import Sequence

from builders import CLIENT, SERVER, a_call, a_span, a_span_id, a_trace_id, at
from hypothesis import given
from hypothesis import strategies as st

from proto_adapters.canonical import CanonicalSpan, CompletionState, LogCompletion, SpanKind
from proto_adapters.trace_assembly import assemble

COUNT = 12
NAMES = st.sampled_from(["x", "y", "mcp__trips__x", "trips_x", None])
SOMETIMES = st.sampled_from([None, "a", "b"])


@st.composite
def spans(draw: st.DrawFn) -> list[CanonicalSpan]:
    """
    Any tree, forest or cycle of few spans that look alike, so that every rule has something to join.
    """
    return [draw(a_similar_span(number)) for number in range(1, draw(st.integers(1, COUNT)) + 1)]


@st.composite
def a_similar_span(draw: st.DrawFn, number: int) -> CanonicalSpan:
    start = draw(st.integers(0, 4))
    pending = draw(st.sampled_from([False] * 9 + [True]))
    return a_span(
        draw(st.sampled_from([SpanKind.TOOL] * 3 + [SpanKind.LLM] * 2 + [SpanKind.AGENT, SpanKind.CHAIN])),
        start,
        draw(st.sampled_from([start, start + 1, start + 3, None])),
        span_id=a_span_id(number),
        parent_span_id=draw(st.none() | st.integers(1, COUNT + 1).map(a_span_id)),
        otel_kind=draw(st.sampled_from([1, SERVER, CLIENT])),
        mcp_method=draw(st.sampled_from([None, "tools/call"])),
        mcp_session_id=draw(SOMETIMES),
        mcp_request_id=draw(SOMETIMES),
        tool_name=draw(NAMES),
        tool_call_id=draw(SOMETIMES),
        session_id=draw(SOMETIMES),
        response_id=draw(SOMETIMES),
        arguments_digest=draw(st.sampled_from([None, b"1", b"2"])),
        executed=draw(st.sampled_from([None, None, None, False])),
        completion=draw(st.sampled_from(CompletionState)),
        embedded_calls=tuple(a_call(name) for name in draw(st.lists(st.sampled_from(["x", "y"]), max_size=2))),
        pending=pending,
        pending_for=draw(st.integers(1, COUNT).map(a_span_id)) if pending else None,
    )


@st.composite
def logs(draw: st.DrawFn) -> LogCompletion:
    calls = draw(st.lists(st.sampled_from(["x", "y", "z"]), max_size=2))
    return LogCompletion(
        a_trace_id(),
        a_span_id(draw(st.integers(1, COUNT))),
        draw(st.binary(min_size=1, max_size=1)),
        draw(st.sampled_from(CompletionState)),
        tuple(a_call(name, draw(SOMETIMES), index=place) for place, name in enumerate(calls)),
    )


def told(spans: Sequence[CanonicalSpan], records: Sequence[LogCompletion]) -> object:
    """
    Everything a trace tells, as values that compare by content.
    """
    trace = assemble(spans, records)
    return (
        [
            (span.span_id, span.kind, span.tool_name, span.duplicate_of, span.duplicate_rule, span.completion)
            for span in trace.spans
        ],
        trace.shape,
        trace.calls,
        trace.called_names,
        trace.nameless_calls,
        [(span.span_id, call) for span, call in trace.embedded],
        trace.session_id,
        trace.other_session_ids,
        trace.agent_span and trace.agent_span.span_id,
        trace.server_only,
    )


@given(st.data(), spans(), st.lists(logs(), max_size=4, unique_by=lambda log: log.digest))
def test_any_arrival_order_gives_the_same_trace(
    data: st.DataObject, held: list[CanonicalSpan], records: list[LogCompletion]
) -> None:
    shuffled, shuffled_records = data.draw(st.permutations(held)), data.draw(st.permutations(records))

    assert told(shuffled, shuffled_records) == told(held, records)


@given(spans())
def test_every_call_is_kept_once_and_repetitions_name_a_survivor(held: list[CanonicalSpan]) -> None:
    trace = assemble(held)

    survivors = {span.span_id: span for span in trace.spans if span.duplicate_of is None}
    repeated = [span for span in trace.spans if span.duplicate_of]
    assert all(survivors[span.duplicate_of or b""].kind is span.kind for span in repeated)
    assert all(span.duplicate_rule for span in repeated)
    assert {call.span_id for call in trace.calls} <= survivors.keys()
    assert {call.name for call in trace.calls} <= set(trace.called_names)


@given(spans())
def test_joining_never_widens_or_moves_an_interval(held: list[CanonicalSpan]) -> None:
    times = {span.span_id: (span.start_ns, span.end_ns) for span in held if not span.pending}

    for call in assemble(held).calls:
        if call.span_id in times:
            start, end = times[call.span_id]
            assert call.start_ns == start
            assert call.end_ns in {end, None}


def test_ticks_are_no_whole_milliseconds() -> None:
    assert (at(3) or 0) % 1_000_000 != 0
