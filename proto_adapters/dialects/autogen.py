"""
AutoGen (autogen-core): source, recordings of 0.7.5. Reference §3.23. It writes no model spans.
"""

from proto_adapters.canonical import SpanKind
from proto_adapters.dialects.dialect import Dialect, NameRule, Recognition

AUTOGEN = Dialect(
    id="autogen",
    title="AutoGen (autogen-core)",
    reads_from="source, recordings",
    recognised_by=Recognition(
        scopes=("autogen-core", "autogen *", "openinference.instrumentation.autogen*"),
        values=(("gen_ai.system", "autogen"),),
    ),
    kind_from="gen_ai.operation.name",
    span_names=(
        NameRule("autogen *", SpanKind.CHAIN),
        NameRule("execute_tool *", SpanKind.TOOL),
        NameRule("invoke_agent *", SpanKind.AGENT),
        NameRule("create_agent *", SpanKind.CHAIN),
    ),
    tool_name_keys=("gen_ai.tool.name",),
    tool_name_in_span=("execute_tool {}",),
    call_id_keys=("gen_ai.tool.call.id",),
    agent_keys=("gen_ai.agent.name",),
    agent_in_span=("invoke_agent {}",),
    cannot_be_seen=("completions: it writes no model spans", "sessions"),
)
