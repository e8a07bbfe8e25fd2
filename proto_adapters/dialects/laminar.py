"""
Laminar (lmnr): recordings of JavaScript 0.8.46 and Python; keys by MLflow's translator. Reference §3.49.
"""

from proto_adapters.canonical import SpanKind
from proto_adapters.dialects.dialect import Dialect, Recognition, kinds

LAMINAR = Dialect(
    id="laminar",
    title="Laminar (lmnr)",
    reads_from="second-hand, recordings",
    recognised_by=Recognition(scopes=("lmnr", "lmnr.*", "@lmnr-ai/*"), keys=("lmnr.*",)),
    kind_key=kinds(
        "lmnr.span.type",
        {
            "TOOL": SpanKind.TOOL,
            "LLM": SpanKind.LLM,
            "DEFAULT": SpanKind.CHAIN,
            "PIPELINE": SpanKind.CHAIN,
            "EXECUTOR": SpanKind.CHAIN,
            "EVALUATION": SpanKind.CHAIN,
            "EVALUATOR": SpanKind.EVALUATOR,
        },
    ),
    tool_name_in_span=("{}",),
    completions_in=("gen_ai.output.messages", "gen_ai.completion.N.*"),
    session_keys=("lmnr.association.properties.session_id",),
    cannot_be_seen=("call ids", "the status of failed tools, which stays unset"),
)
