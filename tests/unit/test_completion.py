"""
When an open trace is due, and why.
"""

import pytest

from service.buffer.completion import CompletionSettings, due_when_open, exceeded_limit
from service.durations import MINUTE, SECOND
from service.evidence import Trigger

SETTINGS = CompletionSettings(decision_delay_ns=5 * SECOND, idle_timeout_ns=60 * SECOND, trace_timeout_ns=5 * MINUTE)


@pytest.mark.parametrize(
    ("first", "last", "has_root", "at", "trigger"),
    [
        pytest.param(0, 3, True, 8, Trigger.ROOT_SPAN, id="delay-counts-from-the-last-span"),
        pytest.param(0, 298, True, 300, Trigger.ROOT_SPAN, id="delay-ends-at-the-trace-timeout"),
        pytest.param(0, 10, False, 70, Trigger.IDLE_TIMEOUT, id="silence"),
        pytest.param(0, 250, False, 300, Trigger.TRACE_TIMEOUT, id="too-long-since-the-first-span"),
        pytest.param(0, 240, False, 300, Trigger.TRACE_TIMEOUT, id="both-at-once-is-the-trace-timeout"),
    ],
)
def test_a_trace_is_due_at_its_earliest_deadline(
    first: int, last: int, *, has_root: bool, at: int, trigger: Trigger
) -> None:
    due = due_when_open(SETTINGS, first_ns=first * SECOND, last_ns=last * SECOND, has_root=has_root)

    assert (at * SECOND, trigger) == due


def test_without_an_idle_timeout_only_the_trace_timeout_holds() -> None:
    settings = CompletionSettings(idle_timeout_ns=0, trace_timeout_ns=5 * MINUTE)

    assert (5 * MINUTE, Trigger.TRACE_TIMEOUT) == due_when_open(settings, first_ns=0, last_ns=0, has_root=False)


@pytest.mark.parametrize(
    ("spans", "size", "trigger"),
    [
        pytest.param(3, 100, None, id="at-both-limits"),
        pytest.param(4, 100, Trigger.SPAN_LIMIT, id="one-span-too-many"),
        pytest.param(3, 101, Trigger.SIZE_LIMIT, id="one-byte-too-many"),
    ],
)
def test_a_limit_is_exceeded_by_what_is_over_it(spans: int, size: int, trigger: Trigger | None) -> None:
    settings = CompletionSettings(span_limit=3, maximum_trace_size_bytes=100)

    assert trigger is exceeded_limit(settings, span_count=spans, byte_count=size)


def test_a_limit_of_zero_is_no_limit() -> None:
    settings = CompletionSettings(span_limit=0, maximum_trace_size_bytes=0)

    assert exceeded_limit(settings, span_count=10**9, byte_count=10**12) is None
