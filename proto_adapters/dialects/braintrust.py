"""
Braintrust: documentation and part of the source. Reference §3.45. It mostly receives OpenTelemetry.
"""

from proto_adapters.canonical import SpanKind
from proto_adapters.dialects.dialect import Dialect, Recognition, inner_kinds

BRAINTRUST = Dialect(
    id="braintrust",
    title="Braintrust",
    reads_from="documentation, part of the source",
    recognised_by=Recognition(keys=("braintrust.*",)),
    kind_key=inner_kinds(
        "braintrust.span_attributes",
        "type",
        {
            "tool": SpanKind.TOOL,
            "llm": SpanKind.LLM,
            "function": SpanKind.CHAIN,
            "task": SpanKind.CHAIN,
            "score": SpanKind.EVALUATOR,
            "eval": SpanKind.EVALUATOR,
        },
    ),
    tool_name_keys=("gen_ai.tool.name",),
    tool_name_in_span=("{}",),
    call_id_keys=("gen_ai.tool.call.id",),
    completions_in=("braintrust.output_json",),
    cannot_be_seen=("sessions",),
)
