"""
The manifest of tool selection accuracy, as the metric's owner publishes it.

The data stands in `manifest.yaml` and is nobody's to edit here: `toolscore manifest` prints it.
"""

from importlib.resources import files
from typing import Any

import yaml

MANIFEST_FILE = "manifest.yaml"


def manifest() -> dict[str, Any]:
    """
    The manifest as a document.
    """
    document: dict[str, Any] = yaml.safe_load(manifest_text())
    return document


def manifest_text() -> str:
    """
    The manifest as YAML.
    """
    return files("service").joinpath(MANIFEST_FILE).read_text(encoding="utf-8")
