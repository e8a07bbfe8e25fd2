"""
`toolscore expectations test`: which expectation each trace of a recording gets, and why.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from service.app.replaying import rules_factory
from service.commands.serve import Expect, read_config
from service.errors import ConfigError
from service.replay.expectations import ExplainedExpectation, explain_expectations
from service.replay.files import UnreadableFile, read_requests
from service.replay.scoring import ReplayRules
from service.replay.traces import collect_traces
from service.scoring.policies import Fit
from service.telemetry.logs import safe

UNRESOLVED = 1
CANNOT_RUN = 2
MARKS = {Fit.FITS: "fits", Fit.DIFFERS: "differs", Fit.OTHER_PARTITION: "differs", Fit.WAITS_FOR_ROOT: "waits"}

Files = Annotated[list[Path], typer.Argument(help="Recorded OTLP, as `toolscore replay` reads it.")]
ConfigFiles = Annotated[
    list[Path], typer.Option("--config", "-c", help="Configuration file; repeat it to lay one over another.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object a line for each trace.")]
FailUnresolved = Annotated[
    bool, typer.Option("--fail-unresolved", help="Exit with 1 if nothing is expected of a trace that could be scored.")
]

expectations = typer.Typer(name="expectations", help="What is expected of traces.", no_args_is_help=True)


@expectations.callback()
def main() -> None:
    """
    What is expected of traces.
    """


@expectations.command("test")
def which_expectation(
    files: Files,
    config: ConfigFiles,
    *,
    expect: Expect = None,
    json: Json = False,
    fail_unresolved: FailUnresolved = False,
) -> None:
    """
    Show for each trace of recordings which entry of `expectations` decides, and why the ones before it do not.
    """
    console = Console()
    unresolved = 0
    try:
        rules = rules_factory(read_config(config, os.environ, expect).tool_scoring)()
        for file in files:
            for explained in _explain(file, rules):
                unresolved += explained.is_eligible and not explained.is_resolved
                if json:
                    typer.echo(msgspec.json.encode(explained).decode())
                else:
                    console.print(_tree(explained))
    except (ConfigError, UnreadableFile) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(CANNOT_RUN) from None
    if unresolved and fail_unresolved:
        typer.echo(f"nothing is expected of {unresolved} traces", err=True)
        raise typer.Exit(UNRESOLVED)


def _explain(file: Path, rules: ReplayRules) -> Iterator[ExplainedExpectation]:
    for trace in collect_traces(read_requests(file), rules.decoding).values():
        yield from explain_expectations(trace, rules, file=str(file))


def _tree(explained: ExplainedExpectation) -> Tree:
    names = {
        "service": explained.service_name,
        "agent": explained.agent_name or "",
        "root": explained.root_span_name,
    }
    told = ", ".join(f"{key} {safe(name)}" for key, name in names.items() if name)
    tree = Tree(Text(f"{safe(explained.occurrence)}  {told}"))
    if not explained.is_eligible:
        tree.add(Text("no TOOL and no LLM span: it is not scored", style="dim"))
        return tree
    for entry in explained.entries:
        style = "green" if entry.fit is Fit.FITS else "dim"
        tree.add(Text(f"{entry.name} {MARKS[entry.fit]}: {safe(entry.why)}", style=style))
    tree.add(Text(_outcome(explained), style="bold" if explained.is_resolved else "yellow"))
    return tree


def _outcome(explained: ExplainedExpectation) -> str:
    if explained.failure is not None:
        return f"{explained.expected_source}: {explained.failure}"
    if not explained.is_resolved:
        return "nothing is expected of it"
    parts = []
    if explained.expected_tools is not None:
        parts.append(f"expects {', '.join(map(safe, explained.expected_tools))}")
    if explained.conditions:
        parts.append(f"conditions {', '.join(explained.conditions)}")
    return f"{explained.expectation} ({explained.expected_source}): {'; '.join(parts)}"
