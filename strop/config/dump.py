"""A configuration as YAML text, which `load` reads back to the same configuration."""

from __future__ import annotations

import yaml

from strop.config.schema import Config


def to_yaml(config: Config) -> str:
    """Every resolved value, in the order of the schema."""
    return yaml.safe_dump(config.dump(), sort_keys=False, allow_unicode=True)
