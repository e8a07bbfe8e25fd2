"""
Replay says what the running service said: of every recording, from its spans and from the evidence stored of it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from processing import Processing
from recorded import BUNDLES, Recording, recordings
from replaying import framed, log_lines, replayed, said_in_replay, said_online, stored

from service.pipeline import Signal
from service.processor.outputs import Scored

TRIP = ["search_flights", "get_weather", "book_hotel"]
RULES: dict[str, Any] = {
    "session": {"enabled": True, "idle_timeout": "30m"},
    "additional_metrics": ["multiset_f1", "in_order_match", "redundancy", "tool_success_rate", "retries_recovered"],
    "order_from_embedded_calls": True,
    "count_embedded_calls": True,
    "expectations": [
        {
            "name": "plan_a_trip",
            "partition": "both",
            "expected_tools": TRIP,
            "conditions": [
                {"condition_type": "tools_called_in_order", "name": "hotel_last", "tools": TRIP},
                {"condition_type": "tool_call_count", "name": "once", "tools": [{"name": "book_hotel", "max": 1}]},
                {
                    "condition_type": "tools_called",
                    "name": "somewhere",
                    "tools": [
                        {"name": "get_weather", "arguments": {"city": "Lisbon"}, "argument_match": "superset"},
                        "book_hotel",
                    ],
                },
                {
                    "condition_type": "not",
                    "name": "hotel_not_first",
                    "condition": {"condition_type": "tools_called_in_order", "tools": ["book_hotel", "get_weather"]},
                },
            ],
        }
    ],
}


async def scored_online(recorded: Recording) -> tuple[Processing, Sequence[Scored]]:
    """
    One recording through a processor, until nothing is open.
    """
    processing = Processing(**RULES)
    await processing.after(1801)  # sessions that begin sooner after a start may have begun before it
    for request in recorded.requests:
        await processing.processor.consume(Signal.TRACES, request)
    for request in recorded.log_requests:
        await processing.processor.consume(Signal.LOGS, request)
    await processing.after(5)
    await processing.after(400)
    await processing.after(1800)
    return processing, processing.closings


def newest(closings: Sequence[Scored]) -> list[Scored]:
    return list({closing.assessment.occurrence: closing for closing in closings}.values())


@pytest.mark.parametrize("bundle", BUNDLES)
async def test_spans_and_stored_evidence_give_the_online_results(bundle: str, tmp_path: Path) -> None:
    for recorded in recordings(bundle):
        processing, closings = await scored_online(recorded)
        spans, logs, evidence = tmp_path / "spans.pb", tmp_path / "logs.jsonl", tmp_path / "evidence.jsonl"
        spans.write_bytes(framed(recorded.requests))
        logs.write_bytes(log_lines(recorded.log_requests))
        evidence.write_bytes(b"".join(stored(processing, closing) for closing in closings))

        from_spans = replayed(processing.block, spans, logs)
        from_evidence = replayed(processing.block, evidence)

        eligible = [result for result in from_spans if result.line.status != "ineligible"]
        assert sorted(map(repr, said_online(newest(closings)))) == sorted(map(repr, said_in_replay(eligible)))
        assert said_online(closings) == said_in_replay(from_evidence)


def test_results_do_not_depend_on_the_number_of_processes(tmp_path: Path) -> None:
    """
    Also not their order: that in which the traces began, over all files.
    """
    block = Processing(**RULES).block
    paths: list[Path] = []
    for bundle in BUNDLES[::6]:
        path = tmp_path / f"{len(paths)}.pb"
        path.write_bytes(framed(request for recorded in recordings(bundle) for request in recorded.requests))
        paths.append(path)

    alone, together = replayed(block, *paths), replayed(block, *paths, jobs=3)

    assert len(alone) > 100
    assert alone == together
