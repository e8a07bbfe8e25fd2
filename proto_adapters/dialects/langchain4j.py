"""
LangChain4j, through OpenInference Java or its own chat observation: source. Reference §3.26.

The tool span is made after the call and has no length.
"""

from proto_adapters.dialects.dialect import Dialect, Recognition

LANGCHAIN4J = Dialect(
    id="langchain4j",
    title="LangChain4j",
    reads_from="source",
    recognised_by=Recognition(scopes=("*langchain4j*",)),
    kind_from="gen_ai.operation.name, openinference.span.kind",
    tool_name_keys=("tool.name",),
    call_id_keys=("tool_call.id",),
    completions_in=("llm.output_messages.N.message.*",),
    session_keys=("session.id",),
    intervals="synthetic",
    cannot_be_seen=("when a tool ran: start and end are the moment after the call",),
)
