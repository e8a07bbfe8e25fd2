"""
`toolscore explain`: how each span of a recording was read, and what the scorers see of each trace.
"""

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from service.app.processing import build_assessor
from service.app.settings import decode_options
from service.commands.serve import ConfigFiles
from service.config import Config, default_config, load_config
from service.config.root_span import root_condition
from service.errors import ConfigError
from service.pipeline import Signal
from service.replay.explanation import ExplainedSpan, ExplainedTrace, explain_trace
from service.replay.files import RecordedRequest, UnreadableFile, read_log_requests, read_requests
from service.replay.traces import collect_traces, names_of_headers
from service.telemetry.logs import safe

UNREADABLE = 1

Files = Annotated[
    list[Path],
    typer.Argument(
        help="Recorded OTLP: JSON lines or length-prefixed protobuf, also gzipped. Log records may be in other files "
        "than the spans they tell of."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object a line, for machines.")]


def explain(files: Files, config: ConfigFiles = None, *, json: Json = False) -> None:
    """
    Show for each span of recorded traces: kind, the rule that decided it, tool name and where it was read.
    """
    try:
        loaded = load_config(config, os.environ) if config else default_config()
        logs = [request for file in files for request in read_log_requests(file)]
        for file in files:
            for spans, trace in _explain_file(file, logs, loaded):
                _print_json(spans, trace) if json else _print_tree(spans, trace)
    except (ConfigError, UnreadableFile) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(UNREADABLE) from None


def _explain_file(
    file: Path, logs: Sequence[RecordedRequest], config: Config
) -> Iterator[tuple[list[ExplainedSpan], ExplainedTrace]]:
    """
    The traces of one file, with what the log records of all files tell of them.
    """
    block = config.tool_scoring
    assessor = build_assessor(block)
    condition = root_condition(block.root_span_condition)
    requests = [request for request in read_requests(file) if request.signal is Signal.TRACES]
    names = names_of_headers(requests)
    for trace in collect_traces([*requests, *logs], decode_options(block)).values():
        yield explain_trace(trace, assessor, condition, file=str(file), names=names)


def _print_json(spans: list[ExplainedSpan], trace: ExplainedTrace) -> None:
    for item in (*spans, trace):
        typer.echo(msgspec.json.encode(item).decode())


def _print_tree(spans: list[ExplainedSpan], trace: ExplainedTrace) -> None:
    console = Console(soft_wrap=True, highlight=False)
    console.print(span_tree(spans, Text(f"trace {trace.trace_id}", style="bold")))
    calls = ", ".join(safe(call.name) for call in trace.calls) or "none"
    reasons = f" ({', '.join(trace.reasons)})" if trace.reasons else ""
    shape = "none, only an MCP server's spans" if trace.server_only else trace.shape or "none"
    console.print(Text(f"calls: {calls}\nshape: {shape}\ncoverage: {trace.coverage}{reasons}\n"))


def span_tree(spans: list[ExplainedSpan], title: Text) -> Tree:
    """
    The spans as they hang together, each with how it was read. A span whose parent is missing stands at the top.
    """
    tree = Tree(title)
    held = {span.span_id for span in spans}
    below: defaultdict[str | None, list[ExplainedSpan]] = defaultdict(list)
    for span in spans:
        below[span.parent_span_id if span.parent_span_id in held else None].append(span)
    shown: set[str] = set()
    # Spans that only reach each other (a cycle of parents) hang from nothing: the first of them is shown at the top.
    for top in [*below[None], *spans]:
        open_spans = [(tree, top)]
        while open_spans:
            branch, span = open_spans.pop()
            if span.span_id not in shown:
                shown.add(span.span_id)
                branch_below = branch.add(_line(span))
                open_spans.extend((branch_below, child) for child in reversed(below[span.span_id]))
    return tree


def _line(span: ExplainedSpan) -> Text:
    line = Text(f"{span.kind} ", style="bold" if span.kind == "TOOL" else "")
    line.append(safe(span.name), style="cyan")
    line.append(f"  {span.kind_rule}", style="dim")
    for note in _notes(span):
        line.append(f"\n  {safe(note)}", style="dim")
    return line


def _notes(span: ExplainedSpan) -> Iterator[str]:
    if span.tool_name is not None:
        yield f"tool {span.tool_name}, read from {span.tool_name_key}"
    if span.duplicate_of is not None:
        yield f"repeats {span.duplicate_of} ({span.duplicate_rule})"
    if span.executed is False:
        yield "not executed"
    if span.completion is not None:
        yield f"completion {span.completion}"
    for call in span.embedded_calls:
        yield f"asks for {call.name}, read from {call.source}"
    yield from (f"problem {problem}" for problem in span.problems)
