"""
Mastra: `@mastra/otel-exporter` (single source files; recordings of 1.4.0). Reference §3.30.

`model_inference` is no value of its table: its operation `chat` makes it an LLM span.
"""

from proto_adapters.canonical import SpanKind
from proto_adapters.dialects.dialect import Dialect, Recognition, kinds

MASTRA = Dialect(
    id="mastra",
    title="Mastra",
    reads_from="single source files, recordings",
    recognised_by=Recognition(
        scopes=("@mastra/otel-exporter", "@mastra/otel", "@mastra/otel-bridge"), keys=("mastra.*",)
    ),
    kind_key=kinds(
        "mastra.span.type",
        {
            "tool_call": SpanKind.TOOL,
            "mcp_tool_call": SpanKind.TOOL,
            "provider_tool_call": SpanKind.TOOL,
            "model_generation": SpanKind.LLM,
            "llm_generation": SpanKind.LLM,
            "agent_run": SpanKind.AGENT,
            "workflow_run": SpanKind.CHAIN,
            "workflow_step": SpanKind.CHAIN,
            "generic": SpanKind.CHAIN,
            "model_step": SpanKind.CHAIN,
            "model_chunk": SpanKind.CHAIN,
            "mapping": SpanKind.CHAIN,
            "processor_run": SpanKind.CHAIN,
            "rag_embedding": SpanKind.EMBEDDING,
        },
    ),
    tool_name_keys=("gen_ai.tool.name",),
    tool_name_in_span=("execute_tool {}", "tool.execute {}"),
    call_id_keys=("gen_ai.tool.call.id",),
    completions_in=("gen_ai.output.messages", "gen_ai.completion", "mastra.model_generation.output"),
    session_keys=("gen_ai.conversation.id", "mastra.metadata.sessionId"),
    agent_keys=("gen_ai.agent.name",),
    agent_in_span=("invoke_agent {}",),
    cannot_be_seen=("the calls of one model request: its `chat` span tells an empty text",),
)
