"""
`toolscore serve`: run the service until it is told to stop.
"""

import asyncio
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from service.app.app import App
from service.app.garbage import spare_held_traces
from service.clock import SystemClock
from service.config import Config, ConsoleExporterConfig, advice, default_config, load_config
from service.errors import ConfigError
from service.exporter.console import ConsoleExporter
from service.telemetry.logs import configure_logging

INVALID = 1

ConfigFiles = Annotated[
    list[Path] | None, typer.Option("--config", "-c", help="Configuration file; repeat it to lay one over another.")
]
Expect = Annotated[str | None, typer.Option("--expect", help="Required tools of every trace, separated by commas.")]


def serve(config: ConfigFiles = None, *, expect: Expect = None) -> None:
    """
    Receive OTLP, score traces, pass everything on. Without a configuration: OTLP on localhost, scores on the console.
    """
    try:
        loaded = read_config(config or [], os.environ, expect)
        configure_logging(loaded.service.telemetry.logs.level, loaded.service.telemetry.logs.encoding)
        for path, message in advice(loaded):
            typer.echo(f"warning: {path}: {message}", err=True)
        asyncio.run(_run(loaded))
    except ConfigError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(INVALID) from None


def read_config(files: list[Path], environ: Mapping[str, str], expect: str | None) -> Config:
    """
    The configuration of *files*, or the embedded one, with *expect* as the run-level required tools.
    """
    config = load_config(files, environ) if files else default_config()
    if expect is None:
        return config
    tools = [name.strip() for name in expect.split(",") if name.strip()]
    return with_expected_tools(config, tools)


def with_expected_tools(config: Config, tools: list[str]) -> Config:
    """
    *config* with other run-level required tools. Raises `ConfigError`.
    """
    if not tools:
        raise ConfigError([("--expect", "names no tool")])
    selection = config.tool_scoring.tool_selection_accuracy.model_copy(update={"expected_tools": tuple(tools)})
    scoring = config.tool_scoring.model_copy(update={"tool_selection_accuracy": selection})
    processors = config.processors.model_copy(update={"tool_scoring": scoring})
    return config.model_copy(update={"processors": processors})


async def _run(config: Config) -> None:
    to_console = any(isinstance(exporter, ConsoleExporterConfig) for exporter in config.active_exporters.values())
    app = App(config, SystemClock(), [ConsoleExporter()] if to_console else [])
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, app.processor.membership_changed)
    try:
        await app.start()
        spare_held_traces()
        await stop.wait()
    finally:
        await app.stop()
