"""
Evidence: what is known of the tool calls of one occurrence, and how complete that knowledge is.

Values only. An occurrence is one trace, one attribute-root subtree of a trace, or one session (design §5, §15).
"""

from enum import StrEnum

from msgspec import Struct

from proto_adapters.canonical import Shape, ToolCall


class Trigger(StrEnum):
    """
    Why an occurrence was closed. Closed set (design §5).
    """

    ROOT_SPAN = "root_span"
    IDLE_TIMEOUT = "idle_timeout"
    TRACE_TIMEOUT = "trace_timeout"
    SPAN_LIMIT = "span_limit"
    SIZE_LIMIT = "size_limit"
    EVICTION = "eviction"
    SHUTDOWN = "shutdown"
    LATE_SPAN = "late_span"

    @property
    def is_provisional(self) -> bool:
        """A further span re-opens the trace (design §6.4)."""
        return self in {Trigger.IDLE_TIMEOUT, Trigger.TRACE_TIMEOUT}


class CoverageReason(StrEnum):
    """
    What is known to be missing. Closed set (design §5); no reason means complete coverage.
    """

    NO_ROOT = "no_root"
    MANY_ROOTS = "many_roots"
    MISSING_PARENT = "missing_parent"
    NOT_CLOSED_BY_ROOT = "not_closed_by_root"
    SPAN_UNFINISHED = "span_unfinished"
    SPAN_TIME_INVALID = "span_time_invalid"
    SPAN_UNDECODABLE = "span_undecodable"
    TOOL_NAME_MISSING = "tool_name_missing"
    TOOL_NAME_CONFLICT = "tool_name_conflict"
    CONFLICTING_SPAN_IDENTITY = "conflicting_span_identity"
    ATTRIBUTES_DROPPED = "attributes_dropped"
    COMPLETION_HIDDEN = "completion_hidden"
    SPAN_LIMIT = "span_limit"
    SIZE_LIMIT = "size_limit"
    EVICTED = "evicted"
    SPANS_REFUSED = "spans_refused"
    LATE_SPAN = "late_span"
    REOPENED = "reopened"
    RESTARTED = "restarted"
    MEMBERSHIP_CHANGED = "membership_changed"
    EVIDENCE_RELEASED = "evidence_released"


class CoverageBasis(StrEnum):
    """
    Whether completeness was declared by the sender (`completeness_attribute`) or inferred from the spans.
    """

    INFERRED = "inferred"
    DECLARED = "declared"


class Coverage(Struct, frozen=True):
    """
    How much of an occurrence was seen. `reasons` are sorted; none means complete.
    """

    reasons: tuple[CoverageReason, ...] = ()
    basis: CoverageBasis = CoverageBasis.INFERRED

    @property
    def is_complete(self) -> bool:
        return not self.reasons

    @property
    def label(self) -> str:
        return "complete" if self.is_complete else "partial"


class Partition(StrEnum):
    """
    What one occurrence is.
    """

    TRACE = "trace"
    SESSION = "session"


class ToolEvidence(Struct, frozen=True, kw_only=True):
    """
    All that the scorers read of one occurrence. No arguments, results or message text unless a condition needs them.

    For a trace, `shapes` holds its one shape, or nothing if it has neither a TOOL nor an LLM span. For a session it
    holds the distinct shapes of its traces, and the other fields are pooled over them (design §8).
    """

    partition: Partition = Partition.TRACE
    shapes: tuple[Shape, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    """Executed calls, one per call, by (start, span id): what an order and a count read."""
    called_names: tuple[str, ...] = ()
    """Names of all executed TOOL spans, or of embedded calls in `llm_embedded` shape: what selection reads."""
    embedded_calls: tuple[ToolCall, ...] = ()
    """Calls asked for in completions, in `llm_embedded` shape; intervals as of design §6.2, else unfinished."""
    nameless_calls: int = 0
    requested_names: tuple[str, ...] = ()
    """Names asked for in any completion, executed or not; a name stands here once for each request with an id."""
    has_tool_evidence: bool = False
    """Tools would have been seen: at least one TOOL span, or LLM spans that are all readable (design §5)."""
    observed_call_count: int = 0
    """Calls seen, control tools not counted ("no tool calls observed" is decided without them)."""
    all_requests_linked: bool = True
    coverage: Coverage = Coverage()
    resolution_ns: int = 0
    """What was added to call ends for timestamps cut to milliseconds (`timestamp_resolution`), at most."""
