"""
`toolscore demo`: real recordings through the whole service, and a table of their scores.
"""

import asyncio
from collections.abc import Iterator

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from service.app.demo import DemoResult, run_demo
from service.exporter.console import called_names, outcome, shape
from service.pipeline import Signal
from service.processor.outputs import Scored
from service.scoring.assessment import Assessment
from service.telemetry.logs import configure_logging, safe

WIDE = 104
"""Columns that the table takes when nothing in it is broken."""

COLUMNS = {"trace": 8, "agent": 8, "called tools": 14, "selection": 9, "order": 13, "coverage": 10, "trigger": 8}
"""Headings with the width below which a column is hard to read."""


def demo() -> None:
    """
    Start the service with an embedded downstream, send recorded agent traces through it, show their scores.
    """
    configure_logging("error", "console")
    result = asyncio.run(run_demo())
    console = Console()
    console.print(demo_table(result.scored, console.width))
    console.print(_summary(result), highlight=False)
    if result.received[Signal.TRACES] != result.sent_spans:
        raise typer.Exit(1)


def demo_table(scored: list[Scored], width: int = WIDE) -> Table:
    """
    One row for each closing of a trace. On a terminal narrower than `WIDE`, long names may break at their separators.
    """
    table = Table(header_style="bold", title_justify="left", title="Required: search_flights, get_weather, book_hotel")
    table.box, table.padding = SIMPLE_HEAD if width >= WIDE else None, (0, 1, 0, 0)
    for heading, min_width in COLUMNS.items():
        table.add_column(heading, min_width=min_width, overflow="fold", width=None if width >= WIDE else min_width)
    for item in scored:
        table.add_row(*(_breakable(cell, width) for cell in _cells(item)))
    return table


def _cells(item: Scored) -> Iterator[Text]:
    assessment = item.assessment
    results = {evaluation.name: evaluation for evaluation in assessment.evaluations}
    yield Text(assessment.occurrence[:8])
    yield Text(agent_of(assessment))
    yield Text("\n".join(called_names(assessment))).append(f"\n{shape(assessment)}", style="dim")
    for name in ("tool_selection_accuracy", "hotel_last"):
        yield outcome(results[name], separator="\n") if name in results else Text()
    coverage = assessment.evidence.coverage
    yield Text("\n".join((coverage.label, *coverage.reasons)))
    yield Text(item.trigger)


def _breakable(cell: Text, width: int) -> Text:
    if width < WIDE:
        cell.plain = cell.plain.replace("_", " ").replace("-", " ")
    return cell


def agent_of(assessment: Assessment) -> str:
    """
    The agent's name, else that of its service.
    """
    service_name = assessment.root.origin.service_name if assessment.root else ""
    return safe(assessment.agent_name or service_name)


def _summary(result: DemoResult) -> str:
    received = result.received
    return (
        f"{result.sent_spans} spans sent, {received[Signal.TRACES]} received downstream, "
        f"with {received[Signal.LOGS]} evaluation events and {received[Signal.METRICS]} metrics."
    )
