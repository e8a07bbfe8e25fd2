"""
Requests of several items cut in two, and when they are.
"""

from hypothesis import given
from hypothesis import strategies as st
from otlp_requests import log_request, metric_request, span_names, trace_request

from service.exporter.splitting import Part, halve


def test_halves_hold_the_spans_in_their_order() -> None:
    first, second = halve(Part(trace_request("a", "b", "c"), 3))

    assert (["a"], 1) == (span_names(first.payload), first.item_count)
    assert (["b", "c"], 2) == (span_names(second.payload), second.item_count)


def test_both_halves_keep_the_resource() -> None:
    first, second = halve(Part(trace_request("a", "b", service="refunds"), 2))

    assert b"refunds" in first.payload
    assert b"refunds" in second.payload


def test_a_single_span_cannot_be_halved() -> None:
    assert not halve(Part(trace_request("a"), 1))


def test_what_is_not_otlp_cannot_be_halved() -> None:
    assert not halve(Part(b"\xff\xff\xff", 5))


def test_spans_of_several_resources_are_shared_out() -> None:
    request = trace_request("a", "b", service="one") + trace_request("c", "d", service="two")

    first, second = halve(Part(request, 4))

    assert (["a", "b"], ["c", "d"]) == (span_names(first.payload), span_names(second.payload))


def test_logs_are_halved_by_records() -> None:
    first, second = halve(Part(log_request("one", "two"), 2))

    assert b"one" in first.payload
    assert b"two" not in first.payload
    assert b"two" in second.payload


def test_data_points_are_shared_out_in_proportion() -> None:
    first, second = halve(Part(metric_request("a", "b", points=3), 6))

    assert (3, 3) == (first.item_count, second.item_count)


@given(st.lists(st.text("abc", min_size=1), min_size=2, max_size=40))
def test_halving_down_to_single_spans_loses_and_repeats_none(names: list[str]) -> None:
    parts, leaves = [Part(trace_request(*names), len(names))], []
    while parts:
        part = parts.pop()
        halves = halve(part)
        leaves += [] if halves else span_names(part.payload)
        parts.extend(reversed(halves))

    assert names == leaves
