"""
Where the fields of a canonical span are read: names of tools, ids, sessions, agents, errors, arguments, MCP.
"""

import pytest
from dialect_views import span_view

from proto_adapters.canonical import Attributes, AttributeValue, CanonicalSpan, Problem, SpanKind, SpanStatus
from proto_adapters.read_options import ReadOptions
from proto_adapters.span_fields import SESSION_KEYS
from proto_adapters.span_read import read_span

OPERATION = "gen_ai.operation.name"
TOOL: Attributes = {OPERATION: "execute_tool"}
OI_TOOL: Attributes = {"openinference.span.kind": "TOOL"}


def read_tool(attributes: Attributes, *, name: str = "execute_tool", scope: str = "") -> CanonicalSpan:
    return read_span(span_view({**TOOL, **attributes}, name=name, scope=scope))


# ---- names ----

NAMED_BY_KEY: list[tuple[Attributes, str, str]] = [
    ({"gen_ai.tool.name": "search"}, "search", "gen_ai.tool.name"),
    ({"tool.name": "  search "}, "search", "tool.name"),
    ({"tool.name": "unknown", "gen_ai.tool.name": "search"}, "search", "gen_ai.tool.name"),
    ({"ai.toolCall.name": "search"}, "search", "ai.toolCall.name"),
    ({"mcp.tool.name": "search"}, "search", "mcp.tool.name"),
    ({"gen_ai.tool.name": '"search"'}, "search", "gen_ai.tool.name"),
    ({"gen_ai.tool.name": "cafe\u0301"}, "caf\u00e9", "gen_ai.tool.name"),
    ({"gen_ai.tool.name": "search.run"}, "search.run", "gen_ai.tool.name"),
    ({"gen_ai.tool.name": "mcp__trips__search"}, "mcp__trips__search", "gen_ai.tool.name"),
    ({"fastmcp.component.key": "tool:search@1.2"}, "search", "fastmcp.component.key"),
    ({"fastmcp.component.key": "tool:search"}, "search", "fastmcp.component.key"),
    ({"tool_call.function.name": "search"}, "search", "tool_call.function.name"),
]


@pytest.mark.parametrize(("attributes", "name", "key"), NAMED_BY_KEY, ids=[str(case[0]) for case in NAMED_BY_KEY])
def test_a_tool_name_is_the_first_usable_key(attributes: Attributes, name: str, key: str) -> None:
    span = read_tool(attributes)

    assert (span.tool_name, span.tool_name_key) == (name, key)


NAMED_BY_SPAN: list[tuple[str, str, Attributes, str]] = [
    ("any", "execute_tool search", TOOL, "search"),
    ("@mastra/otel-exporter", "tool.execute search", {"mastra.span.type": "tool_call"}, "search"),
    ("strands-agents", "Tool: search", {}, "search"),
    ("mcp-python-sdk", "MCP send tools/call search", {"mcp.method.name": "tools/call"}, "search"),
    ("fastmcp", "tools/call search", {"mcp.method.name": "tools/call"}, "search"),
    ("logfire.mcp", "MCP request: tools/call search", {}, "search"),
    ("@voltagent/core", "tool.execution:search", {"span.type": "tool"}, "search"),
    ("traceloop.tracer", "search.tool", {"traceloop.span.kind": "tool"}, "search"),
    ("openinference.instrumentation.crewai", "search.run", OI_TOOL, "search"),
    ("openinference.instrumentation.dspy", "search.__call__", OI_TOOL, "search"),
    ("openinference.instrumentation.dspy", "search.acall", OI_TOOL, "search"),
    ("@arizeai/openinference-instrumentation-beeai", "tool.dynamic.search.success-3", OI_TOOL, "search"),
    ("agentops", "search.tool", {"agentops.span.kind": "tool"}, "search"),
    ("langfuse-sdk", "search", {"langfuse.observation.type": "tool"}, "search"),
    ("lmnr", "search", {"lmnr.span.type": "TOOL"}, "search"),
    ("mlflow.tracing.provider", "search_1", {"mlflow.spanType": '"TOOL"'}, "search_1"),
    ("@arizeai/openinference-core", "search", OI_TOOL, "search"),
]


@pytest.mark.parametrize(("scope", "name", "attributes", "tool"), NAMED_BY_SPAN, ids=[c[0] for c in NAMED_BY_SPAN])
def test_a_span_name_gives_the_tools_name_without_the_decoration_of_its_dialect(
    scope: str, name: str, attributes: Attributes, tool: str
) -> None:
    span = read_span(span_view(attributes, name=name, scope=scope))

    assert (span.kind, span.tool_name, span.tool_name_key) == (SpanKind.TOOL, tool, "span name")
    assert span.tool_name_raw == name


def test_the_name_of_a_decorated_function_is_the_last_part_of_its_qualified_name() -> None:
    attributes: Attributes = {"traceloop.span.kind": "tool", "traceloop.entity.name": "main.<locals>.Trip.search"}

    assert read_span(span_view(attributes, scope="traceloop.tracer")).tool_name == "search"


def test_an_entity_name_of_an_instrumentation_keeps_its_dots() -> None:
    attributes: Attributes = {"traceloop.span.kind": "tool", "traceloop.entity.name": "trips.search"}

    assert read_span(span_view(attributes, scope="opentelemetry.instrumentation.mcp")).tool_name == "trips.search"


def test_logfires_message_names_the_tool_where_the_span_name_is_a_template() -> None:
    attributes: Attributes = {"logfire.msg": "Function: search"}

    span = read_span(span_view(attributes, name="Function: {name}", scope="logfire.openai_agents"))

    assert (span.tool_name, span.tool_name_key) == ("search", "logfire.msg")


def test_a_template_without_its_message_names_no_tool() -> None:
    span = read_span(span_view(name="Function: {name}", scope="logfire.openai_agents"))

    assert (span.tool_name, span.problems) == (None, (Problem.TOOL_NAME_MISSING,))


def test_logfires_request_names_the_tool_of_an_mcp_server_span() -> None:
    attributes: Attributes = {"request": '{"method": "tools/call", "params": {"name": "search"}}'}

    span = read_span(span_view(attributes, name="MCP server handle request: tools/call", scope="logfire.mcp"))

    assert (span.kind, span.tool_name) == (SpanKind.TOOL, "search")


MISSING: list[tuple[str, Attributes, str]] = [
    ("execute_tool", TOOL, "mlflow.tracing"),
    ("execute_tool search", {**TOOL, "traceloop.span.kind": "task"}, "@traceloop/instrumentation-langchain"),
    ("x", {**TOOL, "gen_ai.tool.name": "__REDACTED__"}, ""),
    ("execute_tool find-train", {"spring.ai.kind": "tool_call"}, "org.springframework.boot"),
    ("ai.toolCall trip-bot", {"ai.operationId": "ai.toolCall", "operation.name": "ai.toolCall trip-bot"}, "ai"),
    ("FunctionTool.acall", OI_TOOL, "openinference.instrumentation.llama_index"),
]


@pytest.mark.parametrize(("name", "attributes", "scope"), MISSING, ids=[case[0] for case in MISSING])
def test_a_tool_without_a_usable_name_is_reported_and_never_guessed(
    name: str, attributes: Attributes, scope: str
) -> None:
    span = read_span(span_view(attributes, name=name, scope=scope))

    assert (span.kind, span.tool_name, span.problems) == (SpanKind.TOOL, None, (Problem.TOOL_NAME_MISSING,))


def test_two_usable_names_that_differ_are_a_conflict_and_no_call() -> None:
    span = read_tool({"tool.name": "search", "gen_ai.tool.name": "find"})

    assert (span.tool_name, span.problems) == (None, (Problem.TOOL_NAME_CONFLICT,))
    assert "'search'" in span.problem_details[0]
    assert "'find'" in span.problem_details[0]


@pytest.mark.parametrize("other", ["search", " search ", '"search"', "unknown", ""])
def test_two_names_that_agree_after_cleaning_are_no_conflict(other: str) -> None:
    span = read_tool({"tool.name": "search", "gen_ai.tool.name": other})

    assert (span.tool_name, span.problems) == ("search", ())


@pytest.mark.parametrize("name", ["final_answer", "FinalAnswer", "Delegate work to coworker", "transfer_to_agent"])
def test_a_tool_of_the_framework_is_marked_in_any_spelling(name: str) -> None:
    assert read_tool({"gen_ai.tool.name": name}).control_tool


def test_the_list_of_control_tools_is_an_option() -> None:
    span = span_view({**TOOL, "gen_ai.tool.name": "hand_over"})

    assert not read_span(span).control_tool
    assert read_span(span, ReadOptions(control_tools=frozenset({"hand_over"}))).control_tool


# ---- ids, sessions, agents ----

CALL_IDS: list[tuple[AttributeValue, str | None]] = [
    ("call_1", "call_1"),
    ("<not specified>", None),
    ("unknown", None),
    ("default", None),
    ("None", None),
    ("", None),
    ("search_0", None),
    (17, "17"),
    (["call_1"], None),
]


@pytest.mark.parametrize(("value", "call_id"), CALL_IDS, ids=[repr(case[0]) for case in CALL_IDS])
def test_a_call_id_that_stands_for_none_is_none(value: AttributeValue, call_id: str | None) -> None:
    assert read_tool({"gen_ai.tool.name": "search", "gen_ai.tool.call.id": value}).tool_call_id == call_id


def test_call_id_alone_is_an_id_only_beside_tool_name() -> None:
    assert read_tool({"gen_ai.tool.name": "search", "call_id": "c1"}).tool_call_id is None
    assert read_tool({"tool_name": "search", "call_id": "c1"}).tool_call_id == "c1"


@pytest.mark.parametrize("key", [key for key in SESSION_KEYS if key != "group_id"])
def test_every_session_key_is_read_on_a_span_of_any_sort(key: str) -> None:
    span = read_span(span_view({key: "s-9"}))

    assert (span.session_id, span.session_key) == ("s-9", key)


def test_a_group_id_is_a_session_only_of_logfires_agents() -> None:
    assert read_span(span_view({"group_id": "s-9"}, scope="app")).session_id is None
    assert read_span(span_view({"group_id": "s-9"}, scope="logfire.openai_agents")).session_id == "s-9"


@pytest.mark.parametrize(
    "key",
    [
        "mcp.session.id",
        "langsmith.trace.session_id",
        "langsmith.trace.session_name",
        "gen_ai.agent.call.id",
        "gcp.vertex.agent.invocation_id",
        "n8n.execution.id",
        "traceloop.workflow.name",
    ],
)
def test_keys_that_look_like_a_session_are_none(key: str) -> None:
    assert read_span(span_view({key: "x"})).session_id is None


@pytest.mark.parametrize(
    ("value", "session"),
    [("[Scrubbed due to 'session']", None), ("", None), ("null", None), (42, "42"), (True, None), ('"s-9"', "s-9")],
)
def test_a_session_value_that_stands_for_none_is_none(value: AttributeValue, session: str | None) -> None:
    assert read_span(span_view({"session.id": value})).session_id == session


def test_the_first_usable_session_key_counts() -> None:
    span = read_span(span_view({"session.id": "", "gen_ai.conversation.id": "s-9", "gen_ai.thread.id": "t"}))

    assert (span.session_id, span.session_key) == ("s-9", "gen_ai.conversation.id")


AGENTS: list[tuple[str, str, Attributes, str]] = [
    ("any", "x", {OPERATION: "invoke_agent", "gen_ai.agent.name": "planner"}, "planner"),
    ("any", "invoke_agent planner", {OPERATION: "invoke_agent"}, "planner"),
    ("any", "planner.agent", {"traceloop.span.kind": "agent"}, "planner"),
    (
        "openinference.instrumentation.google_adk",
        "agent_run [planner]",
        {"openinference.span.kind": "AGENT"},
        "planner",
    ),
    ("langfuse-sdk", "planner", {"langfuse.observation.type": "agent"}, "planner"),
    ("logfire.openai_agents", "Agent run: {name!r}", {"name": "planner"}, "planner"),
    ("@voltagent/core", "x", {"entity.type": "agent", "entity.name": "planner"}, "planner"),
    ("ai", "ai.generateText", {"ai.operationId": "ai.generateText", "ai.telemetry.functionId": "planner"}, "planner"),
]


@pytest.mark.parametrize(("scope", "name", "attributes", "agent"), AGENTS, ids=[case[0] + case[1] for case in AGENTS])
def test_the_name_of_an_agent_is_read(scope: str, name: str, attributes: Attributes, agent: str) -> None:
    span = read_span(span_view(attributes, name=name, scope=scope))

    assert (span.kind, span.agent_name) == (SpanKind.AGENT, agent)


# ---- errors, execution, intervals ----

ERRORS: list[tuple[Attributes, bool]] = [
    ({"error.type": "timeout"}, True),
    ({"gen_ai.tool.status": "error"}, True),
    ({"gen_ai.task.status": "failure"}, True),
    ({"langfuse.observation.level": "ERROR"}, True),
    ({"genkit:state": "error"}, True),
    ({"logfire.level_num": 17}, True),
    ({"logfire.level_num": 9}, False),
    ({"success": False}, True),
    ({"success": "true"}, False),
    ({"error": True}, True),
    ({"error": "boom"}, False),
    ({"haystack.tool.error": "true"}, True),
    ({"lk.function_tool.is_error": True}, True),
    ({"logfire.level_num": "17"}, False),
]


@pytest.mark.parametrize(("attributes", "failed"), ERRORS, ids=[str(case[0]) for case in ERRORS])
def test_a_failed_tool_is_known_by_the_signs_of_its_dialect(attributes: Attributes, *, failed: bool) -> None:
    span = read_tool({"gen_ai.tool.name": "search", **attributes})

    assert (span.status is SpanStatus.ERROR) == failed


def test_an_exception_event_alone_is_no_error_and_names_the_type_of_one() -> None:
    exception: tuple[str, Attributes] = ("exception", {"exception.type": "GeneratorExit"})
    attributes: Attributes = {**TOOL, "gen_ai.tool.name": "search"}

    fine = read_span(span_view(attributes, events=[exception]))
    failed = read_span(span_view(attributes, events=[exception], status=SpanStatus.ERROR))

    assert (fine.status, fine.error_type) == (SpanStatus.UNSET, None)
    assert failed.error_type == "GeneratorExit"


@pytest.mark.parametrize(
    "attributes",
    [{"pydantic_ai.tool.failure_stage": "validation"}, {"pydantic_ai.tool.deferral.name": "ApprovalRequired"}],
    ids=["validation", "deferral"],
)
def test_c9_a_call_that_was_not_executed_says_so(attributes: Attributes) -> None:
    assert read_tool({"gen_ai.tool.name": "search", **attributes}).executed is False
    assert read_tool({"gen_ai.tool.name": "search"}).executed is None


def test_intervals_that_are_synthetic_establish_no_order() -> None:
    dify = span_view({**OI_TOOL, "dify.span.id": "n1"}, name="search")
    java = span_view({**OI_TOOL, "tool.name": "search"}, scope="openinference.instrumentation.langchain4j")
    hosted = span_view({**TOOL, "gen_ai.tool.name": "search", "gen_ai.tool.type": "extension"}, scope="gen_ai")
    beeai = span_view(
        OI_TOOL, name="tool.dynamic.search.success-1", scope="@arizeai/openinference-instrumentation-beeai"
    )
    event = span_view(
        {**TOOL, "gen_ai.tool.name": "search"}, scope="llamaindex.opentelemetry.tracer", start_ns=5, end_ns=5
    )

    assert [read_span(view).order_evidence for view in (dify, java, hosted, beeai, event)] == [False] * 5


def test_zero_length_alone_is_no_sign_of_a_synthetic_interval() -> None:
    assert read_span(span_view({**TOOL, "gen_ai.tool.name": "search"}, start_ns=5, end_ns=5)).order_evidence


# ---- arguments ----


def digest(attributes: Attributes) -> bytes | None:
    return read_tool({"gen_ai.tool.name": "search", **attributes}).arguments_digest


def test_equal_arguments_have_equal_digests_whatever_the_key_or_the_order() -> None:
    told = [
        digest({"gen_ai.tool.call.arguments": '{"a": 1, "b": "x"}'}),
        digest({"tool_arguments": '{"b":"x","a":1}'}),
        digest({"ai.toolCall.args": {"b": "x", "a": 1}}),
        digest({"traceloop.entity.input": '{"args": [], "kwargs": {"a": 1, "b": "x"}}'}),
        digest({"mlflow.spanInputs": '"{\\"a\\": 1, \\"b\\": \\"x\\"}"'}),
    ]

    assert len(set(told)) == 1
    assert told[0] is not None


def test_other_arguments_have_another_digest() -> None:
    assert digest({"tool_arguments": '{"a": 1}'}) != digest({"tool_arguments": '{"a": 2}'})


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"input.value": "{'a': 1}"},
        {"tool.parameters": '{"type": "object", "properties": {}}'},
        {"gen_ai.tool.call.arguments": '{"input_str": "{\'a\': 1}", "tags": []}'},
        {"gen_ai.tool.call.arguments": "cut {"},
        {"gen_ai.tool.call.arguments": 5},
    ],
    ids=["none", "repr", "schema", "callback", "text", "number"],
)
def test_what_is_no_object_of_arguments_has_no_digest(attributes: Attributes) -> None:
    assert digest(attributes) is None


def test_arguments_are_kept_only_if_asked_for() -> None:
    view = span_view({**TOOL, "gen_ai.tool.name": "search", "gen_ai.tool.call.arguments": '{"a": 1}'})

    assert read_span(view).tool_arguments is None
    assert read_span(view, ReadOptions(keep_arguments=True)).tool_arguments == {"a": 1}


# ---- MCP, selected attributes ----


def test_mcp_fields_are_read_from_both_sides_of_a_call() -> None:
    attributes: Attributes = {
        "mcp.method.name": "tools/call",
        "jsonrpc.request.id": 7,
        "mcp.session.id": "m-1",
        "fastmcp.server.name": "hub",
    }

    span = read_span(span_view(attributes, name="tools/call search", otel_kind=2))

    assert (span.mcp_method, span.mcp_request_id, span.mcp_session_id, span.mcp_server) == (
        "tools/call",
        "7",
        "m-1",
        "hub",
    )


def test_selected_attributes_are_kept_as_they_are() -> None:
    span = read_span(span_view({"tenant": ["a"], "other": 1}), ReadOptions(selected_keys=frozenset({"tenant", "no"})))

    assert span.selected == {"tenant": ["a"]}


@pytest.mark.parametrize("value", [5, ["a"], True, b"a", {"a": "b"}], ids=repr)
@pytest.mark.parametrize(
    ("key", "others", "kind"),
    [
        ("gen_ai.tool.name", {"gen_ai.operation.name": "execute_tool"}, SpanKind.TOOL),
        ("tool.name", {"openinference.span.kind": "TOOL"}, SpanKind.TOOL),
        ("gen_ai.operation.name", {}, SpanKind.UNKNOWN),
    ],
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_a_name_of_the_wrong_type_is_a_named_problem(
    key: str, others: Attributes, kind: SpanKind, value: AttributeValue
) -> None:
    span = read_span(span_view({**others, key: value}, name="execute_tool search", scope="pydantic-ai-like"))

    assert span.kind is kind
    assert Problem.VALUE_UNDECODABLE in span.problems
    assert f"{key} is no text" in span.problem_details
