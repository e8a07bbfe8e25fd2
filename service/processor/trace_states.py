"""
Between a trace in the buffer and its record in the journal.

Pure. *offset_ns* is what service time is ahead of the monotonic clock of this process.
"""

from service.buffer.trace_buffer import BufferedTrace
from service.journal.records import TraceState


def state_of(trace: BufferedTrace, *, through: int, offset_ns: int, is_forgotten: bool = False) -> TraceState:
    """
    *trace* as it is, less what is held: that follows from the requests behind *through*.
    """
    return TraceState(
        trace_id=trace.trace_id,
        through=through,
        first_ns=trace.first_ns + offset_ns,
        last_ns=trace.last_ns + offset_ns,
        opened_ns=trace.opened_ns + offset_ns,
        span_count=trace.span_count - trace.held_count,
        byte_count=trace.byte_count - trace.held_bytes,
        has_root=trace.has_root,
        closed_ns=None if trace.closed_ns is None else trace.closed_ns + offset_ns,
        closed_by=trace.closed_by,
        late_since_ns=None if trace.late_since_ns is None else trace.late_since_ns + offset_ns,
        late_roots=sorted(trace.late_roots),
        facts=sorted(trace.facts),
        stamp=dict(trace.stamp),
        histories=trace.histories,
        replicas_since_ns=trace.replicas_since_ns,
        has_news=trace.has_news,
        released_early=trace.released_early,
        is_forgotten=is_forgotten,
    )


def trace_of(state: TraceState, *, offset_ns: int) -> BufferedTrace:
    """
    The trace that *state* tells of, without its evidence.
    """
    return BufferedTrace(
        state.trace_id,
        first_ns=state.first_ns - offset_ns,
        last_ns=state.last_ns - offset_ns,
        opened_ns=state.opened_ns - offset_ns,
        span_count=state.span_count,
        byte_count=state.byte_count,
        has_root=state.has_root,
        closed_ns=None if state.closed_ns is None else state.closed_ns - offset_ns,
        closed_by=state.closed_by,
        late_since_ns=None if state.late_since_ns is None else state.late_since_ns - offset_ns,
        late_roots=set(state.late_roots),
        facts=set(state.facts),
        stamp=state.stamp,
        histories=state.histories,
        replicas_since_ns=state.replicas_since_ns,
        has_news=state.has_news,
        released_early=state.released_early,
    )
