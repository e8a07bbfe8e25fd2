"""
Identifiers: equal for equal questions, different as soon as anything that the answer depends on differs.
"""

from itertools import combinations

import pytest
from scoring_builders import a_condition, a_tool_call, tool_spans

from service.conditions import Condition, ToolRequirement, parse_condition
from service.config.metrics import Metric
from service.evaluation import ExpectedSource
from service.scoring.expectations import ExpectedTools, Resolution
from service.scoring.identity import condition_identifier
from service.scoring.scorer import evaluate
from service.scoring.selection import score_selection
from service.scoring.settings import DEFAULT_SCORING, ScoringSettings

IN_ORDER = a_condition("tools_called_in_order", "a", "b")

DIFFERENT_CONDITIONS = [
    IN_ORDER,
    a_condition("tools_called_in_order", "b", "a"),
    a_condition("tools_called_in_order", "a", "b", "c"),
    a_condition("tools_called_in_order", "a", "b", name="other"),
    a_condition("tools_called_in_order", "a", "b", name_matching="normalized"),
    a_condition("tools_called_in_order", "a", "b", clock_skew_tolerance="1ns"),
    a_condition("tools_called_in_order", "a", {"name": "b", "arguments": {"x": 1}}),
    a_condition("tools_called_in_order", "a", {"name": "b", "arguments": {"x": 1}, "argument_match": "subset"}),
    a_condition("tools_called", "a", "b"),
    a_condition("tools_not_called", "a", "b"),
    parse_condition({"condition_type": "all_of", "conditions": [IN_ORDER]}),
    parse_condition({"condition_type": "any_of", "conditions": [IN_ORDER]}),
    parse_condition({"condition_type": "not", "condition": IN_ORDER}),
]

OTHER_SETTINGS = [
    ScoringSettings(clock_skew_tolerance_ns=1),
    ScoringSettings(tool_name_aliases=True),
    ScoringSettings(allow_false_on_inferred=False),
    ScoringSettings(count_embedded_calls=True),
    ScoringSettings(order_from_embedded_calls=True),
]


def test_different_conditions_have_different_identifiers() -> None:
    identifiers = [condition_identifier(condition, DEFAULT_SCORING) for condition in DIFFERENT_CONDITIONS]

    assert len(DIFFERENT_CONDITIONS) == len(set(identifiers))


@pytest.mark.parametrize("settings", OTHER_SETTINGS, ids=repr)
def test_settings_that_answers_depend_on_change_the_identifier(settings: ScoringSettings) -> None:
    """
    R28: the tolerance is part of what is asked.
    """
    tree = parse_condition({"condition_type": "not", "condition": IN_ORDER})

    for condition in (IN_ORDER, tree):
        assert condition_identifier(condition, DEFAULT_SCORING) != condition_identifier(condition, settings)


def test_a_tolerance_of_the_condition_hides_that_of_the_processor() -> None:
    own = a_condition("tools_called_in_order", "a", "b", clock_skew_tolerance="5ms")

    assert condition_identifier(own, DEFAULT_SCORING) == condition_identifier(
        own, ScoringSettings(clock_skew_tolerance_ns=7)
    )


@pytest.mark.parametrize(
    "spelling",
    [
        {"condition_type": "tools_called_in_order", "tools": ["a", "b"]},
        {"tools": [{"name": "a"}, {"name": "b"}], "condition_type": "tools_called_in_order", "name": None},
        IN_ORDER.model_dump(mode="json"),
    ],
    ids=["strings", "objects in another key order", "dumped"],
)
def test_one_condition_has_one_identifier_however_it_is_written(spelling: object) -> None:
    again: Condition = parse_condition(spelling)

    assert condition_identifier(IN_ORDER, DEFAULT_SCORING) == condition_identifier(again, DEFAULT_SCORING)


def an_identifier(*names: str, source: ExpectedSource, settings: ScoringSettings = DEFAULT_SCORING) -> str:
    tools = tuple(ToolRequirement(name=name) for name in names)
    resolution = Resolution(expected=ExpectedTools(tools, source, "x"))
    evaluation = score_selection(tool_spans(a_tool_call("a")), resolution, settings)
    assert evaluation is not None
    return evaluation.identifier


def test_expected_tools_of_the_configuration_are_part_of_the_question() -> None:
    for one, other in combinations((("a",), ("b",), ("a", "b"), ("b", "a")), 2):
        assert an_identifier(*one, source=ExpectedSource.POLICY) != an_identifier(*other, source=ExpectedSource.POLICY)


def test_an_annotation_revises_the_answer_to_the_same_question() -> None:
    """
    A late or corrected annotation is a revision of the occurrence's score, not another score.
    """
    first, corrected = (an_identifier(name, source=ExpectedSource.ANNOTATION) for name in "ab")
    failed = score_selection(tool_spans(), Resolution(), DEFAULT_SCORING)

    assert failed is not None
    assert first == corrected == failed.identifier


def test_the_name_of_the_metric_is_part_of_its_identifier() -> None:
    renamed = ScoringSettings(metric_name="tools_chosen")

    assert an_identifier("a", source=ExpectedSource.RUN) != an_identifier(
        "a", source=ExpectedSource.RUN, settings=renamed
    )


def test_a_tolerance_is_part_of_the_metrics_that_read_an_order() -> None:
    resolution = Resolution(expected=ExpectedTools((ToolRequirement(name="a"),), ExpectedSource.RUN, "run"))

    one, other = (
        {
            evaluation.type: evaluation.identifier
            for evaluation in evaluate(
                tool_spans(a_tool_call("a")),
                resolution,
                ScoringSettings(metrics=tuple(Metric), clock_skew_tolerance_ns=tolerance),
            )
        }
        for tolerance in (0, 5)
    )

    assert {"exact_match", "in_order_match"} == {name for name in one if one[name] != other[name]}
