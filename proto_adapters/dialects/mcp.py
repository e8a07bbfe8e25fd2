"""
Model Context Protocol: the OTel conventions, the Python SDK 2.x, FastMCP 3 and 4. Reference §3.4, §3.42, §3.43.

Source and recordings of mcp 2.3.0 and FastMCP 4.2.3. `mcp.session.id` is a session of the transport, never of a
conversation. One call may be up to four spans; the trace joins them (W2 to W4).
"""

from typing import Final

from proto_adapters.canonical import SpanKind
from proto_adapters.dialects.dialect import Dialect, NameRule, Recognition

TOOLS_CALL: Final = "tools/call"

FASTMCP = Dialect(
    id="fastmcp",
    title="FastMCP 3 and 4",
    reads_from="source, recordings",
    recognised_by=Recognition(scopes=("fastmcp",), keys=("fastmcp.*",), values=(("rpc.system", "mcp"),)),
    kind_from="mcp.method.name",
    wrappers=("delegate *",),
    tool_name_keys=("gen_ai.tool.name", "fastmcp.component.key"),
    tool_name_in_span=("tools/call {}",),
    cannot_be_seen=("call ids", "how long the call itself took: the client's span lists tools inside it"),
)

MCP_PYTHON_SDK = Dialect(
    id="mcp_python_sdk",
    title="MCP Python SDK 2.x",
    reads_from="source, recordings",
    recognised_by=Recognition(scopes=("mcp-python-sdk",)),
    kind_from="mcp.method.name",
    span_names=(NameRule("MCP send tools/call *", SpanKind.TOOL), NameRule("MCP send *", SpanKind.CHAIN)),
    tool_name_keys=("gen_ai.tool.name",),
    tool_name_in_span=("MCP send tools/call {}", "tools/call {}"),
    cannot_be_seen=("call ids", "sessions"),
)

MCP_SEMCONV = Dialect(
    id="mcp_semconv",
    title="OTel MCP conventions",
    reads_from="source",
    recognised_by=Recognition(keys=("mcp.method.name", "mcp.session.id", "mcp.protocol.version")),
    kind_from="mcp.method.name",
    tool_name_keys=("gen_ai.tool.name",),
    tool_name_in_span=("tools/call {}",),
    call_id_keys=("gen_ai.tool.call.id",),
    cannot_be_seen=("the conversation, in a trace that only the server wrote",),
)
