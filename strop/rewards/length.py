"""The reward `length`: how near a completion's length in words is to the row's `target_length`.

    1 - |words - target| / target, at least 0

A word is what stands between white space. A run that only wants shorter completions has rollout.overlong, which
counts tokens; this reward is for rows that each ask for a length of their own.
"""

from __future__ import annotations

import math
from typing import Any

from strop.errors import DataError


def score(completion: str, *, target_length: float, **columns: Any) -> dict[str, float]:
    """The nearness from 0 to 1 as `score`, and the number of `words`.

    Raises:
        DataError: the target is no number above 0.
    """
    try:
        target = float(target_length)
    except (TypeError, ValueError, OverflowError):
        target = math.nan
    if not 0 < target < math.inf:
        raise DataError(f"target_length is {str(target_length)[:40]!r}: it must be a number of words above 0")
    words = len(completion.split())
    return {"score": max(0.0, 1.0 - abs(words - target) / target), "words": float(words)}
