"""
Arize AX and Phoenix: OpenInference with a project on the resource. Reference §3.47.
"""

from proto_adapters.dialects.dialect import Dialect, Recognition

ARIZE = Dialect(
    id="arize",
    title="Arize AX / Phoenix",
    reads_from="source",
    recognised_by=Recognition(keys=("eval.*",)),
    kind_from="openinference.span.kind",
    tool_name_keys=("tool.name",),
    tool_name_in_span=("{}",),
    call_id_keys=("tool.id",),
    completions_in=("llm.output_messages.N.message.*",),
    session_keys=("session.id",),
    agent_keys=("agent.name",),
)
