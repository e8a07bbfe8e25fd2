"""
LlamaIndex's own OpenTelemetry (llama-index-observability-otel): single source files. Reference §3.13.

In its default mode spans have neither kinds nor attributes and stay UNKNOWN. Its GenAI mode writes text parts only.
"""

from proto_adapters.dialects.dialect import Dialect, Recognition

LLAMAINDEX_NATIVE = Dialect(
    id="llamaindex_native",
    title="LlamaIndex's own OpenTelemetry",
    reads_from="single source files",
    recognised_by=Recognition(scopes=("llamaindex.opentelemetry.tracer",), services=("llamaindex.opentelemetry",)),
    kind_from="gen_ai.operation.name, in its GenAI mode",
    tool_name_keys=("gen_ai.tool.name",),
    tool_name_in_span=("execute_tool {}",),
    call_id_keys=("gen_ai.tool.call.id",),
    completions_in=("gen_ai.output.messages",),
    intervals="zero_length",
    cannot_be_seen=("anything in its default mode", "calls in completions"),
)
