"""A line of the map of names, and how its cells are read.

A cell is names between commas: a setting, `setting=value`, or a word of the peer's. What stands in brackets after a
name is a remark. "" where the peer has nothing of the kind.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

NAME = re.compile(r"(?P<name>[^,()]+?)\s*(?:\((?P<remark>[^)]*)\))?\s*(?:,|$)")


@dataclass(frozen=True, slots=True)
class Line:
    """What strop calls a thing ("" where it has none), what that is, and what each peer calls it."""

    ours: str
    meaning: str
    trl: str = ""
    verl: str = ""
    openrlhf: str = ""
    nemo: str = ""
    skyrl: str = ""
    slime: str = ""
    prime_rl: str = ""
    tinker: str = ""


PLAIN = frozenset({"default", "same names", "built in", "inherent", "custom", "custom reducer", "forced by gspo"})
"""Cells that describe, and are no names."""


def names(cell: str) -> list[tuple[str, str]]:
    """Each name of a cell and its remark, "" without one."""
    return [(found["name"].strip(), found["remark"] or "") for found in NAME.finditer(cell)]
