"""Whether a group's scores differ: what dynamic sampling keeps (DAPO, arXiv 2503.14476, the constraint of Eq. 8)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from strop.errors import ConfigError
from strop.reference.arrays import paired


def has_signal(score: ArrayLike, group: ArrayLike, tolerance: float = 1e-6) -> NDArray[np.bool_]:
    """True at each completion whose group's scores spread by more than `tolerance`.    [B], [B] -> [B]

    Raises:
        ConfigError: a tolerance below 0.
        ValueError: shapes other than [B] and [B]; an id that is no whole number.
    """
    if not tolerance >= 0:
        raise ConfigError(f"has_signal: tolerance is {tolerance}; use 0 or more")
    scores, ids = paired("score", score, group)
    result: list[bool] = []
    for i in ids:
        known = [s for s, g in zip(scores, ids, strict=True) if g == i and not math.isnan(s)]
        result.append(bool(known) and max(known) - min(known) > tolerance)
    return np.array(result, dtype=bool)
