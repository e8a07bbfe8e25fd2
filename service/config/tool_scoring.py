"""
`processors::tool_scoring`: how traces are collected, closed, scored and annotated.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_validator

from service.config.expectations import Expectations
from service.config.metrics import Metric
from service.config.root_span import RootSpanCondition
from service.config.session import SessionConfig
from service.config.tool_selection_accuracy import ToolSelectionAccuracyConfig
from service.config.values import (
    DURATION_PATTERN,
    AttributeKey,
    Block,
    Count,
    Distinct,
    Duration,
    EmptyMeansDefaults,
    FilePath,
    Mebibytes,
    Name,
    PositiveCount,
    PositiveDuration,
    Switch,
)
from service.durations import HOUR, MINUTE, SECOND, format_duration, parse_duration

DECISION_DELAY_NS = 5 * SECOND
"""Batch span processors of SDKs hold ended spans for up to 5 s (reference collector.md §1.1)."""
IDLE_TIMEOUT_NS = 60 * SECOND
TRACE_TIMEOUT_NS = 5 * MINUTE
"""Longer than the 30 to 60 s of tail samplers: agent runs last minutes."""
NUM_TRACES = 50_000
SPAN_LIMIT = 10_000
MAXIMUM_TRACE_SIZE_BYTES = 8 * 1024 * 1024
MAX_BUFFER_MIB = 256
DECISION_CACHE_SIZE = 100_000
JOURNAL_MAX_SIZE_MIB = 4_096
CARDINALITY_LIMIT = 1_000
METRICS_FLUSH_INTERVAL_NS = 15 * SECOND

Mode = Literal["hold", "pass_through"]
Annotate = Literal["root", "all", "none"]
LateSpansAction = Literal["rescore", "stamp", "forward"]
EvictionPolicy = Literal["score", "forward_unscored"]
UntrustedAttributes = Literal["drop", "keep"]
Fsync = Literal["batch", "always", "never"]
IDENTIFIERS = frozenset(
    {
        "trace_id",
        "span_id",
        "session.id",
        "gen_ai.conversation.id",
        "gen_ai.response.id",
        "gen_ai.tool.call.id",
        "user.id",
        "enduser.id",
    }
)
"""Every value of these is a series of its own (design §9: ids are never dimensions)."""
OPEN_NAMES = frozenset({"gen_ai.tool.name", "tool.name"})
"""Whoever sends spans chooses these; only expected tools may become dimensions."""


def _parse_resolution(value: object) -> object:
    return value if value == "auto" else parse_duration(value)


TimestampResolution = Annotated[
    Literal["auto"] | int,
    BeforeValidator(_parse_resolution),
    PlainSerializer(lambda value: value if value == "auto" else format_duration(value)),
    WithJsonSchema({"anyOf": [{"const": "auto"}, {"type": "string", "pattern": DURATION_PATTERN}, {"const": 0}]}),
]
"""Nanoseconds, or `auto`."""


def _check_dimensions(keys: tuple[str, ...]) -> tuple[str, ...]:
    if IDENTIFIERS & set(keys):
        raise ValueError("should hold no ids: every id is a series of its own")
    if OPEN_NAMES & set(keys):
        raise ValueError("should hold no tool names: senders choose them")
    return keys


class LateSpansConfig(Block):
    """
    Spans of a trace that was already closed by its root.
    """

    action: LateSpansAction = Field(
        "rescore",
        description="rescore: correct the result if the span changes it; stamp: mark the span with the old result; "
        "forward: pass it on as it is.",
    )


class DecisionCacheConfig(Block):
    """
    What is remembered of traces that were scored.
    """

    size: PositiveCount = Field(
        DECISION_CACHE_SIZE, description="Traces; at least num_traces. The least used go first."
    )


class EvictionConfig(Block):
    """
    What becomes of the oldest trace when num_traces or the buffer is full.
    """

    policy: EvictionPolicy = Field("score", description="score: with what is there; forward_unscored: pass it on.")


class JournalConfig(Block):
    """
    Requests on disk before they are acknowledged, so that a crash loses nothing (design §12).
    """

    directory: FilePath | None = Field(None, description="Folder of the journal; left out: no journal.")
    fsync: Fsync = Field("batch", description="batch: one sync for all waiting requests; always: each; never: the OS.")
    max_size_mib: Mebibytes = Field(
        JOURNAL_MAX_SIZE_MIB, description="Size of the requests kept; over it further ones are refused (retryable)."
    )


class BufferConfig(Block):
    """
    Where open traces are kept.
    """

    journal: Annotated[JournalConfig, EmptyMeansDefaults()] = Field(
        default_factory=JournalConfig, description="Durability of the buffer."
    )


class EvidenceConfig(Block):
    """
    Evidence for later replay: tool names, times, coverage. No arguments, no content.
    """

    file: FilePath | None = Field(None, description="File that one JSON line per occurrence is appended to.")


class MembershipConfig(Block):
    """
    Watches the set of replicas; traces open while it changes are partial.
    """

    hostname: Name | None = Field(
        None, description="DNS name of all replicas (a headless service); left out: SIGHUP only."
    )
    interval_ns: PositiveDuration = Field(5 * SECOND, description="How often the name is resolved.")


class AnnotationsApiConfig(Block):
    """
    `PUT /v1/annotations/{trace or session id}` on the OTLP/HTTP listener, with its authentication.
    """

    enabled: Switch = Field(default=True, description="Whoever may send spans may then say what a run requires.")
    max_entries: PositiveCount = Field(10_000, description="Annotations kept; the oldest go first.")
    ttl_ns: PositiveDuration = Field(24 * HOUR, description="How long an annotation is kept.")


class ToolScoringConfig(Block):
    """
    The processor. Times count from the arrival of spans; times inside spans are never rewritten.
    """

    mode: Mode = Field("hold", description="hold: spans leave when scored, with attributes; pass_through: at once.")
    annotate: Annotate = Field("root", description="Spans of a trace that get score attributes (hold mode).")
    decision_delay_ns: Duration = Field(
        DECISION_DELAY_NS, description="Wait after the last span that follows the root, at most until trace_timeout."
    )
    idle_timeout_ns: Duration = Field(
        IDLE_TIMEOUT_NS, description="Close a trace that sends nothing for so long. 0s: never."
    )
    trace_timeout_ns: PositiveDuration = Field(
        TRACE_TIMEOUT_NS, description="Close a trace so long after its first span."
    )
    num_traces: PositiveCount = Field(NUM_TRACES, description="Open traces; over it the oldest is evicted.")
    span_limit: Count = Field(SPAN_LIMIT, description="Close a trace with so many spans. 0: no limit.")
    maximum_trace_size_bytes: Count = Field(
        MAXIMUM_TRACE_SIZE_BYTES, description="Close a trace of so many bytes. 0: no limit."
    )
    max_buffer_mib: Mebibytes = Field(
        MAX_BUFFER_MIB, description="Spans and evidence of all traces together; pressure begins at 80 % of it."
    )
    root_span_condition: RootSpanCondition = Field(
        "parent_empty",
        description="What closes a trace: parent_empty; parent_empty_or_remote (a sidecar that sees one service); or a "
        "list of {attribute, values}, one of which makes a span the root of an occurrence of its own.",
    )
    late_spans: Annotated[LateSpansConfig, EmptyMeansDefaults()] = Field(
        default_factory=LateSpansConfig, description="Spans after the root closed their trace."
    )
    decision_cache: Annotated[DecisionCacheConfig, EmptyMeansDefaults()] = Field(
        default_factory=DecisionCacheConfig, description="Memory of scored traces."
    )
    eviction: Annotated[EvictionConfig, EmptyMeansDefaults()] = Field(
        default_factory=EvictionConfig, description="When traces must go early."
    )
    drop_pending_traces_on_shutdown: Switch = Field(
        default=False, description="Drop open traces at shutdown instead of scoring and releasing them."
    )
    clock_skew_tolerance_ns: Duration = Field(
        0, description="Gap between two calls that proves no order; conditions may set their own."
    )
    timestamp_resolution: TimestampResolution = Field(
        "auto",
        description="auto: call ends cut to milliseconds count 1 ms later; a duration: that much; 0s: as they are.",
    )
    completeness_attribute: AttributeKey | None = Field(
        None, description="Attribute of the root by which the sender declares the trace complete."
    )
    allow_false_on_inferred: Switch = Field(
        default=True, description="Whether a verdict of false may rest on completeness that is inferred, not declared."
    )
    tool_selection_accuracy: Annotated[ToolSelectionAccuracyConfig, EmptyMeansDefaults()] = Field(
        default_factory=ToolSelectionAccuracyConfig, description="Run-level required tools, and annotations."
    )
    expectations: Expectations = Field((), description="Required tools and conditions by match; the first fit wins.")
    annotations_file: FilePath | None = Field(
        None, description="YAML or JSON file of annotations, re-read when it changes."
    )
    annotations_api: Annotated[AnnotationsApiConfig, EmptyMeansDefaults()] = Field(
        default_factory=AnnotationsApiConfig, description="Annotations over HTTP."
    )
    expected_tools_attribute: AttributeKey | None = Field(
        None, description="Span attribute that names the required tools. Off by default: any sender could set it."
    )
    additional_metrics: Annotated[tuple[Metric, ...], Distinct] = Field(
        (), description="Further scores against the expected tools."
    )
    tool_name_aliases: Switch = Field(
        default=False, description="Let the tail of a namespaced name match too: mcp__trips__find_train as find_train."
    )
    handoffs_as_tools: Switch = Field(default=False, description="Count handoffs between agents as tool calls.")
    order_from_embedded_calls: Switch = Field(
        default=False, description="Establish order from completions where no execution spans exist."
    )
    count_embedded_calls: Switch = Field(
        default=False, description="Let conditions read calls of completions where no execution spans exist."
    )
    early_verdicts: Switch = Field(
        default=False, description="Send results that nothing can overturn before the trace is closed, as events."
    )
    evaluation_span: Switch = Field(
        default=False, description="In pass_through mode, send one small span with the scores under the root."
    )
    untrusted_attributes: UntrustedAttributes = Field(
        "drop", description="What becomes of toolscore.* attributes that senders put on spans we annotate."
    )
    dimensions: Annotated[tuple[AttributeKey, ...], Distinct, AfterValidator(_check_dimensions)] = Field(
        (), description="Root or resource attributes that become dimensions of score metrics."
    )
    aggregation_cardinality_limit: PositiveCount = Field(
        CARDINALITY_LIMIT, description="Series per score metric; further ones share otel.metric.overflow."
    )
    metrics_flush_interval_ns: PositiveDuration = Field(
        METRICS_FLUSH_INTERVAL_NS, description="How often score metrics leave through the metrics pipeline."
    )
    session: Annotated[SessionConfig, EmptyMeansDefaults()] = Field(
        default_factory=SessionConfig, description="Scores of whole conversations."
    )
    buffer: Annotated[BufferConfig, EmptyMeansDefaults()] = Field(
        default_factory=BufferConfig, description="Durability of open traces."
    )
    evidence: Annotated[EvidenceConfig, EmptyMeansDefaults()] = Field(
        default_factory=EvidenceConfig, description="Stored evidence."
    )
    membership: Annotated[MembershipConfig, EmptyMeansDefaults()] = Field(
        default_factory=MembershipConfig, description="The set of replicas."
    )

    @property
    def max_buffer_bytes(self) -> int:
        return self.max_buffer_mib * 1024 * 1024

    @model_validator(mode="after")
    def _cache_outlasts_the_buffer(self) -> "ToolScoringConfig":
        if self.decision_cache.size < self.num_traces:
            raise ValueError("decision_cache.size should not be smaller than num_traces")
        return self

    @model_validator(mode="after")
    def _names_of_evaluations_are_distinct(self) -> "ToolScoringConfig":
        metric_name = self.tool_selection_accuracy.metric_name
        if metric_name in set(Metric):
            message = f"tool_selection_accuracy.metric_name: {metric_name} is the name of another metric"
            raise ValueError(message)
        for entry in self.expectations:
            if taken := {metric_name, *Metric} & set(entry.evaluation_names):
                message = (
                    f"expectations: {min(taken)} in {entry.name} is the name of a metric; name the condition otherwise"
                )
                raise ValueError(message)
        return self
