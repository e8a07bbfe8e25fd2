"""
A service in a process of its own under load, killed and started again, with what was sent and what came out.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from doubles import RecordingSink
from e2e.peers import start
from e2e.service_process import Addresses, configuration_file
from faults.agent_load import Sender, trace_id
from grpc.aio import ServicerContext
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from processing import plain
from wire_spans import agent, tool, trace_request

from proto_adapters.split import OriginTable, read_ids, split_traces
from service.pipeline import Signal

SETTINGS: dict[str, Any] = {
    "decision_delay": "300ms",
    "idle_timeout": "4s",
    "trace_timeout": "60s",
    "session": {"enabled": True, "idle_timeout": "8s"},
    "expectations": [
        {
            "name": "plan",
            "partition": "both",
            "expected_tools": ["a", "b"],
            "conditions": [{"condition_type": "tools_called_in_order", "name": "a_first", "tools": ["a", "b"]}],
        }
    ],
}
SESSION_IDLE_S = 8
"""As above. A session that is seen sooner after the first start may have begun before it."""
LATENCY_S = 0.25
"""Of the next hop: it has taken a request long before it says so."""
BUNDLE = 3
"""Agent runs whose spans share requests."""

NEVER_ENDS, IS_LATE = 4, 3
PAUSE_S = 0.1
MANY = 1_000_000
SERVE = [sys.executable, "-m", "service", "serve", "--config"]

SpanIds = tuple[bytes, bytes]
Facts = tuple[tuple[str, str], ...]
Histories = dict[bytes, list[Facts]]
SESSION_FACTS = (
    "gen_ai.evaluation.name",
    "gen_ai.evaluation.score.value",
    "gen_ai.evaluation.score.label",
    "toolscore.coverage_reasons",
)
"""When a session is told, and how often, hangs on when its late spans come."""


class SlowSink(RecordingSink):
    """
    A next hop that answers late, and knows how many answers are due.
    """

    def __init__(self) -> None:
        super().__init__()
        self.in_flight = 0
        self.arrived: set[SpanIds] = set()
        self.news = asyncio.Condition()

    def _handler(self, signal: Signal) -> Callable[[bytes, ServicerContext[bytes, bytes]], Awaitable[bytes]]:
        export = super()._handler(signal)

        async def export_slowly(request: bytes, context: ServicerContext[bytes, bytes]) -> bytes:
            self.in_flight += 1
            try:
                answer = await export(request, context)
                if signal is Signal.TRACES:
                    self.arrived |= span_ids(request)
                async with self.news:
                    self.news.notify_all()
                await asyncio.sleep(LATENCY_S)
                return answer
            finally:
                self.in_flight -= 1

        return export_slowly

    def received(self, signal: Signal) -> list[bytes]:
        return [payload for each, payload in self.accepted if each is signal]

    @property
    def histories(self) -> Histories:
        """
        What was said of each trace, once for each idempotency id, in order of revisions.
        """
        return {
            trace: sorted(facts for facts in deliveries if ("toolscore.partition", "trace") in facts)
            for trace, deliveries in self._told().items()
        }

    @property
    def sessions(self) -> dict[bytes, set[Facts]]:
        """
        The last word on each session, by the trace that it is told on.
        """
        return {trace: last for trace, told in self._told().items() if (last := set(_last_words(told)))}

    def _told(self) -> Histories:
        told: dict[bytes, dict[object, Facts]] = {}
        for payload in self.received(Signal.LOGS):
            for resource in ExportLogsServiceRequest.FromString(payload).resource_logs:
                for record in resource.scope_logs[0].log_records:
                    facts = {each.key: str(plain(each.value)) for each in record.attributes}
                    identity = facts.pop("toolscore.idempotency_id")
                    delivery = tuple(sorted(facts.items()))
                    assert told.setdefault(record.trace_id, {}).setdefault(identity, delivery) == delivery
        return {trace: list(deliveries.values()) for trace, deliveries in told.items()}


def _last_words(told: Iterable[Facts]) -> Iterator[Facts]:
    """
    Of each evaluation of a session the one with the highest revision.
    """
    last: dict[str, dict[str, str]] = {}
    for facts in map(dict, told):
        name = facts["gen_ai.evaluation.name"]
        is_newer = int(facts["toolscore.revision"]) >= int(last.get(name, {}).get("toolscore.revision", 0))
        if facts["toolscore.partition"] == "session" and is_newer:
            last[name] = facts
    for facts in last.values():
        yield tuple((key, facts[key]) for key in SESSION_FACTS if key in facts)


def ids_of(span: bytes) -> SpanIds:
    ids = read_ids(span)
    assert ids is not None
    return ids.trace_id, ids.span_id


def span_ids(request: bytes) -> set[SpanIds]:
    return {ids_of(span) for _, spans in split_traces(request, OriginTable()).groups for span in spans}


class Runs:
    """
    Three agent runs as a client sends them.

    Of five runs one is out of order, one lacks a call, one has a late span, one never ends. All are of one session.
    """

    def __init__(self, number: int) -> None:
        self._session = {"gen_ai.conversation.id": f"session-{number}"}
        self._numbers = range(number * BUNDLE, (number + 1) * BUNDLE)

    @property
    def requests(self) -> list[bytes]:
        """The first calls, the second calls, the agents."""
        firsts, seconds = ["a", "b", "a", "a", "a"], ["b", "a", "c", "b", "b"]
        first = [tool(firsts[n % 5], "first", trace=trace_id(n), start=0, end=1) for n in self._numbers]
        second = [tool(seconds[n % 5], "second", trace=trace_id(n), start=2, end=3) for n in self._numbers]
        ends = [self._agent(n) for n in self._numbers if n % 5 != NEVER_ENDS]
        return [trace_request(spans) for spans in (first, second, ends)]

    @property
    def late(self) -> list[tuple[SpanIds, bytes]]:
        """The root, and what comes once it has left."""
        return [
            (ids_of(self._agent(n)), trace_request([tool("b", "late", trace=trace_id(n), start=-2, end=-1)]))
            for n in self._numbers
            if n % 5 == IS_LATE
        ]

    def _agent(self, number: int) -> bytes:
        return agent(trace=trace_id(number), attributes=self._session)

    @property
    def session(self) -> tuple[bytes, bool]:
        """The trace that the session is told on, and whether a late span belongs to it."""
        ended = [n for n in self._numbers if n % 5 != NEVER_ENDS]
        return trace_id(ended[-1]), any(n % 5 == IS_LATE for n in ended)


@dataclass
class KilledService:
    """
    One service, its journal, its sender and its next hop.
    """

    directory: Path
    sink: SlowSink = field(default_factory=SlowSink)
    kills: int = 0
    at_work: int = 0
    """Kills while traces were open and exports were in flight."""
    started: int = 0
    """Bundles of agent runs of which something was sent."""
    sent: list[bytes] = field(default_factory=list)
    _open: int = 0
    _expected: set[SpanIds] = field(default_factory=set)
    _limit: int = 0

    async def live(self, kills: Sequence[tuple[float, int]], *, bundles: int | None = None) -> None:
        """
        Send, and be killed with such a signal after so many seconds, or when there is work after that, until all that
        was sent has come out; with *bundles*, send so many.
        """
        self._limit = bundles or MANY
        async with self.sink:
            addresses = Addresses()
            journal = {"directory": str(self.directory / "journal")}
            settings = {**SETTINGS, "buffer": {"journal": journal}}
            file = configuration_file(self.directory, addresses, f"localhost:{self.sink.port}", settings)
            begin = partial(start, [*SERVE, str(file)], file.with_suffix(".log"), ready=addresses.ready)
            peer = await asyncio.to_thread(begin)
            try:
                await asyncio.sleep(SESSION_IDLE_S)
                async with Sender(addresses.grpc) as sender:
                    numbers = count()
                    senders = 4 if kills else 24
                    load = [asyncio.create_task(self._send(sender, numbers)) for _ in range(senders)]
                    for seconds, signum in kills:
                        await asyncio.sleep(seconds)
                        await self._wait_until(self._is_at_work)
                        self._note_kill()
                        await asyncio.to_thread(peer.stop, signum)
                        peer = await asyncio.to_thread(begin)
                    self._limit = bundles or self.started
                    await asyncio.gather(*load)
                    self.sent = sender.accepted
                await self._wait_until(lambda: self.sink.arrived >= self._expected)
                await self._wait_until(self._sessions_are_told)
            finally:
                status = await asyncio.to_thread(peer.stop)
            assert 0 == status, peer.end_of_log()

    def _sessions_are_told(self) -> bool:
        told = self.sink.sessions
        sessions = (Runs(number).session for number in range(self.started))
        return all(
            trace in told and (not has_late or any("late_span" in str(facts) for facts in told[trace]))
            for trace, has_late in sessions
        )

    def _is_at_work(self) -> bool:
        return self._open > 0 and self.sink.in_flight > 0

    def _note_kill(self) -> None:
        self.kills += 1
        self.at_work += self._is_at_work()

    async def _send(self, sender: Sender, numbers: Iterator[int]) -> None:
        for number in numbers:
            if number >= self._limit:
                return
            self.started = max(self.started, number + 1)
            runs = Runs(number)
            first, *others = runs.requests
            await self._deliver(sender, first)
            self._open += 1
            for request in others:
                await self._deliver(sender, request)
            self._open -= 1
            for root, request in runs.late:
                await self._wait_until(partial(self.sink.arrived.issuperset, [root]))
                await self._deliver(sender, request)

    async def _deliver(self, sender: Sender, request: bytes) -> None:
        self._expected.update(span_ids(request))
        assert await sender.send(request)
        await asyncio.sleep(PAUSE_S)

    async def _wait_until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(90), self.sink.news:
            await self.sink.news.wait_for(holds)
