"""
Pydantic AI, instrumentation data formats 1-6: source of 2.33.0, recordings of 1.20.0 and 2.68.0. Reference §3.9.

A call that failed validation or was deferred has a span and was not executed (C9).
"""

from proto_adapters.canonical import SpanKind
from proto_adapters.dialects.dialect import Dialect, NameRule, Recognition

PYDANTIC_AI = Dialect(
    id="pydantic_ai",
    title="Pydantic AI (formats 1-6)",
    reads_from="source, recordings",
    recognised_by=Recognition(scopes=("pydantic-ai",), keys=("model_request_parameters", "pydantic_ai.*")),
    kind_from="gen_ai.operation.name, else span name",
    span_names=(
        NameRule("agent run", SpanKind.AGENT),
        NameRule("* run", SpanKind.AGENT),
        NameRule("running tool", SpanKind.TOOL),
        NameRule("running output function", SpanKind.TOOL),
        NameRule("chat *", SpanKind.LLM),
        NameRule("execute_tool *", SpanKind.TOOL),
        NameRule("invoke_agent *", SpanKind.AGENT),
    ),
    wrappers=("running tools", "running * tools"),
    tool_name_keys=("gen_ai.tool.name",),
    tool_name_in_span=("execute_tool {}", "running tool: {}"),
    call_id_keys=("gen_ai.tool.call.id",),
    completions_in=("gen_ai.output.messages", "events", "log event gen_ai.choice"),
    session_keys=("gen_ai.conversation.id",),
    agent_keys=("gen_ai.agent.name", "agent_name"),
    agent_in_span=("invoke_agent {}",),
)
