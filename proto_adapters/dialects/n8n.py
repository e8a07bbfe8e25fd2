"""
n8n: single source files. Reference §3.41.

Every node is a span, so only nodes of the agent packages are more than CHAIN.
"""

import re
from typing import Final

from proto_adapters.attribute_values import text_of
from proto_adapters.canonical import AttributeValue, SpanKind
from proto_adapters.dialects.dialect import Dialect, KindKey, NameRule, Recognition

_TOOL_NODE: Final = re.compile(r"\.(tool[A-Z]\w*|mcpClientTool)$")


def _kind_of(value: AttributeValue) -> SpanKind | None:
    node_type = text_of(value)
    if node_type is None:
        return None
    if _TOOL_NODE.search(node_type):
        return SpanKind.TOOL
    node = node_type.rpartition(".")[2]
    if node_type.startswith("@n8n/n8n-nodes-langchain.agent"):
        return SpanKind.AGENT
    return SpanKind.LLM if node.startswith("lmChat") else SpanKind.CHAIN


N8N = Dialect(
    id="n8n",
    title="n8n",
    reads_from="single source files",
    recognised_by=Recognition(scopes=("n8n-workflow", "n8n-instrumentation"), keys=("n8n.*",)),
    kind_key=KindKey(
        "n8n.node.type",
        _kind_of,
        (("*.tool*, *.mcpClientTool", "TOOL"), ("*.agent*", "AGENT"), ("*.lmChat*", "LLM"), ("any other", "CHAIN")),
    ),
    span_names=(NameRule("workflow.execute", SpanKind.CHAIN), NameRule("node.execute", SpanKind.CHAIN)),
    tool_name_keys=("n8n.node.name",),
    agent_keys=("n8n.node.name",),
    cannot_be_seen=("call ids", "completions", "sessions", "whether a tool node ran for an agent or in a workflow"),
)
