"""
Order from completions: only a result that the later request had read establishes anything.
"""

import pytest
from msgspec.structs import replace
from scoring_builders import a_condition, a_requested_call, a_tool_call, answer, llm_embedded, partial, tool_spans

from proto_adapters.canonical import Shape
from service.conditions import Condition
from service.evaluation import Reason, Verdict
from service.evidence import ToolEvidence
from service.scoring.embedded_order import transitive_closure
from service.scoring.settings import ScoringSettings

ORDERING = ScoringSettings(order_from_embedded_calls=True)
TRUE, FALSE, UNDETERMINED = Verdict.TRUE, Verdict.FALSE, Verdict.UNDETERMINED

SEARCH = a_requested_call("search", 0, 10, call_id="s1")
BOOK_AFTER = a_requested_call("book", 10, call_id="b1", result_ids=("s1",))
BOOK_ELSEWHERE = a_requested_call("book", 50, call_id="b2")
PAY_AFTER = a_requested_call("pay", 20, call_id="p1", result_ids=("s1", "b1"))

IN_ORDER = a_condition("tools_called_in_order", "search", "book")
REVERSED = a_condition("tools_called_in_order", "book", "search")
FAR_REVERSED = a_condition("tools_called_in_order", "pay", "book", "search")
STAGES = a_condition("tools_called_in_partial_order", "search", "book", "pay", groups=[["search"], ["book"], ["pay"]])

ANSWERS: dict[str, tuple[Condition, ToolEvidence, tuple[Verdict, Reason | None]]] = {
    "the result was read": (IN_ORDER, llm_embedded(SEARCH, BOOK_AFTER), (TRUE, None)),
    "the result was read, partial": (IN_ORDER, partial(llm_embedded(SEARCH, BOOK_AFTER)), (TRUE, None)),
    "the other way round": (REVERSED, llm_embedded(SEARCH, BOOK_AFTER), (FALSE, None)),
    "the other way round, partial": (
        REVERSED,
        partial(llm_embedded(SEARCH, BOOK_AFTER)),
        (UNDETERMINED, Reason.PARTIAL_COVERAGE),
    ),
    "a later request that had not read it": (
        IN_ORDER,
        llm_embedded(SEARCH, BOOK_ELSEWHERE),
        (UNDETERMINED, Reason.OVERLAPPING),
    ),
    "a second request that had read it": (IN_ORDER, llm_embedded(SEARCH, BOOK_ELSEWHERE, BOOK_AFTER), (TRUE, None)),
    "never asked for": (IN_ORDER, llm_embedded(SEARCH), (FALSE, None)),
    "no id to follow": (
        IN_ORDER,
        llm_embedded(replace(SEARCH, call_id=None), BOOK_AFTER),
        (UNDETERMINED, Reason.OVERLAPPING),
    ),
    "three in a row": (STAGES, llm_embedded(SEARCH, BOOK_AFTER, PAY_AFTER), (TRUE, None)),
    "three, the far pair is reversed": (FAR_REVERSED, llm_embedded(SEARCH, BOOK_ELSEWHERE, PAY_AFTER), (FALSE, None)),
}


@pytest.mark.parametrize(("condition", "evidence", "expected"), ANSWERS.values(), ids=ANSWERS.keys())
def test_order_is_read_from_results_in_later_requests(
    condition: Condition, evidence: ToolEvidence, expected: tuple[Verdict, Reason | None]
) -> None:
    evaluation = answer(condition, evidence, ORDERING)

    assert expected == (evaluation.label, evaluation.reason)
    assert evaluation.from_embedded_calls


def test_switched_off_there_is_no_order_in_completions() -> None:
    evaluation = answer(IN_ORDER, llm_embedded(SEARCH, BOOK_AFTER))

    assert (UNDETERMINED, Reason.NO_EXECUTION_SPANS) == (evaluation.label, evaluation.reason)


def test_executions_win_over_completions_in_a_session_of_both() -> None:
    executed = tool_spans(a_tool_call("search", 1, 2), a_tool_call("book", 4, 5))
    session = replace(executed, shapes=(Shape.TOOL_SPANS, Shape.LLM_EMBEDDED), embedded_calls=(SEARCH,))

    evaluation = answer(IN_ORDER, session, ORDERING)

    assert (TRUE, False) == (evaluation.label, evaluation.from_embedded_calls)


def test_the_closure_holds_every_implied_pair() -> None:
    assert {(0, 1), (1, 3), (0, 3), (2, 3)} == transitive_closure(4, [(0, 1), (1, 3), (2, 3)])
