"""
Spans and log records of one trace, assembled (design §4, dialects reference §4 and §5).
"""

from typing import Any

import pytest
from builders import ABSENT, TraceBuilder, a_call, a_span_id, a_trace, at
from msgspec.structs import replace

from proto_adapters.canonical import CanonicalTrace, CompletionState, Problem, Shape, SpanKind
from proto_adapters.trace_assembly import AssemblyOptions

HIDDEN, NONE, READ, STALE = (
    CompletionState.HIDDEN,
    CompletionState.NONE,
    CompletionState.READ,
    CompletionState.STALE,
)


def asked_for(trace: CanonicalTrace) -> list[str]:
    return [call.name for _, call in trace.embedded]


def unreadable(trace: CanonicalTrace) -> int:
    """
    LLM spans that make a trace partial: not readable and no repetition.
    """
    llm = (span for span in trace.spans if span.kind is SpanKind.LLM)
    return sum(span.duplicate_of is None and not span.completion.is_readable for span in llm)


def test_spans_and_calls_stand_in_order_of_start_and_span_id() -> None:
    trace = a_trace().agent().tool("c", 5, 6).tool("b", 3, 9, span_id=b"zzzzzzzz").tool("a", 3, 4).assembled()

    assert [call.name for call in trace.calls] == ["a", "b", "c"]
    assert [span.start_ns for span in trace.spans] == [at(0), at(3), at(3), at(5)]


@pytest.mark.parametrize(
    ("builder", "shape"),
    [
        pytest.param(a_trace().agent().tool("x").llm("y"), Shape.TOOL_SPANS, id="a tool span"),
        pytest.param(a_trace().tool(None).llm("y"), Shape.TOOL_SPANS, id="a nameless tool span"),
        pytest.param(a_trace().tool("x", executed=False).llm("y"), Shape.TOOL_SPANS, id="a refused tool span"),
        pytest.param(a_trace().agent().llm(completion=NONE), Shape.LLM_EMBEDDED, id="only a model span"),
        pytest.param(a_trace().agent().chain(), None, id="neither"),
        pytest.param(a_trace(), None, id="no spans"),
    ],
)
def test_one_tool_span_decides_the_shape(builder: TraceBuilder, shape: Shape | None) -> None:
    assert builder.assembled().shape is shape


def test_refused_calls_are_not_called_and_nameless_ones_are_counted() -> None:
    trace = a_trace().agent().tool("x", 1, 2, executed=False).tool(None, 3, 4).tool("y", 5, 6).assembled()

    assert [call.name for call in trace.calls] == ["y"]
    assert trace.called_names == ("y",)
    assert trace.nameless_calls == 1


def test_the_called_names_of_a_trace_without_tool_spans_stand_in_its_completions() -> None:
    builder = a_trace().agent().llm("y", "x", start=1).llm("x", start=2)

    assert builder.assembled().called_names == ("y", "x")
    assert builder.tool("z", 3, 4).assembled().called_names == ("z",)


@pytest.mark.parametrize("times", [{"start_ns": 0}, {"end_ns": at(-1)}, {"end_ns": None}])
def test_a_call_with_impossible_or_no_end_keeps_its_presence_only(times: dict[str, object]) -> None:
    trace = a_trace().tool("x", 0, 1, **times).assembled()

    assert [(call.name, call.end_ns) for call in trace.calls] == [("x", None)]


def test_arguments_and_marks_of_a_span_reach_its_call() -> None:
    call = a_trace().tool("x", tool_arguments={"n": 1}, control_tool=True, order_evidence=False).assembled().calls[0]

    assert (call.arguments, call.control_tool, call.order_evidence) == ({"n": 1}, True, False)


class TestPendingSpans:
    def test_a_pending_span_is_dropped_once_its_span_is_there(self) -> None:
        trace = (
            a_trace()
            .agent(label="root")
            .tool("x", 1, 9, label="real")
            .tool("x", 1, 1, pending=True, pending_for=a_span_id(2), span_id=a_span_id(99))
            .assembled()
        )

        assert [span.span_id for span in trace.spans] == [a_span_id(1), a_span_id(2)]

    def test_a_pending_span_alone_becomes_an_unfinished_span_with_the_announced_id(self) -> None:
        trace = a_trace().agent().tool("x", 1, 1, pending=True, pending_for=a_span_id(7)).assembled()

        unfinished = trace.spans[1]
        assert (unfinished.span_id, unfinished.parent_span_id) == (a_span_id(7), a_span_id(1))
        assert (unfinished.end_ns, unfinished.order_evidence, unfinished.pending) == (None, False, True)
        assert [call.end_ns for call in trace.calls] == [None]

    def test_two_announcements_of_one_span_are_one_unfinished_span(self) -> None:
        twice = {"pending": True, "pending_for": a_span_id(7)}

        assert len(a_trace().agent().tool("x", 1, 1, **twice).tool("x", 2, 2, **twice).assembled().calls) == 1

    def test_children_hang_from_the_announced_span(self) -> None:
        trace = (
            a_trace()
            .agent(pending=True, pending_for=a_span_id(7), session_id="s")
            .tool("x", 1, 2, parent_span_id=a_span_id(7), session_id="inner")
            .assembled()
        )

        assert (trace.session_id, trace.other_session_ids) == ("s", ("inner",))


class TestLogRecords:
    def test_a_log_record_makes_a_hidden_completion_readable(self) -> None:
        problem: dict[str, Any] = {
            "problems": (Problem.DIALECT_CONFLICT, Problem.COMPLETION_HIDDEN),
            "problem_details": ("a", "b"),
        }
        trace = a_trace().agent().llm(completion=HIDDEN, label="chat", **problem).log("chat", "x", "y").assembled()

        assert asked_for(trace) == ["x", "y"]
        assert unreadable(trace) == 0
        assert trace.spans[1].problems == (Problem.DIALECT_CONFLICT,)
        assert trace.spans[1].problem_details == ("a",)

    def test_calls_on_the_span_win_over_calls_in_log_records(self) -> None:
        trace = a_trace().agent().llm(a_call("x", "call_1"), label="chat").log("chat", "x").assembled()

        assert [(call.name, call.call_id) for _, call in trace.embedded] == [("x", "call_1")]

    def test_records_of_several_choices_are_added_and_repeated_calls_are_merged(self) -> None:
        trace = (
            a_trace()
            .agent()
            .llm(completion=HIDDEN, label="chat")
            .log("chat", a_call("x", "call_1"), a_call("y", None, index=1))
            .log("chat", a_call("x", "call_1"), a_call("y", "call_2", index=1), a_call("z", candidate=1))
            .log("chat", a_call("x", "call_1"), a_call("y", None, index=1))
            .assembled()
        )

        assert [(call.name, call.call_id) for _, call in trace.embedded] == [
            ("x", "call_1"),
            ("y", "call_2"),
            ("z", None),
        ]

    def test_a_call_that_two_records_place_differently_is_one_call(self) -> None:
        trace = (
            a_trace()
            .agent()
            .llm(completion=HIDDEN, label="chat")
            .log("chat", a_call("x", "call_1"))
            .log("chat", a_call("x", "call_1", index=1))
            .assembled()
        )

        assert [call.index for call in trace.spans[1].embedded_calls] == [0]

    @pytest.mark.parametrize(
        ("on_span", "in_log", "state"),
        [
            (HIDDEN, READ, READ),
            (NONE, HIDDEN, HIDDEN),
            (READ, HIDDEN, READ),
            (CompletionState.TRUNCATED, READ, READ),
            (STALE, READ, STALE),
        ],
    )
    def test_a_completion_is_known_as_well_as_its_best_source(
        self, on_span: CompletionState, in_log: CompletionState, state: CompletionState
    ) -> None:
        trace = a_trace().agent().llm(completion=on_span, label="chat").log("chat", completion=in_log).assembled()

        assert trace.spans[1].completion is state

    def test_a_log_record_never_makes_a_call_of_another_span(self) -> None:
        builder = a_trace().agent(label="agent").log("agent", "x")

        assert builder.assembled().embedded == ()
        assert builder.assembled().spans[0].embedded_calls == ()


class TestRepeatedCompletions:
    def test_one_response_id_is_one_completion_read_from_the_best_span(self) -> None:
        trace = (
            a_trace()
            .agent()
            .llm(completion=HIDDEN, response_id="msg_1")
            .llm(a_call("x", "call_1"), response_id="msg_1")
            .assembled()
        )

        assert asked_for(trace) == ["x"]
        assert unreadable(trace) == 0

    def test_one_response_id_with_different_calls_is_no_repetition(self) -> None:
        trace = a_trace().agent().llm("x", response_id="mock").llm("y", response_id="mock").assembled()

        assert asked_for(trace) == ["x", "y"]

    @pytest.mark.parametrize("outer_reads", [True, False])
    def test_a_hidden_duplicate_never_makes_the_trace_partial(self, *, outer_reads: bool) -> None:
        builder = a_trace().agent()
        if outer_reads:
            builder.llm("x", label="outer").llm(completion=HIDDEN, under="outer")
        else:
            builder.llm(completion=HIDDEN, label="outer").llm("x", under="outer")

        assert asked_for(builder.assembled()) == ["x"]
        assert unreadable(builder.assembled()) == 0

    @pytest.mark.parametrize(
        ("own", "hidden"),
        [
            pytest.param({"start": 1, "end": 9}, 0, id="inside its only sibling"),
            pytest.param({"start": 1, "end": 12}, 1, id="longer than its sibling"),
            pytest.param({"start": 41, "end": 42}, 1, id="inside a sibling with a response id of its own"),
            pytest.param({"start": 22, "end": 23}, 1, id="inside two siblings"),
            pytest.param({"start": 1, "end": 9, "dialects": ("otel_genai_messages",)}, 1, id="of an instrumentation"),
        ],
    )
    def test_a_clients_own_span_repeats_the_one_instrumented_request_around_it(
        self, own: dict[str, Any], hidden: int
    ) -> None:
        trace = (
            a_trace()
            .agent()
            .llm("x", end=10)
            .llm("y", start=20, end=30)
            .llm("z", start=21, end=25)
            .llm(start=40, end=50, response_id="other")
            .llm(**({"completion": HIDDEN, "dialects": ("anthropic_sdk",)} | own))
            .assembled()
        )

        assert unreadable(trace) == hidden
        assert asked_for(trace) == ["x", "y", "z"]

    def test_the_same_call_read_from_two_nested_spans_counts_once(self) -> None:
        trace = (
            a_trace().agent().llm("x", label="outer").chain(under="outer", label="c").llm("x", under="c").assembled()
        )

        assert asked_for(trace) == ["x"]

    def test_a_span_around_several_completions_counts_none_of_its_own(self) -> None:
        trace = (
            a_trace()
            .agent()
            .llm("y", label="loop", end=20)
            .llm("x", start=1, under="loop")
            .llm("y", start=2, under="loop")
            .assembled()
        )

        assert asked_for(trace) == ["x", "y"]

    @pytest.mark.parametrize(
        ("outer", "inner", "requests"),
        [
            pytest.param(["x"], [["y"]], ["x", "y"], id="different calls"),
            pytest.param(["x", "y"], [["z"]], ["x", "y", "z"], id="more calls, but others"),
            pytest.param(["x", "y"], [["x"]], ["x", "y"], id="the outer tells more"),
            pytest.param(["x"], [["x"], ["x"]], ["x", "x"], id="the inner ones tell more"),
        ],
    )
    def test_nested_completions_with_calls_of_their_own_are_several(
        self, outer: list[str], inner: list[list[str]], requests: list[str]
    ) -> None:
        builder = a_trace().agent().llm(*outer, label="outer", end=20)
        for place, calls in enumerate(inner):
            builder.llm(*calls, start=place + 1, under="outer")

        assert asked_for(builder.assembled()) == requests

    def test_a_span_that_sums_up_several_completions_is_not_when_they_were_asked_for(self) -> None:
        trace = (
            a_trace()
            .agent()
            .llm("x", "y", label="loop", end=20)
            .llm("x", start=1, under="loop")
            .llm("y", start=2, under="loop")
            .assembled()
        )

        assert [span.start_ns for span, _ in trace.embedded] == [at(1), at(2)]

    def test_what_is_asked_inside_a_run_is_no_repetition_of_what_asked_for_the_run(self) -> None:
        trace = (
            a_trace()
            .agent()
            .llm("x", label="outer")
            .llm(under="outer", label="run", completion=STALE)
            .llm("x", under="run")
            .assembled()
        )

        assert asked_for(trace) == ["x", "x"]

    def test_a_hidden_completion_beside_readable_ones_below_one_span_stays_hidden(self) -> None:
        trace = (
            a_trace()
            .agent()
            .llm(label="loop", end=20)
            .llm("x", start=1, under="loop")
            .llm(start=2, under="loop", completion=HIDDEN)
            .assembled()
        )

        assert asked_for(trace) == ["x"]
        assert unreadable(trace) == 1

    @pytest.mark.parametrize("between", [SpanKind.AGENT, SpanKind.TOOL])
    def test_a_model_asked_by_an_agent_or_tool_below_a_model_span_answers_for_itself(self, between: SpanKind) -> None:
        trace = (
            a_trace()
            .agent()
            .llm("x", label="outer")
            .span(between, under="outer", label="between", tool_name="t")
            .llm("x", under="between")
            .assembled()
        )

        assert asked_for(trace) == ["x", "x"]

    def test_every_repetition_names_the_span_that_counts(self) -> None:
        builder = (
            a_trace()
            .agent()
            .llm("x", label="outer")
            .llm(completion=HIDDEN, under="outer", label="middle")
            .llm(completion=HIDDEN, under="middle", label="inner")
        )

        repeated = {span.duplicate_of for span in builder.assembled().spans if span.duplicate_of}
        assert repeated == {builder.id_of("outer")}

    def test_the_same_call_id_in_two_completions_is_one_request(self) -> None:
        call = a_call("x", "call_1")

        assert asked_for(a_trace().agent().llm(call, start=1).llm(call, start=2).assembled()) == ["x"]
        assert asked_for(a_trace().agent().llm("x", start=1).llm("x", start=2).assembled()) == ["x", "x"]

    def test_calls_of_unreadable_completions_are_not_asked_for(self) -> None:
        assert a_trace().agent().llm("x", completion=CompletionState.TRUNCATED).assembled().embedded == ()


class TestCorrections:
    def test_a_model_span_around_tool_calls_holds_several_responses(self) -> None:
        trace = (
            a_trace()
            .llm("y", name="invoke_agent trip", label="run", end=20)
            .chain(start=1, end=5, under="run", label="step")
            .tool("x", 2, 3, under="step")
            .llm("x", start=1, under="run")
            .assembled()
        )

        assert trace.spans[0].completion is STALE
        assert asked_for(trace) == ["y", "x"]

    def test_a_model_span_with_another_name_keeps_its_completion(self) -> None:
        trace = a_trace().llm("y", name="call_llm", label="run", end=20).tool("x", 2, 3, under="run").assembled()

        assert trace.spans[0].completion is READ

    def test_a_claude_code_tool_without_an_execution_was_refused(self) -> None:
        trace = (
            a_trace()
            .agent()
            .tool("Read", 1, 4, dialects=("claude_code",), label="ran")
            .chain("claude_code.tool.execution", 2, 3, under="ran")
            .tool("Bash", 5, 6, dialects=("claude_code",), label="denied")
            .chain("claude_code.tool.blocked_on_user", 5, 6, under="denied")
            .tool("Grep", 7, None, dialects=("claude_code",))
            .assembled()
        )

        assert [call.name for call in trace.calls] == ["Read", "Grep"]

    @pytest.mark.parametrize(
        ("agent", "key", "name"),
        [("trip", "span name", "search"), ("trip", "tool.name", "trip.search"), ("other", "span name", "trip.search")],
    )
    def test_an_agents_name_before_the_tool_goes_only_from_span_names(self, agent: str, key: str, name: str) -> None:
        trace = a_trace().agent(agent).tool("trip.search", tool_name_key=key).assembled()

        assert [call.name for call in trace.calls] == [name]

    @pytest.mark.parametrize(
        ("recorded", "names"),
        [
            pytest.param(["x_1", "x_2", "y"], ["x", "x", "y"], id="the whole series"),
            pytest.param(["x_1", "x_3"], ["x_1", "x_3"], id="a gap"),
            pytest.param(["x", "x_1", "x_2"], ["x", "x_1", "x_2"], id="the plain name beside it"),
            pytest.param(["x_1"], ["x_1"], id="one number is no series"),
        ],
    )
    def test_numbered_span_names_are_one_tool_if_the_series_is_whole(
        self, recorded: list[str], names: list[str]
    ) -> None:
        builder = a_trace().agent()
        for position, name in enumerate(recorded):
            builder.tool(name, position, position + 0.5, dialects=("mlflow",), tool_name_key="span name")

        assert [call.name for call in builder.assembled().calls] == names

    def test_handoffs_are_calls_only_if_asked_for(self) -> None:
        builder = a_trace().agent().chain("handoff to hotels", 1, 2, handoff=True)

        assert builder.assembled().calls == ()
        assert builder.assembled().shape is None
        counted = builder.assembled(AssemblyOptions(handoffs_as_tools=True))
        assert [(call.name, call.control_tool) for call in counted.calls] == [("handoff to hotels", True)]


class TestSessionsAndAgents:
    def test_the_session_of_a_trace_is_the_one_nearest_its_root(self) -> None:
        trace = (
            a_trace()
            .chain(label="root", end=50)
            .agent("outer", 1, 40, label="outer", session_id="outer")
            .agent("inner", 0.5, 30, under="outer", session_id="inner")
            .tool("x", 2, 3, under="outer", session_id="outer")
            .assembled()
        )

        assert (trace.session_id, trace.other_session_ids) == ("outer", ("inner",))

    def test_of_equally_near_sessions_the_earliest_wins(self) -> None:
        trace = a_trace().chain().llm(start=2, session_id="late").llm(start=1, session_id="early").assembled()

        assert trace.session_id == "early"

    def test_a_span_cut_off_from_the_root_is_farther_than_any_that_is_not(self) -> None:
        trace = (
            a_trace()
            .chain()
            .agent(under=ABSENT, start=-1, session_id="cut off")
            .llm(start=1, session_id="below the root")
            .assembled()
        )

        assert trace.session_id == "below the root"

    def test_a_trace_without_a_genai_span_has_no_session(self) -> None:
        trace = a_trace().span(SpanKind.UNKNOWN, session_id="browser").assembled()

        assert trace.session_id is None

    def test_the_agent_of_a_trace_is_the_outermost(self) -> None:
        trace = (
            a_trace()
            .chain(end=50)
            .chain("step", 0, 20, label="step")
            .agent("inner", 0, 20, under="step")
            .agent("outer", 21, 40)
            .assembled()
        )

        assert trace.agent_span is not None
        assert trace.agent_span.agent_name == "outer"

    @pytest.mark.parametrize(
        ("builder", "server_only"),
        [
            pytest.param(a_trace().mcp_server("x", 0, 9, label="s").llm(under="s"), True, id="a server and its work"),
            pytest.param(
                a_trace().span(SpanKind.UNKNOWN, label="http").mcp_server("x"), True, id="below its transport"
            ),
            pytest.param(a_trace().agent().mcp_server("x"), False, id="below an agent"),
            pytest.param(a_trace().mcp_client("x"), False, id="a client"),
            pytest.param(a_trace().span(SpanKind.UNKNOWN), False, id="nothing of GenAI"),
        ],
    )
    def test_a_trace_of_mcp_server_spans_is_a_fragment(self, builder: TraceBuilder, *, server_only: bool) -> None:
        assert builder.assembled().server_only is server_only


class TestTreesOfAnyForm:
    def test_a_chain_of_ten_thousand_spans_is_walked_without_recursion(self) -> None:
        builder = a_trace().agent("planner", 0, 20_000)
        template = builder.spans[0]
        for depth in range(1, 10_000):
            parent = builder.spans[-1].span_id
            span_id = a_span_id(depth + 1)
            builder.spans.append(
                replace(template, span_id=span_id, parent_span_id=parent, kind=SpanKind.LLM, completion=HIDDEN)
            )

        assert unreadable(builder.assembled()) == 1

    def test_a_wide_and_deep_tree_of_completions_is_settled(self) -> None:
        builder = a_trace().llm(end=20_000)
        template = builder.spans[0]
        parent = builder.spans[0].span_id
        for depth in range(1, 5_000):
            spine, leaf = a_span_id(2 * depth + 1), a_span_id(2 * depth + 2)
            builder.spans.append(replace(template, span_id=spine, parent_span_id=parent))
            builder.spans.append(replace(template, span_id=leaf, parent_span_id=parent, embedded_calls=(a_call("x"),)))
            parent = spine

        assert len(builder.assembled().embedded) == 4_999

    def test_a_cycle_of_parents_is_cut_at_its_earliest_span(self) -> None:
        first, second, third = a_span_id(1), a_span_id(2), a_span_id(3)
        trace = (
            a_trace()
            .tool("x", 0, 9, parent_span_id=third)
            .tool("x", 1, 8, parent_span_id=first)
            .tool("x", 2, 7, parent_span_id=second)
            .tool("y", 3, 4, span_id=a_span_id(4), parent_span_id=a_span_id(4))
            .assembled()
        )

        assert [(call.name, call.span_id) for call in trace.calls] == [("x", first), ("y", a_span_id(4))]

    def test_a_branch_that_leads_into_a_cycle_does_not_decide_where_it_is_cut(self) -> None:
        first, second = a_span_id(2), a_span_id(3)
        trace = (
            a_trace()
            .chain(start=0, parent_span_id=second)
            .tool("x", 1, 8, parent_span_id=second)
            .tool("x", 2, 7, parent_span_id=first)
            .assembled()
        )

        assert [call.span_id for call in trace.calls] == [first]
