"""Whether what a program printed, or a function returned, is what was wanted."""

from __future__ import annotations

import math
import re
from typing import Any

CLOSE = 1e-6
DECIMAL = re.compile(r"[+-]?(?:\d+\.\d*|\.\d+|\d+(?:\.\d*)?[eE][+-]?\d+|\d+)", re.ASCII)


def same_output(printed: str, wanted: str) -> bool:
    """Whether two texts say the same line by line, word by word, whatever blanks stand between and behind.

    A number with a point or an exponent may be off by 1e-6, absolute or relative.
    """
    ours, theirs = lines_of(printed), lines_of(wanted)
    return len(ours) == len(theirs) and all(map(same_line, ours, theirs))


def lines_of(text: str) -> list[list[str]]:
    lines = [line.split() for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def same_line(ours: list[str], theirs: list[str]) -> bool:
    return ours == theirs or (len(ours) == len(theirs) and all(map(same_word, ours, theirs)))


def same_word(ours: str, theirs: str) -> bool:
    if ours == theirs:
        return True
    both = DECIMAL.fullmatch(ours) and DECIMAL.fullmatch(theirs)
    if not both or (ours + theirs).strip("+-0123456789") == "":
        return False
    return close(float(ours), float(theirs))


def same_value(found: Any, wanted: Any) -> bool:
    """Whether a value is the one wanted, which came from JSON: a tuple is a list, and a key is its text.

    Floats may be off by 1e-6, absolute or relative.
    """
    if isinstance(found, tuple | list) and isinstance(wanted, tuple | list):
        return len(found) == len(wanted) and all(map(same_value, found, wanted))
    if isinstance(found, dict) and isinstance(wanted, dict):
        ours, theirs = ({str(key): value for key, value in each.items()} for each in (found, wanted))
        return ours.keys() == theirs.keys() and all(same_value(ours[key], theirs[key]) for key in ours)
    if isinstance(found, int | float) and isinstance(wanted, int | float):
        exact = isinstance(found, int) and isinstance(wanted, int)
        return found == wanted or (not exact and close(found, wanted))
    return type(found) is type(wanted) and bool(found == wanted)


def close(ours: float, theirs: float) -> bool:
    """Whether two numbers are nearly one; what is beyond all floats is close to nothing, and a nan only to a nan."""
    try:
        if not (math.isfinite(ours) and math.isfinite(theirs)):
            return math.isnan(ours) and math.isnan(theirs)
        return math.isclose(ours, theirs, rel_tol=CLOSE, abs_tol=CLOSE)
    except OverflowError:
        return False
