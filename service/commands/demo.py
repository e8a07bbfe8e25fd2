"""
`toolscore demo`: real recordings through the whole service, and a table of their scores.
"""

import asyncio

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from service.app.demo import DemoResult, run_demo
from service.exporter.console import called_tools, coverage, outcome, shape
from service.pipeline import Signal
from service.processor.outputs import Scored
from service.scoring.assessment import Assessment
from service.telemetry.logs import configure_logging, safe


def demo() -> None:
    """
    Start the service with an embedded downstream, send recorded agent traces through it, show their scores.
    """
    configure_logging("error", "console")
    result = asyncio.run(run_demo())
    console = Console()
    console.print(demo_table(result.scored))
    console.print(_summary(result), highlight=False)
    if result.received[Signal.TRACES] != result.sent_spans:
        raise typer.Exit(1)


def demo_table(scored: list[Scored]) -> Table:
    """
    One row for each closing of a trace.
    """
    table = Table(header_style="bold", title_justify="left", title="Required: search_flights, get_weather, book_hotel")
    for heading in ("trace", "agent", "called tools", "read from", "selection", "order", "coverage", "trigger"):
        table.add_column(heading, overflow="fold")
    for item in scored:
        assessment = item.assessment
        results = {evaluation.name: outcome(evaluation) for evaluation in assessment.evaluations}
        table.add_row(
            assessment.occurrence[:8],
            Text(agent_of(assessment)),
            Text(called_tools(assessment)),
            shape(assessment),
            results.get("tool_selection_accuracy", Text()),
            results.get("hotel_last", Text()),
            coverage(assessment),
            item.trigger,
        )
    return table


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
