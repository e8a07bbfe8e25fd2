"""
The effective configuration as text, secrets masked.
"""

import sys

import yaml

from service.config.root import Config


def effective_configuration(config: Config) -> str:
    """
    *config* as YAML, defaults included. What holds a secret shows asterisks.
    """
    tree = config.model_dump(mode="json", by_alias=True, exclude_none=True)
    return yaml.safe_dump(tree, sort_keys=False, allow_unicode=True, width=120)


def written_configuration(config: Config) -> str:
    """
    What was written to get *config*, on one line. What holds a secret shows asterisks.
    """
    tree = config.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return yaml.safe_dump(tree, sort_keys=False, allow_unicode=True, default_flow_style=True, width=sys.maxsize).strip()
