"""
The OpenTelemetry GenAI conventions, all three eras. Reference §3.1 to §3.3.

1.26-1.27: content span events. 1.28-1.36: `gen_ai.choice` events, mostly log records. 1.37 to now: message attributes
(in their own repository since 1.42). Source of the conventions at those tags, recordings of thirteen packages.
"""

from proto_adapters.canonical import SpanKind
from proto_adapters.dialects.dialect import Dialect, NameRule, Recognition

OTEL_GENAI_MESSAGES = Dialect(
    id="otel_genai_messages",
    title="OTel GenAI 1.37 to now: message attributes",
    reads_from="source, recordings",
    recognised_by=Recognition(
        scopes=(
            "opentelemetry.instrumentation.genai.*",
            "opentelemetry.util.genai.handler",
            "opentelemetry.instrumentation.google_genai",
        ),
        keys=(
            "gen_ai.provider.name",
            "gen_ai.output.messages",
            "gen_ai.input.messages",
            "gen_ai.output.messages_ref",
            "gen_ai.operation.name",
            "gen_ai.tool.*",
        ),
        events=("gen_ai.client.inference.operation.details",),
    ),
    kind_from="gen_ai.operation.name",
    span_names=(NameRule("execute_tool *", SpanKind.TOOL),),
    tool_name_keys=("gen_ai.tool.name",),
    tool_name_in_span=("execute_tool {}",),
    call_id_keys=("gen_ai.tool.call.id",),
    completions_in=("gen_ai.output.messages", "event or log gen_ai.client.inference.operation.details"),
    session_keys=("gen_ai.conversation.id",),
    agent_keys=("gen_ai.agent.name",),
    agent_in_span=("invoke_agent {}",),
    cannot_be_seen=(
        "completions, without content capture (off by default)",
        "messages that an upload hook moved away",
        "smolagents 1.2b0: any call at all",
    ),
)

OTEL_GENAI_CHOICE_EVENTS = Dialect(
    id="otel_genai_choice_events",
    title="OTel GenAI 1.28-1.36: gen_ai.choice events",
    reads_from="source, recordings",
    recognised_by=Recognition(
        scopes=("opentelemetry.instrumentation.openai_v2", "@opentelemetry/instrumentation-openai"),
        keys=("gen_ai.system",),
        events=("gen_ai.choice",),
    ),
    kind_from="gen_ai.operation.name",
    tool_name_keys=("gen_ai.tool.name",),
    tool_name_in_span=("execute_tool {}",),
    call_id_keys=("gen_ai.tool.call.id",),
    completions_in=("event or log gen_ai.choice",),
    session_keys=("gen_ai.conversation.id",),
    agent_keys=("gen_ai.agent.name",),
    agent_in_span=("invoke_agent {}",),
    cannot_be_seen=("completions, unless log records are received too",),
)

OTEL_GENAI_CONTENT_EVENTS = Dialect(
    id="otel_genai_content_events",
    title="OTel GenAI 1.26-1.27: content span events",
    reads_from="source",
    recognised_by=Recognition(events=("gen_ai.content.completion", "gen_ai.content.prompt")),
    kind_from="gen_ai.operation.name",
    completions_in=("event gen_ai.content.completion: gen_ai.completion",),
    cannot_be_seen=("tool executions", "sessions"),
)
