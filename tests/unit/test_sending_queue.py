"""
The bounded queue in front of an exporter: order, pressure and drain.
"""

import asyncio

import pytest
from doubles import DELIVERED, UNAVAILABLE, CountingRecorder, ScriptedClient, eventually
from otlp_requests import Outcomes, all_span_names

from service.durations import SECOND
from service.exporter.retry import RetrySettings
from service.exporter.sender import Sender
from service.exporter.sending_queue import QueueSettings, SendingQueue
from service.pipeline import ExportRequest, SendOutcome, Signal

QUICK = RetrySettings(initial_interval_ns=1, max_interval_ns=1)
DEFAULTS = QueueSettings()
SLOW = RetrySettings(initial_interval_ns=3600 * SECOND)


@pytest.fixture
def outcomes() -> Outcomes:
    return Outcomes()


@pytest.fixture
def recorder() -> CountingRecorder:
    return CountingRecorder()


def a_queue(
    client: ScriptedClient,
    recorder: CountingRecorder,
    settings: QueueSettings = DEFAULTS,
    retry: RetrySettings = QUICK,
) -> SendingQueue:
    return SendingQueue(Sender(client, retry, recorder, exporter="otlp"), settings, recorder, exporter="otlp")


async def test_what_is_offered_is_sent_and_settled_once(outcomes: Outcomes, recorder: CountingRecorder) -> None:
    client = ScriptedClient()
    queue = a_queue(client, recorder)
    queue.start()

    assert all(queue.offer(outcomes.request(name)) for name in "abc")
    await queue.stop(5 * SECOND)

    assert [(SendOutcome.DELIVERED, 0)] * 3 == outcomes.settled
    assert ["a", "b", "c"] == sorted(all_span_names(payload for _, payload in client.sent))
    assert client.is_closed


async def test_a_full_queue_refuses_and_the_caller_keeps_the_request(
    outcomes: Outcomes, recorder: CountingRecorder
) -> None:
    queue = a_queue(ScriptedClient(), recorder, QueueSettings(queue_size=2))

    assert [True, True, False] == [queue.offer(outcomes.request(name)) for name in "abc"]
    assert 1 == recorder.counts["enqueue_failed", "otlp"]
    assert [] == outcomes.settled
    await queue.stop(0)


async def test_bytes_limit_the_queue_too(outcomes: Outcomes, recorder: CountingRecorder) -> None:
    queue = a_queue(ScriptedClient(), recorder, QueueSettings(queue_size_bytes=1500))

    assert [True, False, True] == [queue.offer(outcomes.request("a", size=size)) for size in (1000, 1000, 100)]
    await queue.stop(0)


async def test_an_empty_queue_takes_a_request_above_its_byte_limit(
    outcomes: Outcomes, recorder: CountingRecorder
) -> None:
    queue = a_queue(ScriptedClient(), recorder, QueueSettings(queue_size_bytes=10))

    assert queue.offer(outcomes.request("a", size=1000))
    assert not queue.has_room(1)
    await queue.stop(0)


async def test_a_request_counts_until_it_is_settled(outcomes: Outcomes, recorder: CountingRecorder) -> None:
    client = ScriptedClient()
    client.gate.clear()
    queue = a_queue(client, recorder, QueueSettings(queue_size=1))
    queue.start()
    queue.offer(outcomes.request("a"))
    await eventually(lambda: bool(client.sent))

    assert (1, 1, False) == (queue.size, queue.in_flight, queue.has_room(1))
    client.gate.set()
    await eventually(lambda: queue.size == 0)

    assert (0, 0, 0) == (queue.size, queue.size_bytes, queue.in_flight)
    assert queue.has_room(1)
    await queue.stop(SECOND)


async def test_who_is_told_of_a_settled_request_can_offer_the_next_one(recorder: CountingRecorder) -> None:
    queue = a_queue(ScriptedClient(), recorder, QueueSettings(queue_size=1))
    offered: list[bool] = []

    def offer_next(outcome: SendOutcome, rejected: int) -> None:
        offered.append(queue.offer(Outcomes().request("b")))

    queue.offer(ExportRequest(Signal.TRACES, b"", 0, offer_next))
    queue.start()
    await eventually(lambda: queue.size == 0)

    assert [True] == offered
    await queue.stop(SECOND)


async def test_no_more_requests_are_on_the_way_than_there_are_consumers(
    outcomes: Outcomes, recorder: CountingRecorder
) -> None:
    client = ScriptedClient()
    client.gate.clear()
    queue = a_queue(client, recorder, QueueSettings(num_consumers=3))
    queue.start()
    for number in range(10):
        queue.offer(outcomes.request(str(number)))
    await eventually(lambda: len(client.sent) >= 3)
    for _ in range(20):
        await asyncio.sleep(0)

    assert 3 == len(client.sent) == queue.in_flight
    client.gate.set()
    await queue.stop(5 * SECOND)
    assert 10 == len(outcomes.settled)


async def test_a_stopped_queue_takes_nothing(outcomes: Outcomes, recorder: CountingRecorder) -> None:
    queue = a_queue(ScriptedClient(), recorder)
    queue.start()
    await queue.stop(SECOND)

    assert not queue.offer(outcomes.request("a"))


async def test_a_stop_tries_once_and_abandons_what_downstream_does_not_take(
    outcomes: Outcomes, recorder: CountingRecorder
) -> None:
    client = ScriptedClient(otherwise=lambda payload: UNAVAILABLE if b"bad" in payload else DELIVERED)
    queue = a_queue(client, recorder, QueueSettings(num_consumers=1), SLOW)
    queue.start()
    for name in ("bad", "good", "bad", "good"):
        queue.offer(outcomes.request(name))
    await eventually(lambda: recorder.counts["retried", "UNAVAILABLE"] > 0)

    await queue.stop(5 * SECOND)

    assert {SendOutcome.ABANDONED: 2, SendOutcome.DELIVERED: 2} == {
        outcome: [settled for settled, _ in outcomes.settled].count(outcome)
        for outcome in (SendOutcome.ABANDONED, SendOutcome.DELIVERED)
    }
    assert 2 == queue.abandoned_items == recorder.counts["lost", "shutdown"]


async def test_at_the_deadline_of_a_stop_every_request_is_settled(
    outcomes: Outcomes, recorder: CountingRecorder
) -> None:
    client = ScriptedClient()
    client.gate.clear()
    queue = a_queue(client, recorder, QueueSettings(num_consumers=2))
    queue.start()
    for name in "abcde":
        queue.offer(outcomes.request(name, name))
    await eventually(lambda: len(client.sent) >= 2)

    await queue.stop(1)

    assert [(SendOutcome.ABANDONED, 0)] * 5 == outcomes.settled
    assert (0, 0, 10) == (queue.size, queue.size_bytes, queue.abandoned_items)
    assert 10 == recorder.counts["lost", "shutdown"]


async def test_a_queue_that_never_started_abandons_what_it_holds(
    outcomes: Outcomes, recorder: CountingRecorder
) -> None:
    queue = a_queue(ScriptedClient(), recorder)
    queue.offer(outcomes.request("a"))

    await queue.stop(3600 * SECOND)

    assert [(SendOutcome.ABANDONED, 0)] == outcomes.settled


async def test_a_callback_that_fails_does_not_stop_the_queue(outcomes: Outcomes, recorder: CountingRecorder) -> None:
    def fail(outcome: SendOutcome, rejected: int) -> None:
        raise RuntimeError("defect of the caller")

    queue = a_queue(ScriptedClient(), recorder, QueueSettings(num_consumers=1))
    queue.start()
    queue.offer(ExportRequest(Signal.TRACES, b"", 0, fail))
    queue.offer(outcomes.request("a"))

    await queue.stop(5 * SECOND)

    assert [(SendOutcome.DELIVERED, 0)] == outcomes.settled


async def test_conservation_over_outages_and_partial_success(outcomes: Outcomes, recorder: CountingRecorder) -> None:
    client = ScriptedClient([UNAVAILABLE, UNAVAILABLE, DELIVERED] * 20)
    queue = a_queue(client, recorder, QueueSettings(num_consumers=4))
    queue.start()
    for number in range(100):
        assert queue.offer(outcomes.request(str(number)))

    await eventually(lambda: queue.size == 0)

    assert 100 == recorder.counts["sent", "otlp"] == len(outcomes.settled)
    await queue.stop(SECOND)
