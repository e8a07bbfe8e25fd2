"""
What becomes of a request: delivered, rejected or abandoned, and told exactly once.
"""

import asyncio
import logging

import pytest
from doubles import DELIVERED, REFUSED, UNAVAILABLE, CountingRecorder, ScriptedClient, eventually
from otlp_requests import all_span_names, metric_request, span_names, trace_request

from service.durations import SECOND
from service.exporter.attempt import Attempt, AttemptOutcome, Client
from service.exporter.retry import RetrySettings
from service.exporter.sender import Sender, Tally
from service.pipeline import ExportRequest, SendOutcome, Signal

QUICK = RetrySettings(initial_interval_ns=1, max_interval_ns=1)
UNAUTHENTICATED = Attempt(outcome=AttemptOutcome.PERMANENT, error_type="UNAUTHENTICATED")


def a_sender(
    client: Client,
    recorder: CountingRecorder,
    *,
    settings: RetrySettings = QUICK,
    abandoned_is_lost: bool = True,
) -> Sender:
    return Sender(client, settings, recorder, exporter="otlp", abandoned_is_lost=abandoned_is_lost)


async def deliver(sender: Sender, *names: str) -> Tally:
    tally = Tally(len(names))
    await sender.deliver(ExportRequest(Signal.TRACES, trace_request(*names), len(names)), tally)
    return tally


@pytest.fixture
def recorder() -> CountingRecorder:
    return CountingRecorder()


def refuses(*guilty: str) -> ScriptedClient:
    """A downstream that refuses every request with one of the *guilty* spans in it."""
    return ScriptedClient(otherwise=lambda payload: REFUSED if set(guilty) & set(span_names(payload)) else DELIVERED)


async def test_a_request_is_tried_until_it_is_taken(recorder: CountingRecorder) -> None:
    client = ScriptedClient([UNAVAILABLE, UNAVAILABLE])

    tally = await deliver(a_sender(client, recorder), "a", "b")

    assert SendOutcome.DELIVERED is tally.outcome
    assert 3 == len(client.sent)
    assert {("sent", "otlp"): 2, ("retried", "UNAVAILABLE"): 2} == recorder.counts


async def test_every_try_sends_the_same_bytes(recorder: CountingRecorder) -> None:
    client = ScriptedClient([UNAVAILABLE])

    await deliver(a_sender(client, recorder), "a")

    assert client.sent[0] == client.sent[1] == (Signal.TRACES, trace_request("a"))


async def test_a_defect_of_ours_is_retried_like_an_outage(recorder: CountingRecorder) -> None:
    tally = await deliver(a_sender(ScriptedClient([KeyError("defect")]), recorder), "a")

    assert SendOutcome.DELIVERED is tally.outcome
    assert {("sent", "otlp"): 1, ("retried", "KeyError"): 1} == recorder.counts


@pytest.mark.parametrize("guilty", [["a"], ["d"], ["g"], ["a", "g"], ["c", "d"], ["a", "b", "c", "d", "e", "f", "g"]])
async def test_only_the_guilty_spans_end_rejected(guilty: list[str], recorder: CountingRecorder) -> None:
    client = refuses(*guilty)

    tally = await deliver(a_sender(client, recorder), *"abcdefg")

    delivered = [payload for _, payload in client.sent if not set(guilty) & set(span_names(payload))]
    assert sorted(set("abcdefg") - set(guilty)) == sorted(all_span_names(delivered))
    assert (7 - len(guilty), len(guilty), 0) == (tally.sent, tally.rejected, tally.unsettled)
    assert len(guilty) == recorder.counts["lost", "rejected_downstream"]


async def test_a_request_of_which_something_arrived_is_delivered(recorder: CountingRecorder) -> None:
    assert SendOutcome.DELIVERED is (await deliver(a_sender(refuses("a"), recorder), "a", "b")).outcome
    assert SendOutcome.REJECTED is (await deliver(a_sender(refuses("a"), recorder), "a")).outcome


@pytest.mark.parametrize(("attempt", "outcome"), [(DELIVERED, SendOutcome.DELIVERED), (REFUSED, SendOutcome.REJECTED)])
async def test_a_request_without_items_has_an_outcome_too(
    attempt: Attempt, outcome: SendOutcome, recorder: CountingRecorder
) -> None:
    assert outcome is (await deliver(a_sender(ScriptedClient([attempt]), recorder))).outcome


async def test_a_guilty_span_among_hundreds_costs_few_requests(recorder: CountingRecorder) -> None:
    client = refuses("s300")

    await deliver(a_sender(client, recorder), *(f"s{number}" for number in range(512)))

    assert len(client.sent) <= 2 * 9 + 1


async def test_refused_credentials_are_not_bisected(recorder: CountingRecorder) -> None:
    client = ScriptedClient(otherwise=lambda _: UNAUTHENTICATED)

    tally = await deliver(a_sender(client, recorder), "a", "b")

    assert SendOutcome.REJECTED is tally.outcome
    assert 1 == len(client.sent)
    assert {("send_failed", "UNAUTHENTICATED"): 2, ("lost", "rejected_downstream"): 2} == recorder.counts


async def test_a_half_is_retried_like_a_whole_request(recorder: CountingRecorder) -> None:
    client = ScriptedClient([REFUSED, UNAVAILABLE])

    tally = await deliver(a_sender(client, recorder), "a", "b")

    assert 2 == tally.sent
    assert [["a", "b"], ["a"], ["a"], ["b"]] == [span_names(payload) for _, payload in client.sent]


@pytest.mark.parametrize(("claimed", "rejected"), [(1, 1), (2, 2), (99, 2), (-5, 0)])
async def test_partial_success_is_counted_as_rejected_and_never_sent_again(
    claimed: int, rejected: int, recorder: CountingRecorder
) -> None:
    client = ScriptedClient([Attempt(outcome=AttemptOutcome.DELIVERED, rejected=claimed, message="bad")])

    tally = await deliver(a_sender(client, recorder), "a", "b")

    assert (2 - rejected, rejected) == (tally.sent, tally.rejected)
    assert rejected == recorder.counts["partially_rejected", "otlp"] == recorder.counts["lost", "rejected_downstream"]
    assert 1 == len(client.sent)


async def test_when_the_longest_time_is_over_a_request_is_abandoned(recorder: CountingRecorder) -> None:
    settings = RetrySettings(initial_interval_ns=2, max_interval_ns=2, max_elapsed_time_ns=1)

    tally = await deliver(a_sender(ScriptedClient([UNAVAILABLE]), recorder, settings=settings), "a")

    assert SendOutcome.ABANDONED is tally.outcome
    assert {("send_failed", "UNAVAILABLE"): 1, ("lost", "retries_exhausted"): 1} == recorder.counts


async def test_a_waiting_request_gets_one_more_try_when_the_service_stops(recorder: CountingRecorder) -> None:
    client = ScriptedClient([UNAVAILABLE])
    sender = a_sender(client, recorder, settings=RetrySettings(initial_interval_ns=3600 * SECOND))
    sending = asyncio.create_task(deliver(sender, "a"))
    await eventually(lambda: recorder.counts["retried", "UNAVAILABLE"] > 0)

    sender.hurry()

    assert SendOutcome.DELIVERED is (await sending).outcome
    assert 2 == len(client.sent)


async def test_after_the_stop_a_request_is_tried_once(recorder: CountingRecorder) -> None:
    client = ScriptedClient(otherwise=lambda _: UNAVAILABLE)
    sender = a_sender(client, recorder)
    sender.hurry()

    tally = await deliver(sender, "a")

    assert SendOutcome.ABANDONED is tally.outcome
    assert 1 == len(client.sent)
    assert 1 == recorder.counts["lost", "shutdown"]


async def test_what_a_journal_keeps_is_not_counted_as_lost(recorder: CountingRecorder) -> None:
    client = ScriptedClient(otherwise=lambda _: UNAVAILABLE)
    sender = Sender(client, RetrySettings(), recorder, exporter="otlp", outlives_stop=True)
    sender.hurry()

    await deliver(sender, "a")

    assert {("send_failed", "UNAVAILABLE"): 1} == recorder.counts


async def test_metrics_are_split_with_their_data_points_shared_out(recorder: CountingRecorder) -> None:
    sender = a_sender(ScriptedClient([REFUSED, REFUSED]), recorder)
    tally = Tally(6)

    await sender.deliver(ExportRequest(Signal.METRICS, metric_request("a", "b", points=3), 6), tally)

    assert (3, 3) == (tally.sent, tally.rejected)


async def test_an_outage_is_one_message_however_often_it_is_tried(
    recorder: CountingRecorder, caplog: pytest.LogCaptureFixture
) -> None:
    """
    The log lets equal messages pass once a minute.
    """
    with caplog.at_level(logging.WARNING, logger="service.exporter"):
        await deliver(a_sender(ScriptedClient([UNAVAILABLE] * 50), recorder), "a", "b")

    assert 1 == len({record.getMessage() for record in caplog.records})
