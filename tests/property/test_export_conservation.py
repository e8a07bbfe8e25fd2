"""
Whatever downstream answers, each span of a request ends in exactly one way, and the counts say which.
"""

import asyncio
from collections import Counter

from doubles import DELIVERED, REFUSED, UNAVAILABLE, CountingRecorder, ScriptedClient
from hypothesis import given
from hypothesis import strategies as st
from otlp_requests import all_span_names, span_names, trace_request

from service.exporter.attempt import Attempt, AttemptOutcome
from service.exporter.retry import RetrySettings
from service.exporter.sender import Sender, Tally
from service.pipeline import ExportRequest, SendOutcome, Signal

OUTAGES = st.lists(st.sampled_from([UNAVAILABLE, REFUSED]), max_size=12)
REPEATED = RetrySettings(initial_interval_ns=1, max_interval_ns=1)
ONCE = RetrySettings(enabled=False)


def deliver(client: ScriptedClient, settings: RetrySettings, names: list[str]) -> tuple[Tally, CountingRecorder]:
    recorder, tally = CountingRecorder(), Tally(len(names))
    sender = Sender(client, settings, recorder, exporter="otlp")
    asyncio.run(sender.deliver(ExportRequest(Signal.TRACES, trace_request(*names), len(names)), tally))
    return tally, recorder


@given(names=st.lists(st.text("abcdef", min_size=1, max_size=3), min_size=1, max_size=40), guilty=st.data())
def test_with_patience_all_but_the_guilty_arrive_exactly_once(names: list[str], guilty: st.DataObject) -> None:
    bad = set(guilty.draw(st.lists(st.sampled_from(names))))
    taken: list[bytes] = []

    def answer(payload: bytes) -> Attempt:
        if bad & set(span_names(payload)):
            return REFUSED
        taken.append(payload)
        return DELIVERED

    tally, _ = deliver(ScriptedClient([UNAVAILABLE] * 3, otherwise=answer), REPEATED, names)

    assert Counter(name for name in names if name not in bad) == Counter(all_span_names(taken))
    assert len([name for name in names if name in bad]) == tally.rejected


@given(names=st.lists(st.sampled_from("abcdef"), min_size=1, max_size=20), script=OUTAGES)
def test_without_patience_each_span_is_sent_rejected_or_abandoned(names: list[str], script: list[Attempt]) -> None:
    tally, recorder = deliver(ScriptedClient(script), ONCE, names)

    assert len(names) == tally.sent + tally.rejected + tally.abandoned
    assert tally.sent == recorder.counts["sent", "otlp"]
    assert tally.rejected == recorder.counts["lost", "rejected_downstream"]
    assert tally.abandoned == recorder.counts["lost", "retries_exhausted"]
    assert (tally.outcome is SendOutcome.ABANDONED) == (AttemptOutcome.RETRYABLE in tally.outcomes)
