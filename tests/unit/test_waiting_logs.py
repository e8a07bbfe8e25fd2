"""
Log completions that wait for their trace.
"""

from builders import a_trace_id

from proto_adapters.canonical import CompletionState, LogCompletion
from service.buffer.waiting_logs import WaitingLogs


def a_completion(trace: int) -> LogCompletion:
    return LogCompletion(a_trace_id(trace), b"span", b"", CompletionState.READ)


def test_what_waits_for_a_trace_is_taken_once() -> None:
    logs = WaitingLogs(limit=10, timeout_ns=100)
    logs.add(a_completion(1), b"1", 0)
    logs.add(a_completion(1), b"2", 0)

    assert [(a_completion(1), b"1"), (a_completion(1), b"2")] == [
        (completion, digest) for completion, digest in logs.take(a_trace_id(1))
    ]
    assert ([], 0, 0) == (logs.take(a_trace_id(1)), len(logs), logs.size)


def test_logs_wait_no_longer_than_the_timeout() -> None:
    logs = WaitingLogs(limit=10, timeout_ns=100)
    logs.add(a_completion(1), b"1", 0)
    logs.add(a_completion(2), b"2", 50)

    logs.expire(101)

    assert ([], 1) == (logs.take(a_trace_id(1)), len(logs.take(a_trace_id(2))))


def test_over_the_limit_the_oldest_trace_loses_its_logs() -> None:
    logs = WaitingLogs(limit=2, timeout_ns=100)
    for number in range(3):
        logs.add(a_completion(number), b"%d" % number, number)

    assert 2 == len(logs)
    assert [] == logs.take(a_trace_id(0))
