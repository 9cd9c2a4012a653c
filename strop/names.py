"""Did you mean: of the names that there are, those nearest to a wrong one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

CUTOFF = 0.6
TIE = 0.03


def likeness(left: str, right: str) -> float:
    """How alike two names are, from 0 to 1."""
    return SequenceMatcher(None, left, right, autojunk=False).ratio()


def nearest(word: str, names: Iterable[str], *, most: int = 2) -> list[str]:
    """The names most like `word`, best first: the best and those about as good; none if none is near."""
    ranked = sorted(((likeness(word.lower(), name.lower()), name) for name in names), key=lambda pair: -pair[0])
    if not ranked or ranked[0][0] < CUTOFF:
        return []
    return [name for score, name in ranked if score >= ranked[0][0] - TIE][:most]


def did_you_mean(names: list[str]) -> str:
    """'; did you mean a or b?', or nothing."""
    return f"; did you mean {' or '.join(names)}?" if names else ""
