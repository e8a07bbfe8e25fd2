"""
Evidence and coverage of one trace.
"""

from collections.abc import Callable

import pytest
from builders import ABSENT, SERVER, TraceBuilder, a_call, a_trace

from proto_adapters.canonical import CompletionState, Problem, Shape, SpanKind
from service.durations import MINUTE
from service.evidence import CoverageBasis, CoverageReason, ToolEvidence
from service.root_condition import AttributeMatch, RootCondition
from service.scoring.evidence import DEFAULT_SETTINGS, ClosingFacts, EvidenceSettings, build_evidence

COMPLETE = ClosingFacts()
WHOLE_MILLISECOND = 1_700_000_000_000_000_000


def evidence_of(
    trace: TraceBuilder, facts: ClosingFacts = COMPLETE, settings: EvidenceSettings = DEFAULT_SETTINGS
) -> ToolEvidence:
    return build_evidence(trace.assembled(), facts, settings)


def a_run() -> TraceBuilder:
    return a_trace().agent()


REASONS: dict[str, tuple[Callable[[], TraceBuilder], set[CoverageReason]]] = {
    "whole": (lambda: a_run().tool("a"), set()),
    "no-root": (
        lambda: a_trace().tool("a", under=ABSENT),
        {CoverageReason.NO_ROOT, CoverageReason.MISSING_PARENT},
    ),
    "two-roots": (lambda: a_run().agent("other", parent_span_id=None), {CoverageReason.MANY_ROOTS}),
    "absent-parent": (lambda: a_run().tool("a", under=ABSENT), {CoverageReason.MISSING_PARENT}),
    "cycle": (
        lambda: (
            a_run()
            .chain(span_id=b"_____one", parent_span_id=b"_____two")
            .chain(span_id=b"_____two", parent_span_id=b"_____one")
        ),
        {CoverageReason.MISSING_PARENT},
    ),
    "unfinished": (lambda: a_run().tool("a", end=None), {CoverageReason.SPAN_UNFINISHED}),
    "end-before-start": (lambda: a_run().tool("a", 5, 3), {CoverageReason.SPAN_TIME_INVALID}),
    "no-start": (lambda: a_run().tool("a", start_ns=0), {CoverageReason.SPAN_TIME_INVALID}),
    "attributes-dropped-of-a-tool": (
        lambda: a_run().tool("a", dropped_attributes_count=1),
        {CoverageReason.ATTRIBUTES_DROPPED},
    ),
    "attributes-dropped-of-an-unknown-span": (
        lambda: a_run().span(SpanKind.UNKNOWN, dropped_attributes_count=1).tool("a"),
        {CoverageReason.ATTRIBUTES_DROPPED},
    ),
    "attributes-dropped-of-a-retriever": (
        lambda: a_run().span(SpanKind.RETRIEVER, dropped_attributes_count=1).tool("a"),
        set(),
    ),
    "events-dropped-that-may-hold-calls": (
        lambda: a_run().llm(dropped_events_count=1).tool("a"),
        {CoverageReason.ATTRIBUTES_DROPPED},
    ),
    "nameless-tool": (lambda: a_run().tool(None), {CoverageReason.TOOL_NAME_MISSING}),
    "name-conflict": (
        lambda: a_run().tool(None, problems=(Problem.TOOL_NAME_CONFLICT,)),
        {CoverageReason.TOOL_NAME_CONFLICT, CoverageReason.TOOL_NAME_MISSING},
    ),
    "hidden-completion": (
        lambda: a_run().llm(completion=CompletionState.HIDDEN),
        {CoverageReason.COMPLETION_HIDDEN},
    ),
    "hidden-completion-beside-tool-spans": (lambda: a_run().llm(completion=CompletionState.HIDDEN).tool("a"), set()),
    "failed-before-an-answer": (lambda: a_run().llm(completion=CompletionState.NONE), set()),
    "undecodable": (
        lambda: a_run().tool("a").span(SpanKind.UNKNOWN, problems=(Problem.SPAN_UNDECODABLE,)),
        {CoverageReason.SPAN_UNDECODABLE},
    ),
}


@pytest.mark.parametrize(("build", "reasons"), REASONS.values(), ids=REASONS)
def test_coverage_has_exactly_the_reasons_that_apply(
    build: Callable[[], TraceBuilder], reasons: set[CoverageReason]
) -> None:
    assert reasons == set(evidence_of(build()).coverage.reasons)


def test_what_the_buffer_knows_is_part_of_the_coverage() -> None:
    facts = ClosingFacts(closed_by_root=False, reasons=frozenset({CoverageReason.EVICTED}))

    assert (CoverageReason.EVICTED, CoverageReason.NOT_CLOSED_BY_ROOT) == evidence_of(
        a_run().tool("a"), facts
    ).coverage.reasons


@pytest.mark.parametrize(
    ("started_after_ns", "is_restarted"),
    [
        pytest.param(0, False, id="the-process-is-older"),
        pytest.param(MINUTE, True, id="the-trace-was-open-at-the-start"),
        pytest.param(100 * MINUTE, False, id="the-trace-ended-long-before"),
    ],
)
def test_a_trace_that_was_open_at_the_start_is_restarted(*, started_after_ns: int, is_restarted: bool) -> None:
    trace = a_run().tool("a")
    begun_ns = trace.spans[0].start_ns
    facts = ClosingFacts(process_start_ns=begun_ns + started_after_ns)

    evidence = evidence_of(trace, facts, EvidenceSettings(restart_window_ns=5 * MINUTE))

    assert is_restarted == (CoverageReason.RESTARTED in evidence.coverage.reasons)


@pytest.mark.parametrize(
    ("changed_after_ns", "is_affected"),
    [
        pytest.param(0, False, id="the-change-is-older"),
        pytest.param(MINUTE, True, id="the-trace-was-open-at-the-change"),
        pytest.param(100 * MINUTE, False, id="the-trace-ended-long-before"),
    ],
)
def test_earlier_spans_of_a_trace_may_be_at_another_replica(*, changed_after_ns: int, is_affected: bool) -> None:
    trace = a_run().tool("a")
    facts = ClosingFacts(replicas_since_ns=trace.spans[0].start_ns + changed_after_ns)

    evidence = evidence_of(trace, facts, EvidenceSettings(restart_window_ns=5 * MINUTE))

    assert is_affected == (CoverageReason.MEMBERSHIP_CHANGED in evidence.coverage.reasons)


def test_a_remote_parent_is_vouched_for_where_it_may_be_a_root() -> None:
    trace = a_trace().agent(under=ABSENT, otel_kind=SERVER)
    settings = EvidenceSettings(root_condition=RootCondition(accept_remote_parent=True))

    assert evidence_of(trace, settings=settings).coverage.is_complete
    assert not evidence_of(trace).coverage.is_complete


def test_the_root_may_declare_that_the_trace_is_whole() -> None:
    settings = EvidenceSettings(completeness_attribute="whole")

    bases = [
        evidence_of(a_trace().agent(selected={"whole": value}), settings=settings).coverage.basis
        for value in (True, False, "true")
    ]

    assert [CoverageBasis.DECLARED, CoverageBasis.INFERRED, CoverageBasis.INFERRED] == bases


@pytest.mark.parametrize(
    ("build", "would_be_seen"),
    [
        pytest.param(lambda: a_run().tool(None), True, id="a-tool-span"),
        pytest.param(lambda: a_run().llm(), True, id="readable-completions"),
        pytest.param(lambda: a_run().llm().llm(completion=CompletionState.HIDDEN), False, id="a-hidden-completion"),
        pytest.param(a_run, False, id="neither"),
    ],
)
def test_tools_would_have_been_seen_or_not(*, build: Callable[[], TraceBuilder], would_be_seen: bool) -> None:
    assert would_be_seen == evidence_of(build()).has_tool_evidence


def test_the_two_shapes_are_never_mixed() -> None:
    evidence = evidence_of(a_run().tool("a").llm("b"))

    assert ((Shape.TOOL_SPANS,), ("a",), ()) == (evidence.shapes, evidence.called_names, evidence.embedded_calls)
    assert ("b",) == evidence.requested_names


def test_a_start_cut_to_milliseconds_means_a_later_end() -> None:
    trace = a_run().tool("a", start_ns=WHOLE_MILLISECOND, end_ns=WHOLE_MILLISECOND + 5).tool("b")

    slack = {call.name: call.end_slack_ns for call in evidence_of(trace).calls}
    off = {
        call.name: call.end_slack_ns for call in evidence_of(trace, settings=EvidenceSettings(resolution_ns=0)).calls
    }

    assert ({"a": 1_000_000, "b": 0}, {"a": 0, "b": 0}) == (slack, off)


def test_control_tools_are_no_observed_calls() -> None:
    evidence = evidence_of(a_run().tool("final_answer", control_tool=True))

    assert (1, 0) == (len(evidence.calls), evidence.observed_call_count)


def test_embedded_calls_span_from_request_to_the_span_with_their_result() -> None:
    trace = (
        a_run()
        .llm(a_call("a", "1"), start=0, end=1)
        .llm(a_call("b", "2"), start=5, end=6, result_call_ids=("1",))
        .llm(start=9, end=10, result_call_ids=("1", "2"))
    )

    on = evidence_of(trace, settings=EvidenceSettings(order_from_embedded_calls=True)).embedded_calls
    off = evidence_of(trace).embedded_calls

    starts = [span.start_ns for span in trace.spans[1:]]
    assert [(starts[0], starts[1]), (starts[1], starts[2])] == [(call.start_ns, call.end_ns) for call in on]
    assert [None, None] == [call.end_ns for call in off]


def test_an_attribute_root_ignores_parents() -> None:
    settings = EvidenceSettings(root_condition=RootCondition(attributes=(AttributeMatch("op", ("run",)),)))
    trace = a_trace().agent(under=ABSENT, selected={"op": "run"}, label="run").tool("a", under="run")

    assert evidence_of(trace, settings=settings).coverage.is_complete
