"""
AWS: ADOT and Bedrock AgentCore. Source of 0.19.0. Reference §3.19.

ADOT takes message content off the spans and sends it as one log record for each model span.
"""

from proto_adapters.dialects.dialect import Dialect, Recognition

AWS_ADOT = Dialect(
    id="aws_adot",
    title="AWS ADOT / Bedrock AgentCore",
    reads_from="source",
    recognised_by=Recognition(scopes=("amazon.opentelemetry.distro.*",)),
    kind_from="gen_ai.operation.name",
    tool_name_keys=("gen_ai.tool.name",),
    tool_name_in_span=("execute_tool {}", "tools/call {}"),
    call_id_keys=("gen_ai.tool.call.id",),
    completions_in=("log body output.messages", "gen_ai.completion.N.*", "llm.output_messages.N.message.*"),
    session_keys=("session.id",),
    agent_keys=("gen_ai.agent.name",),
    agent_in_span=("invoke_agent {}",),
    cannot_be_seen=("completions, unless its log records are received too",),
)
