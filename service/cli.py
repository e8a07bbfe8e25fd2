"""
The command line, `toolscore`.

Nothing but the list of commands: each is a module of `service.commands`.
"""

import typer

from service.commands.demo import demo
from service.commands.expectations import expectations
from service.commands.explain import explain
from service.commands.healthcheck import healthcheck
from service.commands.manifest import manifest
from service.commands.replay import replay
from service.commands.serve import serve
from service.commands.validate import validate

app = typer.Typer(
    name="toolscore",
    help="Scores tool selection and tool order of LLM agents online, from OpenTelemetry traces.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (serve, demo, validate, explain, replay, manifest, healthcheck):
    app.command()(command)
app.add_typer(expectations)


def main() -> None:
    """
    Run the command that the arguments name.
    """
    app()
