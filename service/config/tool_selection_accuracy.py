"""
The `tool_selection_accuracy` block: the metric's own configuration, accepted as the metric's manifest writes it.
"""

from typing import Annotated

from pydantic import Field

from service.config.values import Block, Switch

ExpectedToolName = Annotated[str, Field(min_length=1, max_length=1024, pattern=r"\S")]
Annotations = dict[str, dict[str, str]]
"""Occurrence (trace id in lower-case hex, or session id) -> column -> text."""


class ToolSelectionAccuracyConfig(Block):
    """
    Which tools a task requires, when nothing more specific says so.
    """

    metric_name: str = Field(
        default="tool_selection_accuracy",
        pattern=r"^[a-z][a-z0-9_]*$",
        max_length=128,
        description="Name of the evaluation in attributes, events and metrics.",
    )
    expected_tools: tuple[ExpectedToolName, ...] | None = Field(
        default=None,
        min_length=1,
        description="Required tools of every occurrence for which no annotation, attribute or policy says otherwise.",
    )
    annotations: Annotations | None = Field(
        default=None,
        description="Required tools of single occurrences: trace or session id, then `expected_tools` as a JSON array "
        "or as names split at commas and newlines.",
    )
    treat_no_calls_as_zero: Switch = Field(
        default=False,
        description="Score an occurrence without any observed tool call 0.0 when it has an annotation of its own and "
        "its evidence is complete.",
    )
