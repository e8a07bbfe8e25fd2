"""
Each rule that decides the kind of a span, by its name in the dialects reference §5.1: X, C and K rules.
"""

import pytest
from dialect_views import span_view

from proto_adapters.canonical import Attributes, AttributeValue, Problem, SpanKind
from proto_adapters.dialects.operations import OPERATION_KINDS
from proto_adapters.span_read import read_span

OPERATION = "gen_ai.operation.name"
OI_KIND = "openinference.span.kind"
OI_LANGCHAIN = "openinference.instrumentation.langchain"
OI_BEEAI_JS = "@arizeai/openinference-instrumentation-beeai"

Case = tuple[str, str, Attributes, SpanKind, str]

DROP_RULES: list[Case] = [
    ("logfire", "note", {"logfire.span_type": "log", OPERATION: "execute_tool"}, SpanKind.UNKNOWN, "X1"),
    ("crewai.telemetry", "Tool Usage", {"tool_name": "search"}, SpanKind.UNKNOWN, "X4"),
    ("gcp.vertex.agent", "execute_tool (merged)", {OPERATION: "execute_tool"}, SpanKind.CHAIN, "X5"),
    ("any", "x", {OPERATION: "execute_tool", "gen_ai.tool.name": "(merged tools)"}, SpanKind.CHAIN, "X5"),
    ("litellm", "raw_gen_ai_request", {OPERATION: "chat"}, SpanKind.CHAIN, "X6"),
    ("claude_code", "claude_code.tool.execution", {"span.type": "tool.execution"}, SpanKind.CHAIN, "X7"),
    ("claude_code", "claude_code.tool.blocked_on_user", {"tool_name": "Bash"}, SpanKind.CHAIN, "X7"),
    ("claude_code", "claude_code.hook", {"span.type": "hook"}, SpanKind.CHAIN, "X7"),
    ("pydantic-ai", "running tools", {"tools": ["a"]}, SpanKind.CHAIN, "X8"),
    ("pydantic-ai", "running 2 tools", {"tools": ["a", "b"]}, SpanKind.CHAIN, "X8"),
    ("gemini-cli", "schedule_tool_calls", {OPERATION: "schedule_tool_calls"}, SpanKind.CHAIN, "X8"),
    ("fastmcp", "delegate search", {"fastmcp.component.key": "tool:search@"}, SpanKind.CHAIN, "X8"),
    ("opentelemetry.instrumentation.mcp.instrumentation", "mcp.server", {}, SpanKind.CHAIN, "X8"),
    ("semantic_kernel.connectors", "AutoFunctionInvocationLoop", {}, SpanKind.CHAIN, "X8"),
]

CORRECTIONS: list[Case] = [
    (OI_LANGCHAIN, "ask_agent", {OI_KIND: "AGENT", "tool.name": "ask_agent"}, SpanKind.TOOL, "C1"),
    (
        "@arizeai/openinference-instrumentation-langchain",
        "ask_agent",
        {OI_KIND: "AGENT", "tool.name": "ask_agent"},
        SpanKind.TOOL,
        "C1",
    ),
    ("openinference.instrumentation.openai_agents", "handoff to b", {OI_KIND: "TOOL"}, SpanKind.CHAIN, "C2"),
    ("openinference.instrumentation.instructor", "instructor.patch", {OI_KIND: "TOOL"}, SpanKind.CHAIN, "C3"),
    (
        "any",
        "prepare",
        {"traceloop.span.kind": "task", OI_KIND: "TOOL"},
        SpanKind.CHAIN,
        "K2:traceloop.span.kind",
    ),
    ("any", "chat", {OPERATION: "chat", "gen_ai.tool.name": "a, b"}, SpanKind.LLM, "K5"),
    ("any", "tools/list", {"mcp.method.name": "tools/list", OI_KIND: "TOOL"}, SpanKind.CHAIN, "C6"),
    ("fastmcp", "tools/list", {"mcp.method.name": "tools/list", OPERATION: "execute_tool"}, SpanKind.CHAIN, "C6"),
    ("ai", "ai.generateText", {"ai.operationId": "ai.generateText"}, SpanKind.AGENT, "K2:ai.operationId"),
    (
        "opentelemetry.instrumentation.llamaindex",
        "BaseWorkflowAgent.task",
        {"traceloop.span.kind": "task", "tool.name": "search"},
        SpanKind.TOOL,
        "C10",
    ),
    ("any", "achat", {"traceloop.span.kind": "task", OPERATION: "chat"}, SpanKind.LLM, "C11"),
    (
        "@traceloop/instrumentation-langchain",
        "execute_tool DynamicStructuredTool",
        {"traceloop.span.kind": "task", OPERATION: "execute_tool", "traceloop.entity.name": "DynamicStructuredTool"},
        SpanKind.TOOL,
        "C12",
    ),
    (OI_BEEAI_JS, "tool.dynamic.getWeather.start-1", {OI_KIND: "TOOL"}, SpanKind.CHAIN, "C13"),
    (OI_BEEAI_JS, "tool.dynamic.getWeather.finish-1", {OI_KIND: "TOOL"}, SpanKind.CHAIN, "C13"),
    ("openinference.instrumentation.beeai", "error", {OI_KIND: "TOOL"}, SpanKind.CHAIN, "C13"),
    (
        "agentops.instrumentation",
        "tool_call.search",
        {"agentops.span.kind": "tool", "tool.name": "search"},
        SpanKind.CHAIN,
        "C14",
    ),
    ("codex_exec", "mcp__tripssearch", {"tool_name": "mcp__tripssearch", "call_id": "c1"}, SpanKind.CHAIN, "C15"),
    ("codex_exec", "handle_responses", {"tool_name": "search", "call_id": "c1"}, SpanKind.CHAIN, "C15"),
]

NATIVE_KEYS: list[Case] = [
    ("any", "x", {"traceloop.span.kind": "workflow"}, SpanKind.CHAIN, "K2:traceloop.span.kind"),
    ("any", "x", {"langsmith.span.kind": "retriever"}, SpanKind.RETRIEVER, "K2:langsmith.span.kind"),
    ("any", "x", {"langfuse.observation.type": "generation"}, SpanKind.LLM, "K2:langfuse.observation.type"),
    ("any", "x", {"mlflow.spanType": '"RERANKER"'}, SpanKind.RERANKER, "K2:mlflow.spanType"),
    ("any", "x", {"mastra.span.type": "model_step"}, SpanKind.CHAIN, "K2:mastra.span.type"),
    ("any", "x", {"ag2.span.type": "usage", "gen_ai.usage.input_tokens": 3}, SpanKind.CHAIN, "K2:ag2.span.type"),
    ("any", "x", {"spring.ai.kind": "tool_call", OPERATION: "framework"}, SpanKind.TOOL, "K2:spring.ai.kind"),
    ("any", "x", {"genkit:metadata:subtype": "tool.v2"}, SpanKind.TOOL, "K2:genkit:metadata:subtype"),
    ("ai", "x", {"ai.operationId": "ai.streamText.doStream"}, SpanKind.LLM, "K2:ai.operationId"),
    ("ai", "x", {"ai.operationId": "ai.embedMany.doEmbed"}, SpanKind.EMBEDDING, "K2:ai.operationId"),
    ("ai", "x", {"operation.name": "ai.toolCall trip-bot"}, SpanKind.TOOL, "K2:operation.name"),
    ("any", "x", {"lmnr.span.type": "EVALUATOR"}, SpanKind.EVALUATOR, "K2:lmnr.span.type"),
    ("any", "claude_code.interaction", {"span.type": "interaction"}, SpanKind.AGENT, "K2:span.type"),
    ("@voltagent/core", "x", {"span.type": "memory", "entity.type": "agent"}, SpanKind.MEMORY, "K2:span.type"),
    ("@voltagent/core", "trip", {"entity.type": "agent"}, SpanKind.AGENT, "K2:entity.type"),
    ("any", "x", {"braintrust.span_attributes": '{"type":"llm"}'}, SpanKind.LLM, "K2:braintrust.span_attributes"),
    (
        "any",
        "node.execute",
        {"n8n.node.type": "@n8n/n8n-nodes-langchain.agent"},
        SpanKind.AGENT,
        "K2:n8n.node.type",
    ),
    ("any", "node.execute", {"n8n.node.type": "n8n-nodes-base.httpRequest"}, SpanKind.CHAIN, "K2:n8n.node.type"),
    ("app", "haystack.agent.step.tool", {}, SpanKind.TOOL, "K2:span name"),
    (
        "app",
        "haystack.component.run",
        {"haystack.component.type": "OpenAIChatGenerator"},
        SpanKind.LLM,
        "K2:span name",
    ),
    ("app", "haystack.component.run", {"haystack.component.type": "ToolInvoker"}, SpanKind.CHAIN, "K2:span name"),
    ("any", "x", {OI_KIND: "reranker"}, SpanKind.RERANKER, "K3:openinference.span.kind"),
    ("any", "x", {"gen_ai.span.kind": "generation"}, SpanKind.LLM, "K4:gen_ai.span.kind"),
    ("any", "x", {"gen_ai.span_kind_name": "TOOL"}, SpanKind.TOOL, "K4:gen_ai.span_kind_name"),
]

LATER_STEPS: list[Case] = [
    ("any", "x", {"mcp.method.name": "tools/call"}, SpanKind.TOOL, "K6:mcp.method.name"),
    ("any", "x", {"rpc.system": "mcp", "rpc.method": "tools/call"}, SpanKind.TOOL, "K6:mcp.method.name"),
    ("any", "x", {"gen_ai.tool.name": "search"}, SpanKind.TOOL, "K7:gen_ai.tool.name"),
    ("any", "x", {"gen_ai.tool.call.id": "c1"}, SpanKind.TOOL, "K7:gen_ai.tool.call.id"),
    ("any", "x", {"tool_use_id": "c1"}, SpanKind.TOOL, "K7:tool_use_id"),
    ("any", "x", {"tool_call.id": "c1"}, SpanKind.TOOL, "K7:tool_call.id"),
    ("any", "x", {"tool_use_id": "c1", "gen_ai.request.model": "m"}, SpanKind.UNKNOWN, "K9"),
    ("any", "mcp.tools.call", {"tool.name": "search"}, SpanKind.TOOL, "K8:mcp.tools.call"),
    ("any", "x", {"tool_name": "shell", "call_id": "c1"}, SpanKind.TOOL, "K7:tool_name"),
    ("any", "x", {"llm.request.type": "rerank"}, SpanKind.RERANKER, "K7:llm.request.type"),
    ("any", "x", {"gen_ai.completion.0.content": "hi"}, SpanKind.LLM, "K7:completion"),
    ("pydantic-ai", "agent run", {}, SpanKind.AGENT, "K8:agent run"),
    ("gcp.vertex.agent", "call_llm", {}, SpanKind.LLM, "K8:call_llm"),
    ("strands-agents", "Tool: search", {}, SpanKind.TOOL, "K8:Tool: *"),
    ("logfire.openai_agents", "Function: {name}", {"name": "search"}, SpanKind.TOOL, "K8:Function: *"),
    ("mcp-python-sdk", "MCP send tools/call search", {}, SpanKind.TOOL, "K8:MCP send tools/call *"),
    ("livekit-agents", "function_tool", {}, SpanKind.TOOL, "K8:function_tool"),
    ("app", "GET /", {"http.request.method": "GET"}, SpanKind.UNKNOWN, "K9"),
]


def case_id(case: Case) -> str:
    return f"{case[4]} {case[1]} {'+'.join(case[2])}"


ALL_CASES = [*DROP_RULES, *CORRECTIONS, *NATIVE_KEYS, *LATER_STEPS]


@pytest.mark.parametrize(("scope", "name", "attributes", "kind", "rule"), ALL_CASES, ids=map(case_id, ALL_CASES))
def test_a_rule_decides_the_kind(scope: str, name: str, attributes: Attributes, kind: SpanKind, rule: str) -> None:
    span = read_span(span_view(attributes, name=name, scope=scope))

    assert (span.kind, span.kind_rule) == (kind, rule)


@pytest.mark.parametrize(("operation", "kind"), OPERATION_KINDS.items(), ids=list(OPERATION_KINDS))
def test_an_operation_name_tells_the_kind_in_any_case(operation: str, kind: SpanKind) -> None:
    span = read_span(span_view({OPERATION: operation.upper()}))

    assert (span.kind, span.handoff) == (kind, operation in {"handoff", "agent_handoff"})


@pytest.mark.parametrize(
    ("name", "scope"),
    [("call_llm", "app"), ("Tool: search", "app"), ("agent run", "app"), ("Function: x", "app")],
)
def test_a_span_name_decides_nothing_outside_the_scope_of_its_product(name: str, scope: str) -> None:
    assert read_span(span_view(name=name, scope=scope)).kind is SpanKind.UNKNOWN


@pytest.mark.parametrize("scope", ["openinference.instrumentation.llama_index", "openinference.instrumentation.agno"])
def test_an_agent_span_with_a_tool_name_stays_an_agent_outside_langchain(scope: str) -> None:
    span = read_span(span_view({OI_KIND: "AGENT", "tool.name": "step"}, scope=scope))

    assert span.kind is SpanKind.AGENT


def test_an_unknown_value_of_a_native_key_leaves_the_next_rule_to_decide() -> None:
    span = read_span(span_view({"mastra.span.type": "model_inference", OPERATION: "chat"}))

    assert (span.kind, span.kind_rule) == (SpanKind.LLM, "K5")


def test_span_type_is_nobodys_without_another_sign_of_its_product() -> None:
    assert read_span(span_view({"span.type": "tool"}, name="work", scope="app")).kind is SpanKind.UNKNOWN


def test_two_keys_that_disagree_are_a_conflict_and_the_first_wins() -> None:
    span = read_span(span_view({"langfuse.observation.type": "agent", OI_KIND: "TOOL"}))

    assert span.kind is SpanKind.AGENT
    assert span.problems == (Problem.DIALECT_CONFLICT,)
    assert "langfuse.observation.type says AGENT, openinference.span.kind says TOOL" in span.problem_details


@pytest.mark.parametrize(
    "attributes",
    [
        {"langsmith.span.kind": "retriever", OPERATION: "embeddings"},
        {"traceloop.span.kind": "task", OI_KIND: "TOOL"},
        {"traceloop.span.kind": "workflow", OPERATION: "invoke_agent"},
        {"mastra.span.type": "model_generation", OPERATION: "agent_step"},
        {OI_KIND: "LLM", OPERATION: "invoke_agent"},
        {"spring.ai.kind": "tool_call", OPERATION: "framework"},
        {"spring.ai.kind": "chat_client", OPERATION: "framework"},
    ],
    ids=lambda attributes: "+".join(f"{key}={value}" for key, value in attributes.items()),
)
def test_pairs_that_are_known_to_differ_are_no_conflict(attributes: Attributes) -> None:
    assert Problem.DIALECT_CONFLICT not in read_span(span_view(attributes)).problems


HANDOFFS: list[tuple[str, Attributes]] = [
    ("traceloop", {"traceloop.span.kind": "handoff"}),
    ("operation", {OPERATION: "agent_handoff"}),
    ("bridge", {"openai_agents.span_type": "handoff"}),
]


@pytest.mark.parametrize("attributes", [case[1] for case in HANDOFFS], ids=[case[0] for case in HANDOFFS])
def test_a_handoff_is_a_chain_with_a_flag(attributes: Attributes) -> None:
    span = read_span(span_view(attributes))

    assert (span.kind, span.handoff) == (SpanKind.CHAIN, True)


def test_logfires_handoff_span_is_a_handoff() -> None:
    span = read_span(span_view(name="Handoff: {from_agent} → {to_agent}", scope="logfire.openai_agents"))

    assert (span.kind, span.handoff) == (SpanKind.CHAIN, True)


def test_all_dialects_that_recognise_a_span_are_named_and_the_first_gave_the_kind() -> None:
    attributes: Attributes = {OI_KIND: "TOOL", OPERATION: "execute_tool", "gen_ai.system": "strands-agents"}

    span = read_span(span_view({**attributes, "tool.name": "search"}, scope="strands.telemetry.tracer"))

    assert span.dialects == ("openinference", "strands", "otel_genai_choice_events")


def test_genai_keys_that_no_dialect_knows_are_reported() -> None:
    span = read_span(span_view({"llm.vendor.answer": "hi"}, scope="new-framework"))

    assert span.problems == (Problem.UNRECOGNISED_GENAI,)
    assert "new-framework" in span.problem_details[0]


@pytest.mark.parametrize("key", ["gen_ai.conversation.id", "gen_ai.agent.name", "http.route"])
def test_a_context_key_on_an_applications_span_is_no_new_dialect(key: str) -> None:
    assert read_span(span_view({key: "x"})).problems == ()


def test_a_pending_span_stands_for_its_parent_and_has_the_announced_parent() -> None:
    attributes: Attributes = {
        "logfire.span_type": "pending_span",
        "logfire.pending_parent_id": "00000000000000a1",
        OPERATION: "execute_tool",
        "gen_ai.tool.name": "search",
    }

    span = read_span(span_view(attributes, parent=b"realspan", scope="pydantic-ai"))

    assert (span.pending, span.pending_for, span.parent_span_id) == (
        True,
        b"realspan",
        bytes.fromhex("00000000000000a1"),
    )
    assert (span.end_ns, span.order_evidence) == (None, False)


@pytest.mark.parametrize("parent", ["0" * 16, "not hex", "", 7, None])
def test_a_pending_span_without_a_usable_announced_parent_is_a_root(parent: AttributeValue) -> None:
    attributes: Attributes = {"logfire.span_type": "pending_span", "logfire.pending_parent_id": parent}

    assert read_span(span_view(attributes, parent=b"realspan")).parent_span_id is None
