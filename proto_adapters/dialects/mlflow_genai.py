"""
MLflow exported as OTel GenAI: single source files. Reference §3.16. The names of tools are lost on the way.
"""

from proto_adapters.dialects.dialect import Dialect, Recognition

MLFLOW_GENAI = Dialect(
    id="mlflow_genai_export",
    title="MLflow exported as OTel GenAI",
    reads_from="single source files",
    recognised_by=Recognition(scopes=("mlflow.*",)),
    kind_from="gen_ai.operation.name",
    tool_name_keys=("gen_ai.tool.name",),
    completions_in=("gen_ai.output.messages",),
    session_keys=("gen_ai.conversation.id", "session.id"),
    agent_keys=("gen_ai.agent.name",),
    cannot_be_seen=("tool names: its tool spans are named `execute_tool` and nothing else",),
)
