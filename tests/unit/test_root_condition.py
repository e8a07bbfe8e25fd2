"""
Roots, subtrees, and the span that carries the scores.
"""

from builders import ABSENT, CLIENT, SERVER, a_trace

from proto_adapters.canonical import REMOTE_PARENT
from service.root_condition import (
    PARENT_EMPTY,
    AttributeMatch,
    RootCondition,
    by_depth,
    find_roots,
    owners,
    reachable_from,
    span_to_annotate,
)

REMOTE = RootCondition(accept_remote_parent=True)
RUNS = RootCondition(attributes=(AttributeMatch("op", ("run", "flow")),))


def test_a_span_without_a_parent_is_a_root() -> None:
    spans = a_trace().agent().tool("a").spans

    assert spans[:1] == find_roots(spans, PARENT_EMPTY)


def test_a_remote_parent_makes_a_root_only_where_that_is_configured() -> None:
    spans = a_trace().agent(under=ABSENT, flags=REMOTE_PARENT).spans

    assert ([], spans) == (find_roots(spans, PARENT_EMPTY), find_roots(spans, REMOTE))


def test_an_absent_parent_makes_a_root_of_an_entry_span_only() -> None:
    entry, inner = (a_trace().agent(under=ABSENT, otel_kind=kind).spans for kind in (SERVER, CLIENT))

    assert (entry, []) == (find_roots(entry, REMOTE), find_roots(inner, REMOTE))


def test_a_span_whose_parent_is_held_is_no_root() -> None:
    spans = a_trace().agent(label="run").mcp_server("a", under="run", flags=REMOTE_PARENT).spans

    assert spans[:1] == find_roots(spans, REMOTE)


def test_of_matching_spans_the_outermost_are_roots() -> None:
    spans = (
        a_trace()
        .chain()
        .agent(label="outer", selected={"op": "flow"})
        .chain(label="middle", under="outer")
        .agent(under="middle", selected={"op": "run"})
        .agent(start=1, selected={"op": "run"})
        .spans
    )

    assert [spans[1], spans[4]] == find_roots(spans, RUNS)


def test_a_cycle_of_matching_spans_has_no_outermost_and_ends() -> None:
    spans = (
        a_trace()
        .agent(span_id=b"_____one", parent_span_id=b"_____two", selected={"op": "run"})
        .agent(span_id=b"_____two", parent_span_id=b"_____one", selected={"op": "run"})
        .spans
    )

    assert [] == find_roots(spans, RUNS)


def test_every_span_below_a_root_belongs_to_it() -> None:
    spans = (
        a_trace()
        .agent(label="run")
        .chain(label="step", under="run")
        .tool("a", under="step")
        .tool("b", under=ABSENT)
        .spans
    )

    assert spans[:3] == reachable_from(spans[:1], spans)
    assert {span.span_id: spans[0].span_id for span in spans[:3]} == owners(spans[:1], spans)


def test_deep_chains_are_walked_without_recursion() -> None:
    trace = a_trace().chain(label="0")
    for depth in range(5_000):
        trace.chain(label=str(depth + 1), under=str(depth))

    assert len(trace.spans) == len(reachable_from(trace.spans[:1], trace.spans))


def test_spans_are_walked_level_by_level() -> None:
    spans = a_trace().agent(label="run").chain(label="late", start=2).tool("deep", under="late").tool("early", 1).spans

    assert [spans[0], spans[3], spans[1], spans[2]] == list(by_depth(spans[0], spans))


def test_scores_go_on_the_root_else_on_what_comes_nearest_to_one() -> None:
    whole = a_trace().agent().tool("a").spans
    orphans = a_trace().tool("b", 5, under=ABSENT).tool("a", 1, under=ABSENT).spans
    cycle = (
        a_trace()
        .chain(start=4, span_id=b"_____one", parent_span_id=b"_____two")
        .chain(start=2, span_id=b"_____two", parent_span_id=b"_____one")
        .spans
    )

    assert [whole[0], orphans[1], cycle[1], None] == [
        span_to_annotate(spans, PARENT_EMPTY) for spans in (whole, orphans, cycle, [])
    ]


def test_of_equal_starts_the_smallest_span_id_is_the_root() -> None:
    spans = a_trace().agent(span_id=b"________2").agent(span_id=b"________1", parent_span_id=None).spans

    assert spans[1] is span_to_annotate(spans, PARENT_EMPTY)
