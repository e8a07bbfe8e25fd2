"""
Dify's trace providers: single source files. Reference §3.40. Exported after the run from stored records.
"""

from proto_adapters.dialects.dialect import Dialect, Recognition

DIFY = Dialect(
    id="dify",
    title="Dify (trace providers)",
    reads_from="single source files",
    recognised_by=Recognition(scopes=("unified_*", "dify.*"), keys=("dify.*",)),
    kind_from="openinference.span.kind",
    tool_name_keys=("tool.name",),
    tool_name_in_span=("{}",),
    completions_in=("output.value",),
    session_keys=("session.id",),
    intervals="synthetic",
    cannot_be_seen=("real times: spans are rebuilt from records", "call ids", "what a model asked for"),
)
