"""
The sample configuration: every key at its default, with its description, around one small example. Pure.
"""

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from service.config.components import type_pattern
from service.config.loading import config_from_tree, config_schema, merged
from service.config.options import Schema, block_of
from service.config.yaml_reader import Value

WIDTH = 118
INDENT = "  "

EXAMPLE: Mapping[str, Value] = {
    "processors": {
        "tool_scoring": {
            "expectations": [
                {
                    "name": "refund",
                    "match": {"service_name": "shop-agent", "agent_name": "refund*"},
                    "expected_tools": ["lookup_order", "issue_refund"],
                    "conditions": [
                        {
                            "condition_type": "tools_called_in_order",
                            "name": "lookup_before_refund",
                            "tools": ["lookup_order", "issue_refund"],
                        }
                    ],
                }
            ]
        }
    },
    "exporters": {"otlp_grpc": {"endpoint": "${env:DOWNSTREAM:-localhost:14317}", "tls": {"insecure": True}}},
    "extensions": {"health_check": {}, "live_page": {}},
    "service": {
        "extensions": ["health_check"],
        "pipelines": {signal: {"exporters": ["otlp_grpc"]} for signal in ("traces", "logs", "metrics")},
    },
}
"""What the sample says beyond defaults."""

_HEAD = """\
# Every key of toolscore with its default. Leave out what you do not change: a file of a few lines is enough.
# Values may hold ${env:NAME}, ${env:NAME:-default} and ${file:path}; a dollar sign is $$.
"""


def sample_configuration() -> str:
    """
    A configuration file that loads, and explains itself.
    """
    schema = config_schema()
    effective = config_from_tree(EXAMPLE, {}).model_dump(mode="json", by_alias=True, exclude_none=True)
    return _HEAD + "\n".join(_block(schema, schema, merged(effective, EXAMPLE), "")) + "\n"


def _block(schema: Schema, block: Schema, tree: Mapping[str, Any], margin: str) -> Iterator[str]:
    for key, field in block["properties"].items():
        yield from _comment(field.get("description", ""), margin)
        if key not in tree:
            yield f"{margin}# {key}:"
        elif "patternProperties" in field and tree[key]:
            yield f"{margin}{key}:"
            yield from _components(schema, field["patternProperties"], tree[key], margin + INDENT)
        else:
            yield from _entry(schema, field, {key: tree[key]}, margin)


def _components(schema: Schema, models: Schema, tree: Mapping[str, Any], margin: str) -> Iterator[str]:
    for component_id, component in tree.items():
        block = block_of(schema, models[type_pattern(component_id)])
        yield f"{margin}{component_id}:"
        if block is not None:
            yield from _block(schema, block, component, margin + INDENT)


def _entry(schema: Schema, field: Schema, entry: Mapping[str, Any], margin: str) -> Iterator[str]:
    (key, value), *_ = entry.items()
    inner = block_of(schema, field)
    if inner is None:
        yield textwrap.indent(_flow(entry), margin)
    else:
        yield f"{margin}{key}:"
        yield from _block(schema, inner, value, margin + INDENT)


def _comment(text: str, margin: str) -> list[str]:
    return [f"{margin}# {line}" for line in textwrap.wrap(text, WIDTH - len(margin))]


def _flow(entry: Mapping[str, Any]) -> str:
    """
    *entry* as YAML, lists of values on one line.
    """
    style = None if any(isinstance(value, list | dict) for value in entry.values()) else False
    text: str = yaml.safe_dump(dict(entry), sort_keys=False, width=1000, default_flow_style=style, allow_unicode=True)
    return text.rstrip("\n")
