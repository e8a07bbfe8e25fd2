"""
`toolscore replay`: recorded traces or stored evidence, scored against any expectations, for people and for CI.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.table import Table
from rich.text import Text

from service.app.replaying import rules_factory
from service.commands.serve import ConfigFiles, Expect, read_config
from service.errors import ConfigError
from service.evaluation import Verdict
from service.replay.files import UnreadableFile
from service.replay.gates import Gates, Tally, read_label, read_threshold
from service.replay.junit import JunitReport
from service.replay.replay import replay as run_replay
from service.replay.results import ReplayLine, ReplayResult
from service.telemetry.logs import safe

GATE_FAILED = 1
CANNOT_RUN = 2
NAME_WIDTH = 12
ROWS = 200
"""Rows of one table: results are printed while they come."""
STYLES = {Verdict.TRUE: "green", Verdict.FALSE: "red", Verdict.UNDETERMINED: "yellow"}

T = TypeVar("T")

Files = Annotated[
    list[Path],
    typer.Argument(
        help="OTLP/JSON lines, length-prefixed OTLP protobuf, or stored evidence, also gzipped; read as one recording."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object a line for each evaluation.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=1, max=256, help="Processes.")]
FailUnder = Annotated[
    list[str] | None,
    typer.Option("--fail-under", help="NAME=VALUE: exit with 1 if the mean of that evaluation is below the value."),
]
FailOn = Annotated[
    list[str] | None,
    typer.Option("--fail-on", help="Exit with 1 if any result has this verdict (false) or status (failed)."),
]
Junit = Annotated[Path | None, typer.Option("--junit", help="Write a JUnit XML report to this file.")]


def replay(
    files: Files,
    config: ConfigFiles = None,
    *,
    expect: Expect = None,
    json: Json = False,
    jobs: Jobs = 1,
    fail_under: FailUnder = None,
    fail_on: FailOn = None,
    junit: Junit = None,
) -> None:
    """
    Score recorded traces or stored evidence. Exits with 1 if a gate is not passed, with 2 if something cannot be read.
    """
    thresholds = _read_options("--fail-under", fail_under, read_threshold)
    labels = _read_options("--fail-on", fail_on, read_label)
    try:
        loaded = read_config(config or [], os.environ, expect)
        gates = Gates(thresholds, labels)
        with _Bars(files) as bars, TemporaryFile() as cases:
            report = JunitReport(cases)
            results = run_replay(files, rules_factory(loaded.tool_scoring), jobs=jobs, progress=bars)
            _print(_counted(results, gates, report), as_json=json)
            _finish(gates, report, junit, as_json=json)
    except (ConfigError, UnreadableFile, OSError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(CANNOT_RUN) from None


def _read_options(option: str, texts: list[str] | None, read: Callable[[str], T]) -> list[T]:
    try:
        return [read(text) for text in texts or ()]
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None


def _counted(results: Iterator[ReplayResult], gates: Gates, report: JunitReport) -> Iterator[ReplayResult]:
    for result in results:
        gates.add(result)
        if not result.is_superseded:
            report.add(result, is_broken=gates.breaks(result.line))
        yield result


def _print(results: Iterator[ReplayResult], *, as_json: bool) -> None:
    if as_json:
        for result in results:
            typer.echo(result.line.to_json())
        return
    console = Console()
    rows: list[ReplayResult] = []
    for result in results:
        rows.append(result)
        if len(rows) == ROWS:
            console.print(_table(rows))
            rows.clear()
    if rows:
        console.print(_table(rows))


def _finish(gates: Gates, report: JunitReport, junit: Path | None, *, as_json: bool) -> None:
    failures = gates.failures()
    if junit is not None:
        report.write(junit, failures)
    if not as_json:
        Console().print(Text(), _summary(gates), sep="\n")
    for failure in failures:
        typer.echo(f"{failure.gate}: {failure.message}", err=True)
    if failures:
        raise typer.Exit(GATE_FAILED)


def _table(results: list[ReplayResult]) -> Table:
    """
    An occurrence is named in its first row only.
    """
    table = Table(header_style="bold", box=None)
    for heading in ("occurrence", "evaluation", "result"):
        table.add_column(heading, no_wrap=True)
    for heading in ("why", "coverage"):
        table.add_column(heading, overflow="fold")
    told = ""
    for result in results:
        line = result.line
        occurrence = safe(line.occurrence)[:NAME_WIDTH] if line.occurrence != told else ""
        told = line.occurrence
        reasons = f": {', '.join(line.reasons)}" if line.reasons else ""
        why = "; ".join(filter(None, (result.reason, result.explanation)))
        table.add_row(
            Text(occurrence), Text(line.evaluation), _outcome(line), Text(safe(why)), f"{line.coverage}{reasons}"
        )
    return table


def _outcome(line: ReplayLine) -> Text:
    revision = f", revision {line.revision}" if line.revision else ""
    if line.label is not None:
        return Text(f"{line.label}{revision}", style=STYLES[line.label])
    if line.score is None:
        return Text(f"{line.status}{revision}", style="yellow")
    return Text(f"{line.score:.2f}{revision}", style="green" if line.score == 1 else "red")


def _summary(gates: Gates) -> Table:
    table = Table(header_style="bold", box=None)
    for heading in ("evaluation", "results", "numbers", "mean", "true", "false", "undetermined"):
        table.add_column(heading, overflow="fold")
    for name, tally in gates.tallies.items():
        table.add_row(name, str(tally.results), str(tally.scored), _mean(tally), *_verdicts(tally))
    return table


def _mean(tally: Tally) -> str:
    return "" if tally.mean is None else f"{tally.mean:.3f}"


def _verdicts(tally: Tally) -> Iterator[str]:
    return (str(tally.labels.get(verdict, "")) for verdict in Verdict)


class _Bars(ExitStack):
    """
    Progress bars on the error output, if that is a terminal. Implements `service.replay.replay.Progress`.
    """

    def __init__(self, files: list[Path]) -> None:
        super().__init__()
        console = Console(stderr=True)
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._reading = self._bars.add_task("reading", total=sum(file.stat().st_size for file in files))
        self._scoring = self._bars.add_task("scoring", total=None)
        self.enter_context(self._bars)

    def read(self, size: int) -> None:
        self._bars.advance(self._reading, size)

    def scored(self, done: int, total: int) -> None:
        self._bars.update(self._scoring, completed=done, total=total)
        if done == total:
            self._bars.stop()
