"""
Elastic EDOT (openai): source of 2026-03. Reference §3.48. Nothing of the completion is on the span.
"""

from proto_adapters.dialects.dialect import Dialect, Recognition

ELASTIC_EDOT = Dialect(
    id="elastic_edot",
    title="Elastic EDOT (openai)",
    reads_from="source",
    recognised_by=Recognition(scopes=("opentelemetry.instrumentation.openai",)),
    kind_from="gen_ai.operation.name",
    completions_in=("log event gen_ai.choice",),
    cannot_be_seen=("completions, unless log records are received too", "tool executions", "sessions"),
)
