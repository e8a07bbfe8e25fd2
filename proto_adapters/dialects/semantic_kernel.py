"""
Semantic Kernel, Python and .NET: source of 2026-08, recordings of 1.45.0. Reference §3.24.

Python writes `Plugin-function` as the tool's name, .NET the function's only.
"""

from proto_adapters.canonical import SpanKind
from proto_adapters.dialects.dialect import Dialect, NameRule, Recognition

SEMANTIC_KERNEL = Dialect(
    id="semantic_kernel",
    title="Semantic Kernel (Python, .NET)",
    reads_from="source, recordings",
    recognised_by=Recognition(scopes=("semantic_kernel.*", "Microsoft.SemanticKernel*"), keys=("sk.*",)),
    kind_from="gen_ai.operation.name, else span name",
    span_names=(
        NameRule("execute_tool *", SpanKind.TOOL),
        NameRule("invoke_agent *", SpanKind.AGENT),
        NameRule("chat.completions *", SpanKind.LLM),
        NameRule("text.completions *", SpanKind.LLM),
        NameRule("chat *", SpanKind.LLM),
    ),
    wrappers=("AutoFunctionInvocationLoop",),
    tool_name_keys=("gen_ai.tool.name",),
    tool_name_in_span=("execute_tool {}",),
    call_id_keys=("gen_ai.tool.call.id",),
    completions_in=("event or log gen_ai.choice: gen_ai.event.content",),
    agent_keys=("gen_ai.agent.name",),
    agent_in_span=("invoke_agent {}",),
    cannot_be_seen=("completions, by default", "sessions", "whether a model asked for a prompt function"),
)
