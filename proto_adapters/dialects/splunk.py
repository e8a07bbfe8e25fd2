"""
Splunk's GenAI utilities and instrumentations: part of the source. Reference §3.52.
"""

from proto_adapters.canonical import SpanKind
from proto_adapters.dialects.dialect import Dialect, Recognition

SPLUNK_GENAI = Dialect(
    id="splunk_genai",
    title="Splunk GenAI utilities",
    reads_from="part of the source",
    recognised_by=Recognition(scopes=("opentelemetry.util.genai*",), keys=("gen_ai.step.*",)),
    kind_from="gen_ai.operation.name",
    operations={"step": SpanKind.CHAIN},
    tool_name_keys=("gen_ai.tool.name",),
    tool_name_in_span=("execute_tool {}",),
    call_id_keys=("gen_ai.tool.call.id",),
    completions_in=("gen_ai.output.messages",),
    session_keys=("gen_ai.conversation.id",),
    agent_keys=("gen_ai.agent.name",),
    agent_in_span=("invoke_agent {}",),
    intervals="zero_length",
)
