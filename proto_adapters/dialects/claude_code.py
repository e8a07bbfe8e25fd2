"""
Claude Code (traces beta): documentation, changelog, recordings of 2.1.332. Reference §3.34.

The tool span includes the wait for permission. Whether a refused tool ran is told by its child `…tool.execution`
only, so the trace decides (C9).
"""

from proto_adapters.canonical import SpanKind
from proto_adapters.dialects.dialect import Dialect, Recognition, kinds

CLAUDE_CODE = Dialect(
    id="claude_code",
    title="Claude Code (traces beta)",
    reads_from="documentation, changelog, recordings",
    recognised_by=Recognition(
        scopes=("com.anthropic.claude_code*", "claude_code"),
        values=(("span.type", "claude_code.*"),),
        services=("claude-code",),
    ),
    kind_key=kinds(
        "span.type",
        {
            "interaction": SpanKind.AGENT,
            "claude_code.interaction": SpanKind.AGENT,
            "llm_request": SpanKind.LLM,
            "claude_code.llm_request": SpanKind.LLM,
            "tool": SpanKind.TOOL,
            "claude_code.tool": SpanKind.TOOL,
        },
    ),
    wrappers=("claude_code.tool.*", "claude_code.hook*"),
    tool_name_keys=("gen_ai.tool.name", "tool_name"),
    call_id_keys=("gen_ai.tool.call.id", "tool_use_id"),
    session_keys=("session.id", "gen_ai.conversation.id"),
    agent_keys=("gen_ai.agent.name",),
    cannot_be_seen=(
        "completions",
        "names of MCP tools, unless tool details are switched on",
        "the failure of an MCP tool, on the tool span itself",
    ),
)
