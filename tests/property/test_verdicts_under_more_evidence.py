"""
What further evidence may do to a result, whatever the condition: settle it, never overturn what was seen to hold.
"""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from scoring_builders import PARTIAL, a_tool_call, answer, partial, tool_spans

from proto_adapters.canonical import SpanStatus, ToolCall
from service.conditions import Condition, ToolRequirement, parse_condition
from service.config.metrics import Metric
from service.evaluation import ExpectedSource, Verdict
from service.evidence import ToolEvidence
from service.scoring.expectations import ExpectedTools, Resolution
from service.scoring.scorer import evaluate
from service.scoring.settings import ScoringSettings

TOOLS = "abcd"
NAMES = st.sampled_from(TOOLS)
CALLS = st.lists(
    st.builds(
        lambda name, start, length, failed: a_tool_call(
            name,
            start,
            None if length is None else start + length,
            status=SpanStatus.ERROR if failed else SpanStatus.OK,
        ),
        NAMES,
        st.integers(1, 20),
        st.none() | st.integers(0, 10),
        st.booleans(),
    ),
    max_size=6,
)


def named_tools(least: int) -> st.SearchStrategy[list[str]]:
    return st.lists(NAMES, min_size=least, max_size=3, unique=True)


LEAVES = st.one_of(
    st.builds(lambda tools: {"condition_type": "tools_called", "tools": tools}, named_tools(1)),
    st.builds(lambda tools: {"condition_type": "tools_not_called", "tools": tools}, named_tools(1)),
    st.builds(lambda tools: {"condition_type": "tools_called_in_order", "tools": tools}, named_tools(2)),
    st.builds(
        lambda tools: {
            "condition_type": "tools_called_in_partial_order",
            "tools": tools,
            "groups": [tools[:1], tools[1:]],
        },
        named_tools(2),
    ),
    st.builds(
        lambda name, least, most: {
            "condition_type": "tool_call_count",
            "tools": [{"name": name, "min": least, "max": least + most}],
        },
        NAMES,
        st.integers(0, 2),
        st.integers(0, 2),
    ),
)
CONDITIONS = st.recursive(
    LEAVES,
    lambda children: (
        st.builds(
            lambda kind, conditions: {"condition_type": kind, "conditions": conditions},
            st.sampled_from(["all_of", "any_of", "majority"]),
            st.lists(children, min_size=1, max_size=3),
        )
        | st.builds(lambda condition: {"condition_type": "not", "condition": condition}, children)
    ),
    max_leaves=4,
).map(parse_condition)


def finished(calls: list[ToolCall]) -> list[ToolCall]:
    return [replace(call, end_ns=call.start_ns + 3) if call.end_ns is None else call for call in calls]


def whole(calls: list[ToolCall]) -> ToolEvidence:
    """
    Complete evidence: complete coverage holds no unfinished call.
    """
    return tool_spans(*finished(calls))


@given(CONDITIONS, CALLS, CALLS)
def test_a_verdict_on_partial_evidence_is_never_overturned(
    condition: Condition, seen: list[ToolCall], unseen: list[ToolCall]
) -> None:
    """
    With whatever else is received, and with complete coverage, the verdict stays as it was given.
    """
    early = answer(condition, partial(tool_spans(*seen))).label

    assert early in {Verdict.UNDETERMINED, answer(condition, partial(tool_spans(*seen, *unseen))).label}
    assert early in {Verdict.UNDETERMINED, answer(condition, whole(seen + unseen)).label}


@given(CONDITIONS, st.data(), CALLS)
def test_the_order_in_which_calls_are_held_plays_no_part(
    condition: Condition, data: st.DataObject, calls: list[ToolCall]
) -> None:
    shuffled = data.draw(st.permutations(calls))

    assert answer(condition, whole(calls)) == answer(condition, whole(shuffled))


@given(st.lists(NAMES, min_size=1, max_size=4), CALLS, CALLS)
def test_every_number_of_complete_evidence_lies_within_the_bounds_of_partial_evidence(
    required: list[str], seen: list[ToolCall], unseen: list[ToolCall]
) -> None:
    tools = ExpectedTools(
        tuple(ToolRequirement(name=name) for name in required), ExpectedSource.POLICY, "p", no_calls_are_zero=True
    )
    settings = ScoringSettings(metrics=tuple(Metric))
    resolution = Resolution(expected=tools)

    early = {
        evaluation.name: evaluation.bounds
        for evaluation in evaluate(replace(tool_spans(*seen), coverage=PARTIAL), resolution, settings)
    }

    for evaluation in evaluate(whole(seen + unseen), resolution, settings):
        bounds = early.get(evaluation.name)
        if evaluation.score is not None and bounds is not None:
            assert bounds.lower - 1e-9 <= evaluation.score <= bounds.upper + 1e-9, evaluation.name
