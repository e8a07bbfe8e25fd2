"""
The closed sets of the service in words for people who have not read its documentation.

Values only. Each member of each set has a sentence here; a test holds them complete.
"""

from service.durations import MILLISECOND, MINUTE, SECOND
from service.evaluation import ExpectedSource, Reason, Status
from service.evidence import CoverageReason, Trigger

REASONS = {
    Reason.EXPECTED_TOOLS_UNRESOLVED: "nothing says which tools this run needs: no annotation, policy or default fits",
    Reason.ANNOTATION_INVALID: "the annotation of this run could not be read",
    Reason.NO_TOOL_CALLS_OBSERVED: "no tool call was seen",
    Reason.NO_TOOL_EVIDENCE: "nothing shows that tool calls would have been seen, so their absence proves nothing",
    Reason.NO_EXECUTION_SPANS: "the model asked for tools, but no span shows that they ran",
    Reason.PARTIAL_COVERAGE: "something is missing or unfinished, and it could change the answer",
    Reason.INFERRED_COVERAGE: "completeness was not declared, and the configuration asks for that before it says false",
    Reason.OVERLAPPING: "calls ran at the same time or too close together, so none came first",
    Reason.REQUESTS_UNLINKED: "a trace of this session is missing, so an order cannot be ruled out",
}

COVERAGE_REASONS = {
    CoverageReason.NO_ROOT: "the root span was not received",
    CoverageReason.MANY_ROOTS: "there is more than one root span",
    CoverageReason.MISSING_PARENT: "a span names a parent that was not received",
    CoverageReason.NOT_CLOSED_BY_ROOT: "a timer or a limit closed it, not the end of its root",
    CoverageReason.SPAN_UNFINISHED: "a span has no end",
    CoverageReason.SPAN_TIME_INVALID: "a span has impossible times",
    CoverageReason.SPAN_UNDECODABLE: "a span could not be decoded",
    CoverageReason.TOOL_NAME_MISSING: "a tool call has no name",
    CoverageReason.TOOL_NAME_CONFLICT: "a tool call has two names that disagree",
    CoverageReason.CONFLICTING_SPAN_IDENTITY: "two different spans came with one id",
    CoverageReason.ATTRIBUTES_DROPPED: "the SDK dropped attributes of a span that may have named a tool",
    CoverageReason.COMPLETION_HIDDEN: "an answer of the model could not be read",
    CoverageReason.SPAN_LIMIT: "it had more spans than the limit",
    CoverageReason.SIZE_LIMIT: "it was larger than the limit",
    CoverageReason.EVICTED: "it was closed early to make room",
    CoverageReason.SPANS_REFUSED: "spans were refused under pressure while it was open",
    CoverageReason.LATE_SPAN: "a span came after it was closed",
    CoverageReason.REOPENED: "it had been closed and forgotten, and then more spans came",
    CoverageReason.RESTARTED: "the service was restarted while it ran",
    CoverageReason.MEMBERSHIP_CHANGED: "replicas changed while it was open, so spans may have gone elsewhere",
    CoverageReason.EVIDENCE_RELEASED: "evidence was dropped before it was closed",
}

TRIGGERS = {
    Trigger.ROOT_SPAN: "its root span ended",
    Trigger.IDLE_TIMEOUT: "no span came for a while",
    Trigger.TRACE_TIMEOUT: "it was open for too long",
    Trigger.SPAN_LIMIT: "it reached the limit of spans",
    Trigger.SIZE_LIMIT: "it reached the limit of bytes",
    Trigger.EVICTION: "room was needed",
    Trigger.SHUTDOWN: "the service stopped",
    Trigger.LATE_SPAN: "a span, log or annotation came after it was closed",
}

STATUSES = {
    Status.SCORED: "scored",
    Status.UNDETERMINED: "undetermined",
    Status.NOT_SCORED: "not scored",
    Status.FAILED: "failed",
    Status.INELIGIBLE: "no model or tool span",
}

SOURCES = {
    ExpectedSource.ANNOTATION: "annotation of this run",
    ExpectedSource.ATTRIBUTE: "span attribute",
    ExpectedSource.POLICY: "policy",
    ExpectedSource.RUN: "default of the configuration",
}

WORDS: dict[str, dict[str, str]] = {
    "reason": {str(key): text for key, text in REASONS.items()},
    "coverage": {str(key): text for key, text in COVERAGE_REASONS.items()},
    "trigger": {str(key): text for key, text in TRIGGERS.items()},
    "status": {str(key): text for key, text in STATUSES.items()},
    "source": {str(key): text for key, text in SOURCES.items()},
}

_UNITS = (("s", SECOND), ("ms", MILLISECOND), ("µs", 1_000), ("ns", 1))


def in_words(kind: str, value: str) -> str:
    """
    The sentence of one member; a value that is no member stands for itself.
    """
    return WORDS[kind].get(value, value)


def brief_duration(duration_ns: int) -> str:
    """
    A duration in three significant digits: `850 ns`, `12.3 ms`, `2 min 3 s`.
    """
    if duration_ns <= 0:
        return f"-{brief_duration(-duration_ns)}" if duration_ns else "0"
    if duration_ns >= 2 * MINUTE:
        return f"{duration_ns // MINUTE} min {duration_ns % MINUTE // SECOND} s"
    unit, size = next((name, size) for name, size in _UNITS if duration_ns >= size)
    return f"{_three_digits(duration_ns, size)} {unit}"


def tick_label(time_ns: int, step_ns: int) -> str:
    """
    A time on an axis, with as many digits as tell it from its neighbours *step_ns* away.
    """
    if time_ns == 0:
        return "0"
    unit, size = next((name, size) for name, size in _UNITS if time_ns >= size)
    decimals = 0
    while size > step_ns * 10**decimals:
        decimals += 1
    return f"{time_ns / size:.{decimals}f} {unit}"


def _three_digits(duration_ns: int, size: int) -> str:
    whole = duration_ns // size
    decimals = 2 if whole < 10 else 1 if whole < 100 else 0
    text = f"{duration_ns / size:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
