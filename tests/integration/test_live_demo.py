"""
The demo that goes on: fresh runs under the live page until it is told to stop.
"""

import asyncio
import re
import signal
import sys
from collections.abc import Callable

import aiohttp
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from service.app.demo import recorded_runs
from service.app.live_demo import freshened, run_live_demo
from service.durations import MILLISECOND, SECOND
from service.errors import ConfigError

NOW_NS = 1_900_000_000_000_000_123
RUNS = [[ExportTraceServiceRequest.FromString(request) for request in run] for run in recorded_runs()]


def spans_of(requests: list[ExportTraceServiceRequest]) -> list[Span]:
    return [
        span
        for request in requests
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def fresh(run: list[ExportTraceServiceRequest], not_before_ns: int = 0) -> list[Span]:
    sent = freshened(run, now_ns=NOW_NS, not_before_ns=not_before_ns)
    return spans_of([ExportTraceServiceRequest.FromString(request) for request in sent])


@pytest.mark.parametrize("run", RUNS)
def test_a_run_ends_now_under_ids_of_its_own_and_is_else_what_was_recorded(
    run: list[ExportTraceServiceRequest],
) -> None:
    recorded, sent = spans_of(run), fresh(run)

    shifts = {new.start_time_unix_nano - old.start_time_unix_nano for old, new in zip(recorded, sent, strict=True)}
    (shift_ns,) = shifts
    assert 0 == shift_ns % MILLISECOND
    assert 0 <= max(span.end_time_unix_nano for span in sent) - NOW_NS < MILLISECOND
    assert not {span.trace_id for span in recorded} & {span.trace_id for span in sent}
    assert len({span.trace_id for span in recorded}) == len({span.trace_id for span in sent})
    for old, new in zip(recorded, sent, strict=True):
        assert (old.span_id, old.parent_span_id, old.name) == (new.span_id, new.parent_span_id, new.name)
        assert list(old.attributes) == list(new.attributes)
        assert old.end_time_unix_nano - old.start_time_unix_nano == new.end_time_unix_nano - new.start_time_unix_nano


def test_no_run_begins_before_the_service() -> None:
    sent = fresh(RUNS[0], not_before_ns=NOW_NS + SECOND)

    assert NOW_NS + SECOND <= min(span.start_time_unix_nano for span in sent)


def test_two_copies_of_a_run_share_no_trace() -> None:
    assert not {span.trace_id for span in fresh(RUNS[0])} & {span.trace_id for span in fresh(RUNS[0])}


async def runs_on(url: str, *, until: Callable[[list[dict[str, str]]], bool]) -> list[dict[str, str]]:
    async with aiohttp.ClientSession() as client, asyncio.timeout(30):
        while True:
            async with client.get(f"{url}/api/occurrences") as response:
                runs: list[dict[str, str]] = (await response.json())["occurrences"]
            if until(runs):
                return runs
            await asyncio.sleep(0.05)


async def test_good_and_bad_runs_come_again_and_again_until_it_is_stopped() -> None:
    stop, port = asyncio.Event(), asyncio.get_running_loop().create_future()
    demo = asyncio.create_task(run_live_demo(stop, port.set_result, endpoint="127.0.0.1:0", interval_s=0.1))
    url = f"http://127.0.0.1:{await port}"

    runs = await runs_on(url, until=lambda runs: len(runs) > len(RUNS))

    stop.set()
    async with asyncio.timeout(30):
        await demo
    verdicts = {outcome["label"] for run in runs for outcome in run["outcomes"] if outcome["name"] == "hotel_last"}  # type: ignore[index]  # JSON
    assert {"true", "false", "undetermined"} == verdicts
    assert len(runs) == len({run["token"] for run in runs})
    assert [] == [run for run in runs if "restarted" in run["reasons"]]


async def test_an_address_that_is_taken_is_told() -> None:
    server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with pytest.raises(ConfigError, match="live_page"):
        await run_live_demo(asyncio.Event(), lambda _port: None, endpoint=f"127.0.0.1:{port}")
    server.close()
    await server.wait_closed()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
async def test_the_command_tells_its_address_and_ends_in_peace(number: signal.Signals) -> None:
    command = [sys.executable, "-m", "service", "demo", "--serve", "--endpoint", "127.0.0.1:0"]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    async with asyncio.timeout(60):
        line = (await process.stdout.readline()).decode()
        found = re.search(r"(?<=page: )\S+:\d+", line)
        assert found is not None
        assert [] == await runs_on(found[0], until=lambda _runs: True)
        process.send_signal(number)
        assert 0 == await process.wait()
