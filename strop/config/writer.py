"""A Config as a YAML file that a person can read and `load` reads back: every key, its value and its source."""

from __future__ import annotations

import re
from typing import Any

import yaml

from strop.config.reader import SCALARS
from strop.config.schema import LEAVES, Config

COLUMN = 44


class Dumper(yaml.SafeDumper):
    """Quotes every text that YAML 1.1 or 1.2 would read as something else."""


for _name, _pattern, _first in SCALARS:
    Dumper.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", re.compile(f"^(?:{_pattern})$"), [*_first])


def to_yaml(config: Config) -> str:
    """One line for each key, in the order of the schema, its source as a comment."""
    lines: list[str] = []
    open_sections: list[str] = []
    for key in LEAVES:
        *sections, name = key.split(".")
        for depth, section in enumerate(sections):
            if open_sections[: depth + 1] != sections[: depth + 1]:
                lines.append(f"{'  ' * depth}{section}:")
        open_sections = sections
        setting = f"{'  ' * len(sections)}{name}: {scalar(config.value(key))}"
        lines.append(f"{setting:<{COLUMN}}  # {config.sources[key]}")
    return "\n".join(lines) + "\n"


def scalar(value: Any) -> str:
    """A value in one line of YAML, read alike by YAML 1.1 and 1.2."""
    text = yaml.dump(value, Dumper=Dumper, default_flow_style=True, sort_keys=False, width=float("inf"))
    return text.removesuffix("\n").removesuffix("\n...").strip()
