"""
Spans that come twice, in any order and too late: none is lost or doubled, and no verdict depends on it.
"""

from collections.abc import AsyncIterator

import pytest
from doubles import RecordingSink, eventually
from faults.agent_load import Sender, agent_run, shuffled
from faults.fault_report import account
from faults.service_under_test import a_service, over_grpc
from wire_spans import trace_request

from service.pipeline import Signal
from service.processor.outputs import Scored

RUNS = 40
ORDER = {
    "decision_delay": "300ms",
    "expectations": [
        {
            "name": "order",
            "match": {},
            "expected_tools": ["a", "b"],
            "conditions": [{"condition_type": "tools_called_in_order", "name": "a_then_b", "tools": ["a", "b"]}],
        }
    ],
}


class Verdicts:
    """
    The last result of every trace.
    """

    def __init__(self) -> None:
        self.by_trace: dict[str, list[tuple[str, float | None]]] = {}

    def scored(self, scored: Scored) -> None:
        assessment = scored.assessment
        self.by_trace[assessment.occurrence] = [(each.name, each.score) for each in assessment.evaluations]


@pytest.fixture
async def sink() -> AsyncIterator[RecordingSink]:
    async with RecordingSink() as sink:
        yield sink


def runs() -> list[bytes]:
    """
    The spans of runs of which every third calls its tools the wrong way round, and every third one tool only.
    """
    tools = [("a", "b"), ("b", "a"), ("a",)]
    return [span for number in range(RUNS) for span in agent_run(number, tools=tools[number % 3])]


def traces(sink: RecordingSink) -> list[bytes]:
    return [payload for signal, payload in sink.accepted if signal is Signal.TRACES]


async def verdicts_of(sink: RecordingSink, mode: str, requests: list[bytes]) -> Verdicts:
    """
    What is decided when *requests* come in this order; checks that every distinct span left once.
    """
    verdicts = Verdicts()
    settings = {**ORDER, "mode": mode}
    async with a_service(over_grpc(sink.endpoint), settings, observers=[verdicts]) as service:
        async with Sender(service.grpc) as sender:
            await sender.send_all(requests)
        await eventually(lambda: len(verdicts.by_trace) == RUNS)
        await service.stop()
    account(f"unordered delivery, {mode}", [trace_request(runs())], traces(sink))
    service.assert_balanced()
    sink.accepted.clear()
    return verdicts


@pytest.mark.parametrize("mode", ["hold", "pass_through"])
@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_shuffled_and_repeated_spans_leave_once_and_change_no_verdict(
    sink: RecordingSink, seed: int, mode: str
) -> None:
    in_order = await verdicts_of(sink, mode, [trace_request(runs())])
    mixed = shuffled(runs() * 3, seed)
    requests = [trace_request(mixed[first : first + 7]) for first in range(0, len(mixed), 7)]

    assert in_order.by_trace == (await verdicts_of(sink, mode, requests)).by_trace


async def test_spans_that_come_after_the_verdict_leave_and_revise_it(sink: RecordingSink) -> None:
    verdicts = Verdicts()
    settings = {**ORDER, "decision_delay": "50ms"}
    early = [span for number in range(RUNS) for span in agent_run(number)[1:]]
    late = [agent_run(number)[0] for number in range(RUNS)]
    async with a_service(over_grpc(sink.endpoint), settings, observers=[verdicts]) as service:
        async with Sender(service.grpc) as sender:
            await sender.send(trace_request(early))
            await eventually(lambda: len(verdicts.by_trace) == RUNS)
            before = {score for results in verdicts.by_trace.values() for _, score in results[:1]}
            await sender.send(trace_request(shuffled(late, 4)))
            await eventually(lambda: all(results[0][1] == 1.0 for results in verdicts.by_trace.values()))
        await service.stop()

    assert {0.5} == before
    account("late delivery", sender.accepted, traces(sink))
    service.assert_balanced()
