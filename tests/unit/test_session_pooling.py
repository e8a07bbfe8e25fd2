"""
What a session knows: the evidence of its traces pooled, each trace in its own shape.
"""

from itertools import permutations

import pytest
from builders import TraceBuilder, a_call, a_span_id, a_trace, a_trace_id, an_origin, at
from session_builders import a_part, a_session, a_turn, an_assessment, an_assessor

from proto_adapters.canonical import CompletionState, LinkView, Shape
from service.evaluation import ExpectedSource, Reason, Status, Verdict
from service.evidence import CoverageReason, Partition
from service.scoring.sessions import pool
from service.session_evidence import SessionEvidence, SessionKey, group_by_session, in_place


def linked_to(number: int, span: int = 1) -> tuple[LinkView, ...]:
    return (LinkView(a_trace_id(number), a_span_id(span)),)


def test_called_names_are_united_and_calls_stand_in_order_of_their_start() -> None:
    late, early = a_turn(1, start=200).tool("b", 201, 202).tool("a", 205, 206), a_turn(2, start=0).tool("a", 3, 4)

    evidence = pool(a_session(late, early))

    assert (Partition.SESSION, (Shape.TOOL_SPANS,)) == (evidence.partition, evidence.shapes)
    assert ("a", "b") == evidence.called_names
    assert [at(3), at(201), at(205)] == [call.start_ns for call in evidence.calls]
    assert 3 == evidence.observed_call_count
    assert evidence.coverage.is_complete
    assert evidence.all_requests_linked
    assert evidence.has_tool_evidence


def test_each_trace_is_read_in_its_own_shape() -> None:
    evidence = pool(a_session(a_turn(1).tool("a", 1).llm("ignored"), a_turn(2, start=50).llm("b")))

    assert (Shape.TOOL_SPANS, Shape.LLM_EMBEDDED) == evidence.shapes
    assert ("a", "b") == evidence.called_names
    assert (["a"], ["b"]) == ([call.name for call in evidence.calls], [call.name for call in evidence.embedded_calls])


def test_a_request_that_another_trace_shows_as_executed_is_that_execution() -> None:
    asking = a_turn(1).llm(a_call("a", "call-1"), a_call("b", "call-2"))
    running = a_turn(2, start=50).tool("a", 51, 52, tool_call_id="call-1")

    assert ["b"] == [call.name for call in pool(a_session(asking, running)).embedded_calls]


def test_the_order_in_which_traces_closed_plays_no_part() -> None:
    turns = [
        a_turn(number, start=start).tool(name, start + 1, start + 2)
        for number, (start, name) in enumerate([(5, "b"), (5, "a"), (0, "c")], 1)
    ]
    parts = [a_part(turn) for turn in turns]

    pooled = [pool(SessionEvidence(key=parts[0].key, parts=in_place(order))) for order in permutations(parts)]

    assert 6 == pooled.count(pooled[0])


def test_a_session_is_complete_only_if_all_its_traces_are() -> None:
    whole, broken = a_turn(1).tool("a", 1), a_turn(2).tool("b", 1, under="(absent)")

    evidence = pool(a_session(whole, broken, reasons=[CoverageReason.REOPENED]))

    assert (CoverageReason.MISSING_PARENT, CoverageReason.REOPENED) == evidence.coverage.reasons


@pytest.mark.parametrize("reason", ["span_limit", "size_limit", "evicted", "evidence_released"])
def test_a_trace_that_was_cut_short_leaves_requests_unlinked(reason: str) -> None:
    cut = a_part(a_turn(1).tool("a", 1), [CoverageReason(reason)])
    session = SessionEvidence(key=cut.key, parts=(cut,))

    assert not pool(session).all_requests_linked


def test_evidence_released_before_it_was_handed_over_leaves_requests_unlinked() -> None:
    assert not pool(a_session(a_turn().tool("a", 1), reasons=[CoverageReason.EVIDENCE_RELEASED])).all_requests_linked


def test_a_link_to_a_trace_that_was_not_received_leaves_requests_unlinked() -> None:
    linking = a_turn(2, start=200, links=linked_to(1)).tool("b", 201, 202)

    assert not pool(a_session(linking)).all_requests_linked
    assert pool(a_session(linking, a_turn(1).tool("a", 1))).all_requests_linked


def test_more_links_than_can_be_followed_count_as_unlinked() -> None:
    links = tuple(LinkView(a_trace_id(number), a_span_id()) for number in range(2, 1_100))
    part = a_part(a_turn(1, links=links).tool("a", 1))

    assert (b"",) == part.linked_traces


def test_an_order_is_false_over_all_turns_and_undetermined_while_a_request_is_unlinked() -> None:
    policy = {
        "name": "p",
        "partition": "session",
        "conditions": [{"condition_type": "tools_called_in_order", "name": "order", "tools": ["a", "b"]}],
    }
    turns = [a_turn(1).tool("b", 1, 2), a_turn(2, start=200).tool("a", 201, 202)]
    unlinked = a_turn(3, start=400, links=linked_to(9)).tool("c", 401, 402)
    assessor = an_assessor(expectations=[policy])

    (answered,) = assessor.assess_session(a_session(*turns)).evaluations
    (withheld,) = assessor.assess_session(a_session(*turns, unlinked)).evaluations

    assert (Verdict.FALSE, None) == (answered.label, answered.reason)
    assert (Verdict.UNDETERMINED, Reason.REQUESTS_UNLINKED) == (withheld.label, withheld.reason)


def test_hidden_completions_of_one_turn_leave_no_evidence_that_nothing_was_called() -> None:
    hidden = a_turn(2, start=200).llm(completion=CompletionState.HIDDEN)

    assert not pool(a_session(a_turn(1).tool("a", 1), hidden)).has_tool_evidence


# ---- W6: a gateway that links to its caller ----


def a_gateway(number: int, links: tuple[LinkView, ...], name: str = "trips_a") -> TraceBuilder:
    return a_turn(number, start=1).mcp_client(name, 2, 3, links=links)


def test_a_call_that_links_to_its_caller_is_that_call() -> None:
    evidence = pool(a_session(a_turn(1).tool("a", 1, 4), a_gateway(2, linked_to(1, 2))))

    assert [("a", ("trips_a",))] == [(call.name, call.aliases) for call in evidence.calls]
    assert ("a", "trips_a") == evidence.called_names
    assert 1 == evidence.observed_call_count


def test_a_link_to_a_joined_span_leads_to_the_call_that_counts() -> None:
    caller = a_turn(1).mcp_client("a", 1, 4, label="outer").mcp_server("a", 2, 3, under="outer")

    evidence = pool(a_session(caller, a_gateway(2, linked_to(1, 3))))

    assert [a_span_id(2)] == [call.span_id for call in evidence.calls]


def test_another_tool_behind_a_link_is_another_call() -> None:
    evidence = pool(a_session(a_turn(1).tool("b", 1, 4), a_gateway(2, linked_to(1, 2))))

    assert ["b", "trips_a"] == [call.name for call in evidence.calls]


def test_calls_that_link_in_a_circle_are_one() -> None:
    one, other = a_gateway(1, linked_to(2, 2), "a"), a_gateway(2, linked_to(1, 2), "a")

    assert 1 == len(pool(a_session(one, other)).calls)


def test_a_fragment_counts_only_where_it_links_to_a_call() -> None:
    def fragment(number: int, links: tuple[LinkView, ...] = ()) -> TraceBuilder:
        return a_trace(number).mcp_server("mcp__trips__a", 2, 3, links=links, session_id="s")

    caller = a_turn(1).tool("a", 1, 4)
    alone, joined = pool(a_session(caller, fragment(2))), pool(a_session(caller, fragment(2, linked_to(1, 2))))

    assert (("a",), ("a", "mcp__trips__a")) == (alone.called_names, joined.called_names)
    assert [1, 1] == [len(alone.calls), len(joined.calls)]


# ---- what a trace hands over, and what a session is told on ----


def test_a_trace_without_a_session_id_hands_nothing_over() -> None:
    assert an_assessment(a_trace().agent().tool("a", 1)).session_part is None


def test_a_key_below_the_root_is_inherited_and_the_one_nearest_the_root_wins() -> None:
    trace = (
        a_trace().agent().tool("a", 1, session_id="near", label="tool").tool("b", 2, 3, under="tool", session_id="far")
    )

    assert SessionKey("trip-planner", "near") == a_part(trace).key


def test_sessions_of_two_services_are_two() -> None:
    here, there = a_turn(1), a_turn(2, origin=an_origin("billing"))

    sessions = group_by_session([a_part(here), a_part(there), a_part(a_turn(3))])

    assert [("billing", 1), ("trip-planner", 2)] == [(each.key.service_name, len(each.parts)) for each in sessions]


def test_no_two_keys_make_one_occurrence() -> None:
    assert SessionKey("a/b", "c").occurrence != SessionKey("a", "b/c").occurrence


def test_a_session_is_told_on_the_trace_that_began_last() -> None:
    assessment = an_assessor().assess_session(a_session(a_turn(2, start=9), a_turn(1, start=9), a_turn(3, start=1)))

    assert assessment.root is not None
    assert a_trace_id(2) == assessment.root.trace_id
    assert "trip-planner/s" == assessment.occurrence


def test_policies_match_the_earliest_root_and_are_for_sessions() -> None:
    entries = [
        {"name": "trace only", "expected_tools": ["x"]},
        {"name": "second", "partition": "session", "match": {"agent_name": "second"}, "expected_tools": ["x"]},
        {"name": "first", "partition": "both", "match": {"agent_name": "first"}, "expected_tools": ["a", "b"]},
    ]
    first = a_trace(1).agent("first", 0, session_id="s").tool("a", 1)
    second = a_trace(2).agent("second", 200, 300, session_id="s").tool("b", 201, 202)

    (evaluation,) = an_assessor(expectations=entries).assess_session(a_session(second, first)).evaluations

    assert ("first", 1.0) == (evaluation.expectation, evaluation.score)


@pytest.mark.parametrize(
    ("block", "source"),
    [
        ({"annotations": {"s": {"expected_tools": "a"}}}, ExpectedSource.ANNOTATION),
        ({"annotations": {"trip-planner/s": {"expected_tools": "a"}}, "expected_tools": ["a"]}, ExpectedSource.RUN),
    ],
    ids=["the bare session id", "not the key"],
)
def test_annotations_name_the_bare_session_id(block: dict[str, object], source: ExpectedSource) -> None:
    assessor = an_assessor(tool_selection_accuracy=block)

    (evaluation,) = assessor.assess_session(a_session(a_turn().tool("a", 1))).evaluations

    assert (Status.SCORED, source) == (evaluation.status, evaluation.expected_source)


def test_a_part_without_its_calls_still_tells_which_tools_were_called() -> None:
    part = a_part(a_turn().tool("a", 1).tool("b", 2, 3))

    cut = part.without_calls()

    assert (("a", "b"), ()) == (cut.evidence.called_names, cut.evidence.calls)
    assert (CoverageReason.EVIDENCE_RELEASED,) == cut.evidence.coverage.reasons
    assert cut.size < part.size
