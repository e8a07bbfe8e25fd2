"""
MLflow tracing over OTLP with its native attributes: single source files, recordings of 3.17.2. Reference §3.15.

Every value is JSON text, strings too. Older trackers number repeated span names; the trace tells whether they did.
"""

from proto_adapters.canonical import SpanKind
from proto_adapters.dialects.dialect import Dialect, Recognition, quoted_kinds

MLFLOW = Dialect(
    id="mlflow",
    title="MLflow tracing (native attributes)",
    reads_from="single source files, recordings",
    recognised_by=Recognition(
        scopes=("mlflow.tracing.provider",), keys=("mlflow.spanType", "mlflow.traceRequestId", "mlflow.spanInputs")
    ),
    kind_key=quoted_kinds(
        "mlflow.spanType",
        {
            "TOOL": SpanKind.TOOL,
            "LLM": SpanKind.LLM,
            "CHAT_MODEL": SpanKind.LLM,
            "AGENT": SpanKind.AGENT,
            "CHAIN": SpanKind.CHAIN,
            "WORKFLOW": SpanKind.CHAIN,
            "TASK": SpanKind.CHAIN,
            "RETRIEVER": SpanKind.RETRIEVER,
            "RERANKER": SpanKind.RERANKER,
            "EMBEDDING": SpanKind.EMBEDDING,
            "PARSER": SpanKind.CHAIN,
            "MEMORY": SpanKind.MEMORY,
            "GUARDRAIL": SpanKind.GUARDRAIL,
            "EVALUATOR": SpanKind.EVALUATOR,
            "UNKNOWN": SpanKind.UNKNOWN,
        },
    ),
    tool_name_in_span=("{}",),
    completions_in=("mlflow.spanOutputs",),
    session_keys=("session.id", "mlflow.trace.session"),
    agent_in_span=("{}",),
    cannot_be_seen=("call ids", "sessions that are kept as trace metadata only"),
)
