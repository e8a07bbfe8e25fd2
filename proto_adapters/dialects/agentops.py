"""
AgentOps: source of 0.4, recordings of 0.4.21. Not an entry of the reference; its recordings' README tells it.

`tool_call.X` spans under a model span are requests, made when the answer came; `X.tool` is the execution (C14).
"""

from proto_adapters.canonical import SpanKind
from proto_adapters.dialects.dialect import Dialect, Recognition, kinds

AGENTOPS = Dialect(
    id="agentops",
    title="AgentOps",
    reads_from="source, recordings",
    recognised_by=Recognition(scopes=("agentops*",), keys=("agentops.*",)),
    kind_key=kinds(
        "agentops.span.kind",
        {
            "tool": SpanKind.TOOL,
            "llm": SpanKind.LLM,
            "agent": SpanKind.AGENT,
            "team": SpanKind.CHAIN,
            "session": SpanKind.CHAIN,
            "workflow": SpanKind.CHAIN,
            "task": SpanKind.CHAIN,
            "operation": SpanKind.CHAIN,
            "chain": SpanKind.CHAIN,
            "guardrail": SpanKind.GUARDRAIL,
        },
    ),
    tool_name_keys=("tool.name", "operation.name"),
    tool_name_in_span=("{}.tool",),
    call_id_keys=("tool.call.id",),
    completions_in=("gen_ai.completion.N.*",),
    agent_keys=("agent.name",),
    agent_in_span=("{}.agent",),
    cannot_be_seen=("embedded calls: they are written as spans of their own",),
)
