"""
Google ADK, schemas 1 and 2: single source files, recordings of 2.13.0 and JavaScript 2.0.0. Reference §3.17.

Parallel calls add a span `execute_tool (merged)` that is no call (X5). A JavaScript tool that throws leaves a span with
its name and nothing else.
"""

from proto_adapters.canonical import SpanKind
from proto_adapters.dialects.dialect import Dialect, NameRule, Recognition

GOOGLE_ADK = Dialect(
    id="google_adk",
    title="Google ADK",
    reads_from="single source files, recordings",
    recognised_by=Recognition(scopes=("gcp.vertex.agent",), keys=("gcp.vertex.agent.*",)),
    kind_from="gen_ai.operation.name, else span name",
    span_names=(
        NameRule("execute_tool *", SpanKind.TOOL),
        NameRule("invoke_agent *", SpanKind.AGENT),
        NameRule("agent_run [*", SpanKind.AGENT),
        NameRule("call_llm", SpanKind.LLM),
        NameRule("generate_content *", SpanKind.LLM),
        NameRule("invocation*", SpanKind.CHAIN),
        NameRule("invoke_workflow*", SpanKind.CHAIN),
        NameRule("invoke_node*", SpanKind.CHAIN),
    ),
    wrappers=("execute_tool (merged)",),
    tool_name_keys=("gen_ai.tool.name",),
    tool_name_in_span=("execute_tool {}",),
    call_id_keys=("gen_ai.tool.call.id",),
    completions_in=("gen_ai.output.messages", "gcp.vertex.agent.llm_response"),
    session_keys=("gen_ai.conversation.id", "gcp.vertex.agent.session_id"),
    agent_keys=("gen_ai.agent.name",),
    agent_in_span=("invoke_agent {}", "agent_run [{}]"),
)
