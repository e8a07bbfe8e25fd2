"""
What a receiver admits before it reads, and what it counts.
"""

import pytest
from doubles import CountingRecorder, RecordingConsumer
from otlp_requests import trace_request

from service.errors import Refused
from service.pipeline import Signal
from service.receiver.intake import Intake
from service.telemetry.recorder import RefusalReason, Transport


@pytest.fixture
def consumer() -> RecordingConsumer:
    return RecordingConsumer(limit=100)


@pytest.fixture
def intake(consumer: RecordingConsumer) -> Intake:
    return Intake(consumer, CountingRecorder(), Transport.GRPC)


def test_what_the_consumer_has_no_room_for_is_refused(intake: Intake) -> None:
    intake.admit(100)
    with pytest.raises(Refused) as refused:
        intake.admit(101)

    assert RefusalReason.MEMORY_LIMIT == refused.value.reason


def test_a_closed_intake_refuses_everything(intake: Intake) -> None:
    intake.close()

    with pytest.raises(Refused) as refused:
        intake.admit(0)

    assert RefusalReason.SHUTTING_DOWN == refused.value.reason


def test_what_is_reserved_counts_for_others_until_it_is_given_back(intake: Intake) -> None:
    with intake.reservation() as room:
        room.grow(60)
        intake.admit(40)
        with pytest.raises(Refused):
            intake.admit(41)
        room.grow(40)

    intake.admit(100)


def test_a_refused_reservation_holds_nothing(intake: Intake) -> None:
    with pytest.raises(Refused), intake.reservation() as room:
        room.grow(101)

    intake.admit(100)


async def test_settling_waits_only_for_what_was_begun(intake: Intake, consumer: RecordingConsumer) -> None:
    await intake.settle(10**12)
    await intake.take(Signal.TRACES, trace_request("a"))
    await intake.settle(10**12)

    assert 1 == len(consumer.requests)
