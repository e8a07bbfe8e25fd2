"""
Spring AI (Micrometer observations): source of 2.0.1. Reference §3.25.

Micrometer turns span names into kebab case, so they are never used as tool names.
"""

from proto_adapters.canonical import SpanKind
from proto_adapters.dialects.dialect import Dialect, Recognition, kinds

SPRING_AI = Dialect(
    id="spring_ai",
    title="Spring AI",
    reads_from="source",
    recognised_by=Recognition(keys=("spring.ai.*",)),
    kind_key=kinds(
        "spring.ai.kind",
        {
            "tool_call": SpanKind.TOOL,
            "chat_client": SpanKind.AGENT,
            "advisor": SpanKind.CHAIN,
            "vector_store": SpanKind.RETRIEVER,
        },
    ),
    tool_name_keys=("spring.ai.tool.definition.name",),
    call_id_keys=("spring.ai.tool.call.id",),
    session_keys=("spring.ai.chat.client.conversation.id",),
    cannot_be_seen=("completions: they go to the log as text",),
)
