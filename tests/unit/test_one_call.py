"""
What is one tool call: rules W1 to W6 (dialects reference §5.5).
"""

import pytest
from builders import ABSENT, TraceBuilder, a_trace, an_origin, at
from msgspec.structs import replace

from proto_adapters.canonical import CanonicalTrace, LinkView, SpanKind, SpanStatus
from proto_adapters.trace_assembly import AssemblyOptions, linked_calls


def names(trace: CanonicalTrace) -> list[str]:
    return [call.name for call in trace.calls]


def rules(trace: CanonicalTrace) -> list[str | None]:
    return [span.duplicate_rule for span in trace.spans if span.duplicate_of]


def framework_over_mcp() -> TraceBuilder:
    server = {"under": "client", "origin": an_origin("trip-tools", "mcp")}
    return (
        a_trace()
        .agent("planner", 0, 50)
        .tool("find_train", 10, 30, label="framework")
        .mcp_client("find_train", 11, 29, under="framework", label="outer client")
        .mcp_client("find_train", 12, 28, under="outer client", label="client")
        .mcp_server("find_train", 13, 27, **server)
    )


def test_a_framework_over_mcp_is_one_call_with_the_outermost_interval() -> None:
    trace = framework_over_mcp().assembled()

    assert names(trace) == ["find_train"]
    assert (trace.calls[0].start_ns, trace.calls[0].end_ns) == (at(10), at(30))
    assert rules(trace) == ["W2", "W2", "W3"]


def test_every_joined_span_names_the_surviving_span() -> None:
    builder = framework_over_mcp()

    trace = builder.assembled()

    repeated = {span.duplicate_of for span in trace.spans if span.duplicate_of}
    assert repeated == {builder.id_of("framework")}


def test_the_survivor_takes_what_only_the_inner_spans_know() -> None:
    inner = {"tool_call_id": "call_7", "mcp_server": "trips", "error_type": "Down", "arguments_digest": b"a" * 16}
    trace = (
        a_trace()
        .tool("x", 0, 10, label="outer", status=SpanStatus.OK)
        .failed_tool("x", 1, 9, under="outer", tool_arguments={"city": "Oslo"}, **inner)
        .assembled()
    )

    survivor = trace.spans[0]
    assert (survivor.tool_call_id, survivor.mcp_server, survivor.error_type) == ("call_7", "trips", "Down")
    assert trace.calls[0].call_id == "call_7"
    assert trace.calls[0].arguments == {"city": "Oslo"}


def test_an_inner_error_does_not_make_the_call_an_error() -> None:
    trace = (
        a_trace()
        .tool("x", 0, 10, label="outer", status=SpanStatus.OK)
        .failed_tool("x", 1, 9, under="outer")
        .assembled()
    )

    assert trace.calls[0].status is SpanStatus.OK


def test_an_unfinished_outermost_span_stays_unfinished() -> None:
    trace = a_trace().tool("x", 0, None, label="outer").tool("x", 1, 9, under="outer").assembled()

    assert [call.end_ns for call in trace.calls] == [None]


@pytest.mark.parametrize(
    ("outer", "inner", "count"),
    [
        pytest.param({}, {}, 1, id="nothing speaks against it"),
        pytest.param({"tool_call_id": "a"}, {"tool_call_id": "b"}, 2, id="other call id"),
        pytest.param({"tool_call_id": "a"}, {}, 1, id="one call id"),
        pytest.param({"arguments_digest": b"1"}, {"arguments_digest": b"2"}, 2, id="other arguments"),
        pytest.param({"arguments_digest": b"1"}, {"arguments_digest": b"1"}, 1, id="the same arguments"),
        pytest.param({}, {"start_ns": at(-5)}, 2, id="began before the outer span"),
        pytest.param({}, {"end_ns": at(15)}, 2, id="ended after the outer span"),
        pytest.param({"start_ns": 1_700_000_000_000_000_000}, {"end_ns": at(10.5)}, 1, id="outer times cut to ms"),
        pytest.param({}, {"start_ns": 0}, 1, id="unknown start"),
        pytest.param({}, {"tool_name": "y"}, 2, id="a tool that calls another tool"),
        pytest.param({}, {"tool_name": "mcp__trips__x"}, 1, id="a namespace inside"),
        pytest.param({"tool_name": "mcp__trips__x"}, {}, 1, id="a namespace outside"),
        pytest.param({"tool_name": "find_x"}, {}, 2, id="a lone underscore without MCP"),
        pytest.param({"tool_name": "find_x"}, {"mcp_method": "tools/call"}, 1, id="a lone underscore with MCP"),
        pytest.param({"tool_name": "mcp_find_x"}, {}, 1, id="a lone underscore in an MCP name"),
    ],
)
def test_nested_spans_of_one_name_are_one_call_unless_they_differ(
    outer: dict[str, object], inner: dict[str, object], count: int
) -> None:
    trace = a_trace().tool("x", 0, 10, label="outer", **outer).tool("x", 1, 9, under="outer", **inner).assembled()

    assert len(trace.calls) == count


@pytest.mark.parametrize(
    ("kind", "count"), [(SpanKind.CHAIN, 1), (SpanKind.UNKNOWN, 1), (SpanKind.AGENT, 2), (SpanKind.LLM, 2)]
)
def test_an_agent_or_model_between_makes_two_calls(kind: SpanKind, count: int) -> None:
    trace = (
        a_trace()
        .tool("ask", 0, 10, label="outer")
        .span(kind, 1, 9, under="outer", label="between")
        .tool("ask", 2, 8, under="between")
        .assembled()
    )

    assert len(trace.calls) == count


def test_an_agent_used_as_a_tool_stays_beside_the_calls_it_makes() -> None:
    trace = (
        a_trace()
        .tool("ask_weather", 0, 10, label="ask")
        .agent("weather", 1, 9, under="ask", label="inner agent")
        .tool("get_weather", 2, 8, under="inner agent")
        .assembled()
    )

    assert names(trace) == ["ask_weather", "get_weather"]


def test_recursion_with_other_arguments_stays_separate_below_an_instrumented_wrapper() -> None:
    trace = (
        a_trace()
        .tool("walk", 0, 10, label="first", arguments_digest=b"/")
        .tool("walk", 1, 9, label="wrapper", under="first")
        .tool("walk", 2, 8, under="wrapper", arguments_digest=b"/home")
        .assembled()
    )

    assert [call.start_ns for call in trace.calls] == [at(0), at(2)]


def test_two_inner_calls_with_different_arguments_are_not_both_the_outer_call() -> None:
    trace = (
        a_trace()
        .tool("x", 0, 10, label="outer")
        .tool("x", 1, 4, under="outer", arguments_digest=b"1")
        .tool("x", 5, 8, under="outer", arguments_digest=b"2")
        .assembled()
    )

    assert [call.start_ns for call in trace.calls] == [at(0), at(5)]


def test_the_outermost_span_survives_even_if_another_clock_says_it_began_later() -> None:
    trace = a_trace().mcp_client("x", 10, 20, label="client").mcp_server("x", 5, 15, under="client").assembled()

    assert [call.start_ns for call in trace.calls] == [at(10)]


def test_a_call_of_the_same_tool_through_another_tool_is_a_call_of_its_own() -> None:
    trace = (
        a_trace()
        .tool("x", 0, 10, label="x")
        .tool("y", 1, 9, under="x", label="y")
        .tool("x", 2, 8, under="y")
        .assembled()
    )

    assert names(trace) == ["x", "y", "x"]


def test_retries_and_parallel_calls_are_separate_calls() -> None:
    trace = a_trace().agent().failed_tool("x", 1, 2).tool("x", 3, 4).tool("x", 3, 4).assembled()

    assert names(trace) == ["x", "x", "x"]


@pytest.mark.parametrize(
    ("second", "count"),
    [
        pytest.param((2, 8), 1, id="inside"),
        pytest.param((5, 15), 1, id="overlapping"),
        pytest.param((12, 15), 2, id="another attempt"),
        pytest.param((10, 15), 2, id="another attempt at once"),
        pytest.param((2, None), 1, id="unfinished inside"),
        pytest.param((12, None), 1, id="unfinished later"),
    ],
)
def test_siblings_with_one_call_id_are_one_call_while_they_overlap(
    second: tuple[float, float | None], count: int
) -> None:
    trace = (
        a_trace()
        .agent()
        .tool("mcp__trips__x", 0, 10, tool_call_id="c")
        .tool("x", *second, tool_call_id="c")
        .assembled()
    )

    assert len(trace.calls) == count
    assert set(rules(trace)) == ({"W1"} if count == 1 else set())


def test_an_unfinished_sibling_does_not_bridge_two_attempts() -> None:
    trace = (
        a_trace()
        .agent()
        .tool("x", 0, 5, tool_call_id="c")
        .tool("x", 3, None, tool_call_id="c")
        .tool("x", 10, 12, tool_call_id="c")
        .assembled()
    )

    assert [(call.start_ns, call.end_ns) for call in trace.calls] == [(at(0), at(5)), (at(10), at(12))]


def test_an_unfinished_sibling_around_two_attempts_is_the_call() -> None:
    trace = (
        a_trace()
        .agent()
        .tool("x", 0, 5, tool_call_id="c")
        .tool("x", 0, None, tool_call_id="c")
        .tool("x", 7, 9, tool_call_id="c")
        .assembled()
    )

    assert [call.end_ns for call in trace.calls] == [None]


def test_two_moments_at_one_time_with_one_call_id_are_one_call() -> None:
    trace = a_trace().agent().tool("x", 3, 3, tool_call_id="c").tool("x", 3, 3, tool_call_id="c").assembled()

    assert len(trace.calls) == 1


def test_of_two_siblings_the_one_that_contains_the_other_survives() -> None:
    trace = a_trace().agent().tool("x", 0, 5, tool_call_id="c").tool("x", 0, 10, tool_call_id="c").assembled()

    assert [call.end_ns for call in trace.calls] == [at(10)]


@pytest.mark.parametrize(
    "other", [{"tool_call_id": "d"}, {"tool_name": "y"}, {"tool_call_id": None}, {"tool_call_id": "0"}]
)
def test_siblings_without_a_common_id_and_name_are_separate_calls(other: dict[str, object]) -> None:
    first = {"tool_call_id": "0"} if other.get("tool_call_id") == "0" else {"tool_call_id": "c"}
    trace = a_trace().agent().tool("x", 0, 10, **first).tool("x", 1, 9, **({"tool_call_id": "c"} | other)).assembled()

    assert len(trace.calls) == 2


def test_client_and_server_of_one_json_rpc_request_are_one_call() -> None:
    request = {"mcp_session_id": "s", "mcp_request_id": "4"}
    trace = a_trace().agent().mcp_client("x", 0, 9, **request).mcp_server("ns.x", 20, 29, **request).assembled()

    assert names(trace) == ["x"]
    assert rules(trace) == ["W3"]


def test_requests_of_two_mcp_sessions_are_two_calls() -> None:
    trace = (
        a_trace()
        .agent()
        .mcp_client("x", 0, 9, mcp_session_id="s", mcp_request_id="4")
        .mcp_server("x", 20, 29, mcp_session_id="t", mcp_request_id="4")
        .assembled()
    )

    assert len(trace.calls) == 2


def test_a_mounted_server_repeats_the_call_of_its_gateway() -> None:
    trace = a_trace().mcp_server("trips_x", 0, 10, label="gateway").mcp_server("x", 1, 20, under="gateway").assembled()

    assert names(trace) == ["trips_x"]
    assert rules(trace) == ["W4"]
    assert trace.calls[0].aliases == ("x",)


def test_a_server_below_its_caller_is_joined_whatever_its_clock_says() -> None:
    server = an_origin("trip-tools")
    trace = a_trace().tool("x", 0, 10, label="caller").mcp_server("x", 500, 510, under="caller", origin=server)

    assert len(trace.assembled().calls) == 1


def test_another_process_gets_the_clock_tolerance() -> None:
    elsewhere = an_origin("trip-tools")
    trace = a_trace().tool("x", 0, 10, label="caller").tool("x", 2, 12, under="caller", origin=elsewhere)

    assert len(trace.assembled().calls) == 2
    assert len(trace.assembled(AssemblyOptions(clock_tolerance_ns=2_000_000)).calls) == 1


def server_branch(start: float, end: float, *callers: tuple[float, float]) -> TraceBuilder:
    builder = a_trace().chain("mcp.client.session", 0, 100)
    for caller_start, caller_end in callers:
        builder.tool("x", caller_start, caller_end)
    return builder.chain("mcp.server", start, end, label="server").tool("x", start, end, under="server")


@pytest.mark.parametrize(
    ("callers", "count"),
    [
        pytest.param([(0, 10)], 1, id="inside the only call"),
        pytest.param([(0, 10), (20, 30)], 2, id="inside one of two calls"),
        pytest.param([(0, 10), (2, 9)], 3, id="inside both of two parallel calls"),
        pytest.param([(4, 10)], 2, id="inside none"),
    ],
)
def test_a_server_branch_beside_its_caller_is_joined_by_time(callers: list[tuple[float, float]], count: int) -> None:
    trace = server_branch(3, 8, *callers).assembled()

    assert len(trace.calls) == count
    assert rules(trace) == (["W5"] if count == len(callers) else [])


def test_an_orphaned_mcp_server_span_is_joined_by_time() -> None:
    trace = a_trace().agent().tool("mcp__trips__x", 0, 10).mcp_server("x", 2, 8, under=ABSENT).assembled()

    assert names(trace) == ["mcp__trips__x"]
    assert rules(trace) == ["W5"]


def test_a_framework_over_its_client_counts_as_one_caller_of_a_server_branch() -> None:
    trace = (
        a_trace()
        .agent()
        .tool("x", 0, 10, label="framework")
        .mcp_client("x", 1, 9, under="framework")
        .mcp_server("x", 2, 8, under=ABSENT)
        .assembled()
    )

    assert [(call.start_ns, call.end_ns) for call in trace.calls] == [(at(0), at(10))]


def test_a_server_below_another_call_is_not_joined_to_a_call_beside_it() -> None:
    trace = a_trace().agent().tool("y", 0, 10, label="y").mcp_server("x", 2, 8, under="y").tool("x", 1, 9).assembled()

    assert names(trace) == ["y", "x", "x"]


def test_what_an_agent_on_a_server_calls_is_no_server_branch() -> None:
    trace = (
        a_trace()
        .agent()
        .tool("x", 0, 20)
        .mcp_server("ask", 1, 19, under=ABSENT, label="ask")
        .agent("helper", 2, 18, under="ask", label="helper")
        .tool("x", 5, 6, under="helper")
        .assembled()
    )

    assert names(trace) == ["x", "ask", "x"]


def test_a_gateway_that_links_to_its_caller_shows_the_callers_call() -> None:
    caller = a_trace(1).agent().tool("mcp__trips__x", 0, 10, label="call")
    link = LinkView(caller.trace_id, caller.id_of("call"))
    gateway = a_trace(2).mcp_server("x", 2, 8, links=(link,), label="served")

    joined = linked_calls([caller.assembled(), gateway.assembled()])

    assert joined == {(gateway.trace_id, gateway.id_of("served")): (caller.trace_id, caller.id_of("call"))}


def test_a_link_to_an_inner_span_of_the_callers_call_leads_to_the_call() -> None:
    caller = a_trace(1).tool("x", 0, 10, label="call").mcp_client("x", 1, 9, under="call", label="client")
    link = LinkView(caller.trace_id, caller.id_of("client"))
    gateway = a_trace(2).mcp_server("x", 2, 8, links=(link,), label="served")

    joined = linked_calls([caller.assembled(), gateway.assembled()])

    assert list(joined.values()) == [(caller.trace_id, caller.id_of("call"))]


def test_a_link_inside_one_trace_joins_no_traces() -> None:
    caller = a_trace().agent().tool("x", 0, 10, label="call")
    link = LinkView(caller.trace_id, caller.id_of("call"))

    assert linked_calls([caller.mcp_client("x", 20, 28, links=(link,)).assembled()]) == {}


def test_a_link_to_another_tool_joins_nothing() -> None:
    caller = a_trace(1).agent().tool("y", 0, 10, label="call")
    link = LinkView(caller.trace_id, caller.id_of("call"))
    gateway = a_trace(2).mcp_server("x", 2, 8, links=(link, LinkView(b"t" * 16, b"s" * 8)))

    assert linked_calls([caller.assembled(), gateway.assembled()]) == {}


def test_a_mark_below_a_tool_that_tells_nothing_of_a_call_is_none() -> None:
    trace = (
        a_trace()
        .failed_tool("x", 0, 10, label="call")
        .tool(None, 9, 9, under="call", name="error", status=SpanStatus.ERROR)
        .assembled()
    )

    assert names(trace) == ["x"]
    assert trace.nameless_calls == 0


@pytest.mark.parametrize("evidence", [{"tool_call_id": "c"}, {"arguments_digest": b"1"}])
def test_a_nameless_tool_span_with_a_sign_of_a_call_is_a_nameless_call(evidence: dict[str, object]) -> None:
    trace = a_trace().tool("x", 0, 10, label="call").tool(None, 1, 2, under="call", **evidence).assembled()

    assert names(trace) == ["x"]
    assert trace.nameless_calls == 1


def test_a_nameless_client_is_named_by_its_server() -> None:
    trace = a_trace().mcp_client(None, 0, 10, label="client").mcp_server("x", 1, 9, under="client").assembled()

    assert [(call.name, call.end_ns) for call in trace.calls] == [("x", at(10))]


def test_aliases_are_the_other_names_of_the_joined_spans() -> None:
    trace = (
        a_trace()
        .tool("mcp__trips__x", 0, 10, label="a")
        .tool("trips__x", 1, 9, under="a", label="b")
        .tool("x", 2, 8, under="b")
        .assembled()
    )

    assert trace.calls[0].aliases == ("trips__x", "x")
    assert trace.called_names == ("mcp__trips__x", "trips__x", "x")


@pytest.mark.parametrize(("outer", "inner"), [(None, False), (False, None)])
def test_a_call_that_one_member_says_was_refused_is_not_called(*, outer: bool | None, inner: bool | None) -> None:
    trace = a_trace().tool("x", 0, 10, label="a", executed=outer).tool("x", 1, 9, under="a", executed=inner).assembled()

    assert trace.calls == ()
    assert trace.called_names == ()


def test_ten_thousand_attempts_of_one_tool_stay_apart_in_linear_time() -> None:
    builder = a_trace().agent("planner", 0, 30_000)
    for attempt in range(10_000):
        builder.tool("x", attempt * 2, attempt * 2 + 1, tool_call_id="c")

    assert len(builder.assembled().calls) == 10_000


def test_ten_thousand_nested_spans_of_one_tool_are_one_call() -> None:
    builder = a_trace().tool("x", 0, 30_000)
    template = builder.spans[0]
    for depth in range(1, 10_000):
        parent = builder.spans[-1].span_id
        builder.spans.append(replace(template, span_id=(depth + 1).to_bytes(8, "big"), parent_span_id=parent))

    assert len(builder.assembled().calls) == 1
