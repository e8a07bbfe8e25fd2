"""
When a trace is complete enough to be scored: deadlines and their triggers.

Pure functions; all times are monotonic nanoseconds given by the caller. Rules: design §5 and §6.4,
`root_span_condition`, `decision_delay`, `idle_timeout`, `trace_timeout`.
"""

from typing import NamedTuple

from msgspec import Struct

from service.evidence import Trigger

SECOND_NS = 1_000_000_000
NEVER_NS = 2**63 - 1


class CompletionSettings(Struct, frozen=True):
    """
    Timers and limits of open traces. Times in nanoseconds; 0 switches `idle_timeout_ns` and the limits off.
    """

    decision_delay_ns: int = 5 * SECOND_NS
    idle_timeout_ns: int = 60 * SECOND_NS
    trace_timeout_ns: int = 300 * SECOND_NS
    num_traces: int = 50_000
    span_limit: int = 10_000
    maximum_trace_size_bytes: int = 8 * 1024 * 1024


class Due(NamedTuple):
    """
    When a trace is due, and why.
    """

    at_ns: int
    trigger: Trigger


def due_when_open(settings: CompletionSettings, *, first_ns: int, last_ns: int, has_root: bool) -> Due:
    """
    The deadline of an open trace.

    After an ended root the delay counts from the last span, at most until `trace_timeout`; before it the earlier of
    the two timers holds.
    """
    timeout_ns = first_ns + settings.trace_timeout_ns
    if has_root:
        return Due(min(last_ns + settings.decision_delay_ns, timeout_ns), Trigger.ROOT_SPAN)
    idle_ns = last_ns + settings.idle_timeout_ns if settings.idle_timeout_ns else NEVER_NS
    if idle_ns < timeout_ns:
        return Due(idle_ns, Trigger.IDLE_TIMEOUT)
    return Due(timeout_ns, Trigger.TRACE_TIMEOUT)


def exceeded_limit(settings: CompletionSettings, *, span_count: int, byte_count: int) -> Trigger | None:
    """
    The limit that a trace has grown past, if any.
    """
    if settings.span_limit and span_count > settings.span_limit:
        return Trigger.SPAN_LIMIT
    if settings.maximum_trace_size_bytes and byte_count > settings.maximum_trace_size_bytes:
        return Trigger.SIZE_LIMIT
    return None
