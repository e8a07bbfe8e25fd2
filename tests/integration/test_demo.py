"""
The demo: its table is computed from the recordings that go through the service.
"""

import gzip
from pathlib import Path

from rich.console import Console

from service.app.demo import RECORDINGS, run_demo
from service.commands.demo import WIDE, demo_table, summary
from service.documentation import README
from service.evidence import Trigger
from service.pipeline import Signal
from service.processor.outputs import Scored

SEQUENTIAL = "agent_framework_sequential.jsonl.gz"


def results(scored: list[Scored]) -> dict[str, tuple[float | None, str | None]]:
    """
    Selection score and order verdict by trace.
    """
    found: dict[str, tuple[float | None, str | None]] = {}
    for item in scored:
        by_name = {evaluation.name: evaluation for evaluation in item.assessment.evaluations}
        found[item.assessment.occurrence[:8]] = (
            by_name["tool_selection_accuracy"].score,
            by_name["hotel_last"].label,
        )
    return found


async def test_the_demo_scores_every_bundled_recording_and_loses_no_span() -> None:
    result = await run_demo()

    assert {
        "ef91229d": (1.0, "true"),
        "1aa9b91b": (1.0, "undetermined"),
        "9e02f484": (1.0, "undetermined"),
        "3fa191c0": (1.0, "false"),
        "6bccd571": (2 / 3, "false"),
        "b0395750": (2 / 3, "undetermined"),
    } == results(result.scored)
    assert result.sent_spans == result.received[Signal.TRACES]
    assert 12 == result.received[Signal.LOGS]
    assert {Trigger.ROOT_SPAN, Trigger.IDLE_TIMEOUT} == {item.trigger for item in result.scored}


def printed(scored: list[Scored]) -> list[str]:
    """
    The lines of the table on a terminal on which nothing is broken.
    """
    console = Console(width=WIDE, record=True)
    console.print(demo_table(scored))
    return [line.rstrip() for line in console.export_text().splitlines() if line.strip()]


async def test_the_readme_shows_what_the_demo_prints() -> None:
    shown = README.read_text(encoding="utf-8").split("```\nRequired: ")[1].split("```")[0].splitlines()

    result = await run_demo()

    assert set(printed(result.scored)) == {"Required: " + shown[0], *shown[1:-1]}
    assert shown[-1] == summary(result)


async def test_another_tool_name_in_a_recording_changes_the_table(tmp_path: Path) -> None:
    recording = gzip.decompress((RECORDINGS / SEQUENTIAL).read_bytes())
    edited = recording.replace(b"get_weather", b"get_forecast")
    (tmp_path / SEQUENTIAL).write_bytes(gzip.compress(edited))

    result = await run_demo(tmp_path)

    assert {"ef91229d": (2 / 3, "false")} == results(result.scored)
    table = "\n".join(printed(result.scored))
    assert "get_forecast" in table
    assert "0.67" in table
