"""
Spans and log records of one trace, assembled (design §4, dialects reference §4 and §5).
"""

import pytest
from builders import ABSENT, TraceBuilder, a_call, a_span_id, a_trace, asked_for, at, unreadable
from msgspec.structs import replace

from proto_adapters.canonical import CompletionState, Shape, SpanKind
from proto_adapters.trace_assembly import AssemblyOptions


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
        pytest.param(
            a_trace().agent().llm(completion=CompletionState.NONE), Shape.LLM_EMBEDDED, id="only a model span"
        ),
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

        assert trace.spans[0].completion is CompletionState.STALE
        assert asked_for(trace) == ["y", "x"]

    def test_a_model_span_with_another_name_keeps_its_completion(self) -> None:
        trace = a_trace().llm("y", name="call_llm", label="run", end=20).tool("x", 2, 3, under="run").assembled()

        assert trace.spans[0].completion is CompletionState.READ

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
                replace(
                    template,
                    span_id=span_id,
                    parent_span_id=parent,
                    kind=SpanKind.LLM,
                    completion=CompletionState.HIDDEN,
                )
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
