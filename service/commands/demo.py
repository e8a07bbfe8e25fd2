"""
`toolscore demo`: real recordings through the whole service, and a table of their scores; with `--serve`, on and on,
under the live page.
"""

import asyncio
import signal
from collections.abc import Iterator
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from service.app.demo import DemoResult, run_demo
from service.app.live_demo import run_live_demo
from service.config.extensions import LIVE_PAGE_ENDPOINT
from service.config.values import split_endpoint
from service.errors import ConfigError
from service.exporter.console import called_names, outcome, shape
from service.pipeline import Signal
from service.processor.outputs import Scored
from service.scoring.assessment import Assessment
from service.telemetry.logs import configure_logging, safe

WIDE = 108
"""Columns that the table takes when nothing in it is broken."""

COLUMNS = {"trace": 8, "agent": 8, "called tools": 14, "selection": 9, "order": 13, "coverage": 10, "trigger": 8}
"""Headings with the width below which a column is hard to read."""


Serve = Annotated[bool, typer.Option("--serve", help="Keep running, with fresh traces and the live page.")]
PageEndpoint = Annotated[str, typer.Option("--endpoint", help="Address of the live page, with --serve.")]


def demo(*, serve: Serve = False, endpoint: PageEndpoint = LIVE_PAGE_ENDPOINT) -> None:
    """
    Start the service with an embedded downstream, send recorded agent traces through it, show their scores.
    """
    configure_logging("error", "console")
    if serve:
        _serve_until_told(endpoint)
    else:
        _show_once()


def _show_once() -> None:
    result = asyncio.run(run_demo())
    console = Console()
    console.print(demo_table(result.scored, console.width))
    console.print(summary(result), highlight=False)
    if result.received[Signal.TRACES] != result.sent_spans:
        raise typer.Exit(1)


def _serve_until_told(endpoint: str) -> None:
    try:
        asyncio.run(_serve(endpoint))
    except ConfigError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None


async def _serve(endpoint: str) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    host = split_endpoint(endpoint)[0] or "localhost"

    def announce(port: int) -> None:
        typer.echo(f"Live page: http://{host}:{port}/ (a fresh trace every two seconds; Ctrl-C ends it)")

    await run_live_demo(stop, announce, endpoint=endpoint)


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


def summary(result: DemoResult) -> str:
    """
    What became of the spans that were sent.
    """
    received = result.received
    return (
        f"{result.sent_spans} spans sent, {received[Signal.TRACES]} received downstream, "
        f"with {received[Signal.LOGS]} evaluation events and {received[Signal.METRICS]} metrics."
    )
