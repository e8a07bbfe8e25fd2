"""
smolagents, Agno, DSPy and BeeAI, which have no OpenTelemetry of their own. Reference §3.21 and the recordings.

All come through OpenInference. The framework's own tools (`final_answer`, `finish`, `delegate_task_to_member`) are
TOOL spans like any other. BeeAI in JavaScript writes an event at a time (C13).
"""

from proto_adapters.dialects.dialect import Dialect, Recognition

SMOLAGENTS_AGNO_DSPY = Dialect(
    id="smolagents_agno_dspy",
    title="smolagents, Agno, DSPy, BeeAI (through OpenInference)",
    reads_from="source, recordings",
    recognised_by=Recognition(
        scopes=(
            "openinference.instrumentation.smolagents",
            "openinference.instrumentation.agno",
            "openinference.instrumentation.dspy",
            "openinference.instrumentation.beeai",
            "@arizeai/openinference-instrumentation-beeai",
        )
    ),
    kind_from="openinference.span.kind",
    tool_name_keys=("tool.name",),
    tool_name_in_span=("{}.__call__", "{}.acall", "tool.dynamic.{}.success-N"),
    completions_in=("llm.output_messages.N.message.*",),
    session_keys=("session.id",),
    agent_keys=("agent.name",),
    cannot_be_seen=(
        "calls of a code agent, which are Python source",
        "calls of DSPy, which are prose",
        "when a BeeAI tool ran (JavaScript): its spans are moments, written after the run",
    ),
)
