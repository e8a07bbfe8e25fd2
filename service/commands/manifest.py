"""
`toolscore manifest`: the manifest of the tool selection metric.
"""

import typer
import yaml

from service.manifest import manifest as read_manifest


def manifest() -> None:
    """
    Print the manifest of agent.tool_selection_accuracy as YAML.
    """
    typer.echo(yaml.safe_dump(read_manifest(), sort_keys=False, allow_unicode=True, width=100), nl=False)
