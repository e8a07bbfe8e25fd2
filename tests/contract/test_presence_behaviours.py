"""
Behaviours that presence and order conditions share with the scorer they come from, one row each.

P-numbers count its tests on traces, M-numbers those on conversations (a session here); rows that concern how spans are
received, stored or assembled have their tests there.
"""

import pytest
from msgspec.structs import replace
from scoring_builders import (
    a_condition,
    a_failed_call,
    a_requested_call,
    a_tool_call,
    answer,
    llm_embedded,
    partial,
    tool_spans,
    unlinked,
)

from service.conditions import Condition
from service.evaluation import Verdict
from service.evidence import Coverage, CoverageReason, ToolEvidence
from service.scoring.settings import ScoringSettings

TRUE, FALSE, UNDETERMINED = Verdict.TRUE, Verdict.FALSE, Verdict.UNDETERMINED

SEND = a_condition("tools_called", "send")
BOTH = a_condition("tools_called", "lookup", "send")
LOOKUP_FIRST = a_condition("tools_called_in_order", "lookup", "send")

SENT = tool_spans(a_tool_call("send", 1, 2))
OTHER = tool_spans(a_tool_call("other", 1, 2))
RUN = tool_spans(a_tool_call("lookup", 1, 2), a_tool_call("send", 4, 5))


def with_reason(evidence: ToolEvidence, reason: CoverageReason) -> ToolEvidence:
    return replace(evidence, coverage=Coverage((reason,)))


BEHAVIOURS = {
    "P3 seen, complete": (SEND, SENT, TRUE),
    "P3 seen, partial": (SEND, partial(SENT), TRUE),
    "P3 absent, complete": (SEND, OTHER, FALSE),
    "P3 absent, partial": (SEND, partial(OTHER), UNDETERMINED),
    "P4 a failed execution counts": (SEND, tool_spans(a_failed_call("send")), TRUE),
    "P5 an empty call id plays no part": (SEND, tool_spans(a_tool_call("send", call_id="")), TRUE),
    "P5 a call id plays no part": (SEND, tool_spans(a_tool_call("send", call_id="c1")), TRUE),
    "P6 names are case-sensitive": (SEND, tool_spans(a_tool_call("Send")), FALSE),
    "P6 all names are required": (BOTH, SENT, FALSE),
    "P8 failed acquisition is not false": (SEND, partial(replace(ToolEvidence(), shapes=SENT.shapes)), UNDETERMINED),
    "P9 an empty but unreadable trace": (SEND, partial(llm_embedded(has_tool_evidence=False)), UNDETERMINED),
    "P11 no execution of what no model asked for": (SEND, llm_embedded(), FALSE),
    "P11 a request is no execution": (SEND, llm_embedded(a_requested_call("send")), UNDETERMINED),
    "P13 a late span revokes a false": (SEND, with_reason(OTHER, CoverageReason.LATE_SPAN), UNDETERMINED),
    "P13 a late span takes no true away": (SEND, with_reason(SENT, CoverageReason.LATE_SPAN), TRUE),
    "P13 a limit": (SEND, with_reason(OTHER, CoverageReason.SPAN_LIMIT), UNDETERMINED),
    "P14 dropped attributes": (SEND, with_reason(OTHER, CoverageReason.ATTRIBUTES_DROPPED), UNDETERMINED),
    "P15 a cut name proves neither name": (
        SEND,
        with_reason(tool_spans(a_tool_call("sen")), CoverageReason.ATTRIBUTES_DROPPED),
        UNDETERMINED,
    ),
    "P18 a nameless execution": (SEND, with_reason(OTHER, CoverageReason.TOOL_NAME_MISSING), UNDETERMINED),
    "M7 an unlinked request withholds false": (SEND, unlinked(OTHER), UNDETERMINED),
    "M7 an unlinked request takes no true away": (SEND, unlinked(SENT), TRUE),
    "M7 order, unlinked, reversed": (
        a_condition("tools_called_in_order", "send", "lookup"),
        unlinked(RUN),
        UNDETERMINED,
    ),
    "M14 an answer without text hides no tool evidence": (LOOKUP_FIRST, RUN, TRUE),
}


@pytest.mark.parametrize(("condition", "evidence", "verdict"), BEHAVIOURS.values(), ids=BEHAVIOURS.keys())
def test_behaviour(condition: Condition, evidence: ToolEvidence, verdict: Verdict) -> None:
    assert verdict == answer(condition, evidence).label


@pytest.mark.parametrize("reason", CoverageReason)
def test_no_reason_of_partial_coverage_allows_a_false(reason: CoverageReason) -> None:
    for condition in (SEND, LOOKUP_FIRST):
        assert UNDETERMINED == answer(condition, with_reason(OTHER, reason)).label


def test_stored_evidence_answers_conditions_it_was_not_gathered_for() -> None:
    """
    R31, P3: evidence is a value; a new order needs no new acquisition, and the unlinked flag is part of it (D19).
    """
    reversed_order = a_condition("tools_called_in_order", "send", "lookup")

    assert [TRUE, FALSE] == [answer(condition, RUN).label for condition in (LOOKUP_FIRST, reversed_order)]
    assert UNDETERMINED == answer(reversed_order, unlinked(RUN)).label


def test_results_hold_no_arguments() -> None:
    """
    P4: whatever the evidence keeps for a condition, no result repeats it.
    """
    secret = tool_spans(a_tool_call("send", arguments={"to": "secret@example.org"}))

    assert "secret" not in repr(answer(BOTH, secret, ScoringSettings()))
