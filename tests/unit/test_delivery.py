"""
What of a result is new, and which revision it is.
"""

from msgspec.structs import replace

from service.evaluation import Bounds, DeliveryHistory, Evaluation, ExpectedSource, Reason, Status, Verdict
from service.evidence import Coverage, CoverageReason, Partition, Trigger
from service.processor.delivery import Delivery, latest_revision, plan_deliveries

COMPLETE = Coverage()
PARTIAL = Coverage((CoverageReason.LATE_SPAN,))
FALSE = Evaluation(
    name="order",
    type="tools_called_in_order",
    version="1",
    identifier="i",
    status=Status.SCORED,
    score=0.0,
    label=Verdict.FALSE,
    bounds=Bounds(0, 0),
    expectation="plan",
    expected_source=ExpectedSource.POLICY,
)
UNDETERMINED = replace(FALSE, status=Status.UNDETERMINED, score=None, label=Verdict.UNDETERMINED, bounds=Bounds(0, 1))


def plan(
    history: DeliveryHistory, evaluation: Evaluation, coverage: Coverage, trigger: Trigger = Trigger.ROOT_SPAN
) -> list[Delivery]:
    return plan_deliveries([evaluation], coverage, history, partition=Partition.TRACE, occurrence="t", trigger=trigger)


def test_the_first_delivery_is_revision_zero() -> None:
    (delivery,) = plan({}, FALSE, COMPLETE)

    assert (0, None, True, True) == (
        delivery.revision,
        delivery.replaces,
        delivery.is_final,
        delivery.enters_histogram,
    )


def test_an_equal_result_is_not_delivered_again() -> None:
    history: DeliveryHistory = {}
    plan(history, FALSE, COMPLETE)

    assert [] == plan(history, FALSE, COMPLETE, Trigger.LATE_SPAN)


def test_what_differs_is_the_next_revision_of_what_it_replaces() -> None:
    history: DeliveryHistory = {}
    plan(history, FALSE, COMPLETE)

    (delivery,) = plan(history, UNDETERMINED, PARTIAL, Trigger.LATE_SPAN)

    assert (1, FALSE) == (delivery.revision, delivery.replaces)
    assert 1 == latest_revision(history)


def test_an_answer_under_another_expectation_revises_the_one_before() -> None:
    """
    A late annotation asks another question of the same occurrence: no second histogram entry, no second revision 0.
    """
    history: DeliveryHistory = {}
    plan(history, FALSE, COMPLETE)
    annotated = replace(FALSE, identifier="j", expectation="annotation", expected_source=ExpectedSource.ANNOTATION)

    (delivery,) = plan(history, annotated, COMPLETE)

    assert (1, FALSE, False) == (delivery.revision, delivery.replaces, delivery.enters_histogram)


def test_a_result_is_new_if_only_its_coverage_changed() -> None:
    history: DeliveryHistory = {}
    plan(history, FALSE, COMPLETE)

    assert 1 == len(plan(history, FALSE, PARTIAL, Trigger.LATE_SPAN))


def test_an_occurrence_enters_the_histogram_once_with_its_first_exact_result() -> None:
    history: DeliveryHistory = {}
    entered = [
        delivery.enters_histogram
        for evaluation, coverage in [
            (UNDETERMINED, PARTIAL),
            (FALSE, COMPLETE),
            (UNDETERMINED, COMPLETE),
            (FALSE, PARTIAL),
        ]
        for delivery in plan(history, evaluation, coverage)
    ]

    assert [False, True, False, False] == entered


def test_results_of_provisional_closings_are_not_final() -> None:
    for trigger in Trigger:
        (delivery,) = plan({}, FALSE, COMPLETE, trigger)

        assert delivery.is_final == (trigger not in {Trigger.IDLE_TIMEOUT, Trigger.TRACE_TIMEOUT})


def test_an_unresolved_expectation_is_not_delivered() -> None:
    unresolved = replace(FALSE, status=Status.FAILED, reason=Reason.EXPECTED_TOOLS_UNRESOLVED, expectation=None)

    assert [] == plan({}, unresolved, COMPLETE)


def test_the_idempotency_id_tells_every_part_of_the_identity_apart() -> None:
    (delivery,) = plan({}, FALSE, COMPLETE)
    others = [
        replace(delivery, partition=Partition.SESSION),
        replace(delivery, occurrence="u"),
        replace(delivery, revision=1),
        replace(delivery, is_early=True),
        replace(delivery, evaluation=replace(FALSE, identifier="j")),
        replace(delivery, evaluation=replace(FALSE, expectation="other")),
    ]

    assert 7 == len({each.idempotency_id for each in [delivery, *others]})
    assert delivery.idempotency_id == replace(delivery, trigger=Trigger.EVICTION).idempotency_id
