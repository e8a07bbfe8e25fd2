"""
`toolscore healthcheck`: whether a running service is ready, for container health checks.
"""

from typing import Annotated
from urllib.error import URLError
from urllib.request import urlopen

import typer

from service.config.extensions import HEALTH_ENDPOINT

NOT_READY = 1

HealthEndpoint = Annotated[str, typer.Option("--endpoint", help="host:port of the health_check extension.")]
Timeout = Annotated[float, typer.Option("--timeout", help="Seconds to wait for the answer.")]


def healthcheck(*, endpoint: HealthEndpoint = HEALTH_ENDPOINT, timeout: Timeout = 3.0) -> None:
    """
    Exit with 0 if the service at the endpoint is ready, else with 1.
    """
    try:
        with urlopen(f"http://{endpoint}/readyz", timeout=timeout) as answer:  # always http
            typer.echo(answer.read(64).decode(errors="replace").strip())
    except (URLError, OSError, ValueError) as error:
        typer.echo(f"not ready: {error}", err=True)
        raise typer.Exit(NOT_READY) from None
