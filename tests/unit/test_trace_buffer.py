"""
The trace buffer: deadlines, re-opening, late spans, accounts.
"""

import sys

from builders import a_trace_id, an_origin

from service.buffer.completion import CompletionSettings
from service.buffer.trace_buffer import SPARE_DEADLINES, BufferedTrace, DueTrace, TraceBuffer
from service.durations import MINUTE, SECOND
from service.evidence import CoverageReason, Trigger

SETTINGS = CompletionSettings(
    decision_delay_ns=5 * SECOND, idle_timeout_ns=60 * SECOND, trace_timeout_ns=5 * MINUTE, num_traces=2
)
ORIGIN = an_origin()


def a_buffer() -> TraceBuffer:
    return TraceBuffer(SETTINGS)


def add(buffer: TraceBuffer, trace: BufferedTrace, at: int, *, is_root: bool = False) -> None:
    buffer.add(trace, ORIGIN, b"span", is_root=is_root, now_ns=at * SECOND)
    buffer.update_size(trace)


def due(buffer: TraceBuffer, at: int) -> DueTrace | None:
    return buffer.next_due(at * SECOND)


def test_a_root_starts_the_delay_not_a_new_trace() -> None:
    buffer = a_buffer()
    trace = buffer.open(a_trace_id(), 0)
    add(buffer, trace, 0)

    add(buffer, trace, 3, is_root=True)

    assert due(buffer, 7) is None
    assert DueTrace(trace, Trigger.ROOT_SPAN) == due(buffer, 8)


def test_every_span_after_the_root_prolongs_the_delay() -> None:
    buffer = a_buffer()
    trace = buffer.open(a_trace_id(), 0)
    add(buffer, trace, 0, is_root=True)

    add(buffer, trace, 4)

    assert due(buffer, 8) is None
    assert DueTrace(trace, Trigger.ROOT_SPAN) == due(buffer, 9)


def test_the_oldest_deadline_comes_first() -> None:
    buffer = a_buffer()
    slow = buffer.open(a_trace_id(1), 0)
    add(buffer, slow, 0)
    quick = buffer.open(a_trace_id(2), 1 * SECOND)
    add(buffer, quick, 1, is_root=True)

    first, second = due(buffer, 400), due(buffer, 400)

    assert (quick, slow) == (first and first.trace, second and second.trace)


def test_a_trace_that_was_taken_as_due_is_not_due_again() -> None:
    buffer = a_buffer()
    trace = buffer.open(a_trace_id(), 0)
    add(buffer, trace, 0, is_root=True)
    due(buffer, 10)

    assert due(buffer, 10) is None


def test_a_span_re_opens_a_provisionally_closed_trace_and_both_timers_start_anew() -> None:
    buffer = a_buffer()
    trace = buffer.open(a_trace_id(), 0)
    add(buffer, trace, 0)
    buffer.close(trace, Trigger.IDLE_TIMEOUT, 60 * SECOND)

    add(buffer, trace, 100)

    assert trace.is_open
    assert not trace.facts
    assert due(buffer, 159) is None
    assert DueTrace(trace, Trigger.IDLE_TIMEOUT) == due(buffer, 160)


def test_a_span_after_a_root_closing_is_late() -> None:
    buffer = a_buffer()
    trace = buffer.open(a_trace_id(), 0)
    add(buffer, trace, 0, is_root=True)
    buffer.close(trace, Trigger.ROOT_SPAN, 5 * SECOND)

    add(buffer, trace, 6)
    add(buffer, trace, 9)

    assert not trace.is_open
    assert not trace.facts, "whether a span or a mere copy came is known when it is read"
    assert DueTrace(trace, Trigger.LATE_SPAN) == due(buffer, 11), "arrivals within one decision_delay make one"


def test_the_evidence_of_a_closed_trace_is_kept_for_another_trace_timeout() -> None:
    buffer = a_buffer()
    trace = buffer.open(a_trace_id(), 0)
    add(buffer, trace, 0, is_root=True)
    trace.take_held()
    buffer.close(trace, Trigger.ROOT_SPAN, 5 * SECOND)

    assert due(buffer, 304) is None
    assert DueTrace(trace, None) == due(buffer, 305)


def test_the_size_of_the_buffer_is_the_size_of_its_traces_and_zero_when_they_are_gone() -> None:
    buffer = a_buffer()
    traces = [buffer.open(a_trace_id(number), 0) for number in range(5)]
    for trace in traces:
        add(buffer, trace, 0)

    assert sum(trace.size for trace in traces) == buffer.size > 0

    for trace in traces:
        buffer.remove(trace)
    assert (0, 0) == (buffer.size, len(buffer))


def test_marks_concern_the_traces_that_were_open() -> None:
    buffer = a_buffer()
    before = buffer.open(a_trace_id(1), 0)
    buffer.mark_open(CoverageReason.SPANS_REFUSED, 5 * SECOND)
    after = buffer.open(a_trace_id(2), 6 * SECOND)

    assert {CoverageReason.SPANS_REFUSED} == buffer.marks_of(before)
    assert set() == buffer.marks_of(after)


def test_there_are_too_many_traces_when_more_than_num_traces_are_open() -> None:
    buffer = a_buffer()
    traces = [buffer.open(a_trace_id(number), number) for number in range(3)]

    assert buffer.has_too_many
    assert traces[0] is buffer.oldest_open()

    buffer.close(traces[0], Trigger.EVICTION, 3)
    assert not buffer.has_too_many


def test_deadlines_do_not_pile_up_with_the_spans_of_a_trace() -> None:
    buffer = a_buffer()
    trace = buffer.open(a_trace_id(), 0)
    for second in range(200):
        add(buffer, trace, second)
        due(buffer, second)

    assert len(buffer._deadlines) <= 2  # what must not grow is inside


def test_a_removed_trace_is_not_kept_alive_by_its_deadlines() -> None:
    buffer = TraceBuffer(CompletionSettings())
    trace = buffer.open(b"1" * 16, 0)

    buffer.remove(trace)

    assert 2 == sys.getrefcount(trace), "this variable, and the argument of the call"


def test_stale_deadlines_do_not_add_up() -> None:
    buffer = TraceBuffer(CompletionSettings())

    for number in range(20_000):
        buffer.remove(buffer.open(number.to_bytes(16, "big"), number))

    assert 2 * SPARE_DEADLINES > len(buffer._deadlines)
    kept = buffer.open(b"k" * 16, 20_000)
    due = buffer.next_due(10**15)
    assert due is not None
    assert kept is due.trace


def test_a_root_that_comes_while_its_trace_is_closed_by_silence_starts_the_delay() -> None:
    buffer = a_buffer()
    trace = buffer.open(a_trace_id(), 0)
    add(buffer, trace, 0)
    trace.take_held()
    trace.is_closing = True

    add(buffer, trace, 60, is_root=True)
    trace.is_closing = False
    buffer.close(trace, Trigger.IDLE_TIMEOUT, 60 * SECOND)
    buffer.settle_arrivals(trace, 60 * SECOND)

    assert DueTrace(trace, Trigger.ROOT_SPAN) == due(buffer, 65)


def test_a_deadline_that_comes_up_during_a_closing_is_not_lost() -> None:
    buffer = a_buffer()
    trace = buffer.open(a_trace_id(), 0)
    add(buffer, trace, 0)
    trace.is_closing = True
    assert due(buffer, 60) is None
    trace.is_closing = False

    buffer.keep_open(trace)

    assert DueTrace(trace, Trigger.IDLE_TIMEOUT) == due(buffer, 60)


def test_what_comes_while_an_attribute_root_closes_is_looked_at_after_the_delay() -> None:
    buffer = a_buffer()
    trace = buffer.open(a_trace_id(), 0)
    add(buffer, trace, 0, is_root=True)
    trace.take_held()
    trace.history_of(b"root")
    trace.is_closing = True

    add(buffer, trace, 6)
    trace.is_closing = False
    buffer.keep_open(trace)
    buffer.settle_arrivals(trace, 6 * SECOND)

    assert DueTrace(trace, Trigger.ROOT_SPAN) == due(buffer, 11)
