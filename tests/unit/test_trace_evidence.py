"""
Which copy of a span counts, whatever the order in which copies arrive.
"""

from itertools import permutations

import pytest
from builders import a_span, a_span_id

from proto_adapters.canonical import CanonicalSpan, CompletionState, LogCompletion, SpanKind
from service.buffer.trace_evidence import TraceEvidence

RUNNING = a_span(SpanKind.TOOL, 0, None, name="t")
DONE = a_span(SpanKind.TOOL, 0, 5, name="t")
DONE_LATER = a_span(SpanKind.TOOL, 0, 6, name="t")
RENAMED = a_span(SpanKind.TOOL, 0, 5, name="other")

Copy = tuple[CanonicalSpan, bytes]


def observed(copies: tuple[Copy, ...], *, leave_after: int | None = None) -> TraceEvidence:
    evidence = TraceEvidence()
    for number, (span, raw) in enumerate(copies):
        evidence.observe(span, raw, raw)
        if number == leave_after:
            evidence.forget_bytes()
    return evidence


@pytest.mark.parametrize(
    ("copies", "counts", "conflict"),
    [
        pytest.param(((DONE, b"b"), (DONE, b"b")), DONE, False, id="equal-copies"),
        pytest.param(((RUNNING, b"a"), (DONE, b"b")), DONE, False, id="unfinished-then-finished"),
        pytest.param(((RUNNING, b"a"), (RENAMED, b"b")), RENAMED, True, id="finished-under-another-name"),
        pytest.param(((DONE, b"b"), (DONE_LATER, b"a")), DONE_LATER, True, id="two-finished-copies-smallest-bytes"),
        pytest.param(((RUNNING, b"a"), (DONE, b"c"), (DONE_LATER, b"b")), DONE_LATER, True, id="one-of-three"),
        pytest.param(
            ((RUNNING, b"b"), (a_span(SpanKind.TOOL, 1, None, name="t"), b"c")), RUNNING, True, id="unfinished"
        ),
    ],
)
def test_the_copy_that_counts_does_not_depend_on_arrival(
    copies: tuple[Copy, ...], counts: CanonicalSpan, *, conflict: bool
) -> None:
    for order in permutations(copies):
        evidence = observed(order)

        assert counts is evidence.spans[a_span_id()]
        assert conflict == evidence.has_conflicts


@pytest.mark.parametrize("late", list(permutations([(DONE, b"c"), (DONE_LATER, b"b")])))
def test_copies_that_come_after_the_bytes_left_are_chosen_among_in_any_order(late: tuple[Copy, ...]) -> None:
    evidence = observed(((RUNNING, b"a"), *late), leave_after=0)

    assert DONE_LATER is evidence.spans[a_span_id()]


def test_an_equal_copy_is_not_new() -> None:
    evidence = TraceEvidence()

    assert [True, False, True, False] == [
        evidence.observe(span, digest, digest)
        for span, digest in [(DONE, b"1"), (DONE, b"1"), (DONE_LATER, b"2"), (DONE_LATER, b"2")]
    ]


def test_undecodable_spans_and_equal_logs_count_once() -> None:
    evidence = TraceEvidence()
    completion = LogCompletion(b"t", b"s", b"", CompletionState.READ)

    assert [True, False] == [evidence.observe_undecodable(b"d"), evidence.observe_undecodable(b"d")]
    assert [True, False] == [evidence.observe_log(completion, b"l"), evidence.observe_log(completion, b"l")]
    assert evidence.has_undecodable_spans
    assert [completion] == evidence.logs


def test_evidence_grows_with_what_is_new_only() -> None:
    evidence = TraceEvidence()
    evidence.observe(DONE, b"1", b"1")
    size = evidence.size

    evidence.observe(DONE, b"1", b"1")

    assert size == evidence.size > 0
