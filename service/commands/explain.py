"""
`toolscore explain`: how each span of a recording was read, and what the scorers see of each trace.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from service.app.processing import build_assessor
from service.app.settings import decode_options
from service.commands.serve import ConfigFiles
from service.config import Config, default_config, load_config
from service.config.root_span import root_condition
from service.errors import ConfigError
from service.replay.explanation import ExplainedSpan, ExplainedTrace, explain_trace
from service.replay.files import UnreadableFile, read_requests
from service.replay.traces import collect_traces
from service.telemetry.logs import safe

UNREADABLE = 1

Files = Annotated[
    list[Path], typer.Argument(help="Recorded OTLP: JSON lines or length-prefixed protobuf, also gzipped.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object a line, for machines.")]


def explain(files: Files, config: ConfigFiles = None, *, json: Json = False) -> None:
    """
    Show for each span of recorded traces: kind, the rule that decided it, tool name and where it was read.
    """
    try:
        loaded = load_config(config, os.environ) if config else default_config()
        for file in files:
            for spans, trace in _explain_file(file, loaded):
                _print_json(spans, trace) if json else _print_tables(spans, trace)
    except (ConfigError, UnreadableFile) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(UNREADABLE) from None


def _explain_file(file: Path, config: Config) -> Iterator[tuple[list[ExplainedSpan], ExplainedTrace]]:
    block = config.tool_scoring
    assessor = build_assessor(block)
    condition = root_condition(block.root_span_condition)
    for trace in collect_traces(read_requests(file), decode_options(block)).values():
        yield explain_trace(trace, assessor, condition, file=str(file))


def _print_json(spans: list[ExplainedSpan], trace: ExplainedTrace) -> None:
    for item in (*spans, trace):
        typer.echo(msgspec.json.encode(item).decode())


def _print_tables(spans: list[ExplainedSpan], trace: ExplainedTrace) -> None:
    console = Console()
    table = Table(title=f"trace {trace.trace_id}", title_justify="left", header_style="bold", box=None)
    for heading in ("span", "name", "kind", "rule", "tool", "read from", "notes"):
        table.add_column(heading, overflow="fold")
    for span in spans:
        table.add_row(
            span.span_id,
            Text(safe(span.name)),
            span.kind,
            span.kind_rule,
            Text(safe(span.tool_name or "")),
            span.tool_name_key or "",
            Text(safe("; ".join(_notes(span)))),
        )
    console.print(table)
    reasons = f" ({', '.join(trace.reasons)})" if trace.reasons else ""
    calls = ", ".join(safe(call.name) for call in trace.calls) or "none"
    console.print(Text(f"calls: {calls}; shape: {trace.shape or 'none'}; coverage: {trace.coverage}{reasons}\n"))


def _notes(span: ExplainedSpan) -> Iterator[str]:
    if span.duplicate_of:
        yield f"repeats {span.duplicate_of} ({span.duplicate_rule})"
    if span.executed is False:
        yield "not executed"
    if span.completion and span.kind == "LLM":
        yield f"completion {span.completion}"
    for call in span.embedded_calls:
        yield f"asks for {call.name} ({call.source})"
    yield from span.problems
