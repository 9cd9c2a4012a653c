"""Soft overlong punishment, DAPO Eq. 13 (arXiv 2503.14476), its three cases written as three cases."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from strop.errors import ConfigError
from strop.reference.arrays import Floats, floats


def soft_overlong(length: ArrayLike, *, max_tokens: int, buffer: int, penalty: float = 1.0) -> float | Floats:
    """What completions of these lengths lose.    a number -> a number, an array -> an array

    Raises:
        ConfigError: a buffer outside 0 to max_tokens, or a penalty that is negative or not finite.
        ValueError: a length below 0, or NaN.
    """
    if max_tokens < 1 or not 0 <= buffer <= max_tokens or not 0 <= penalty < math.inf:
        raise ConfigError(f"soft overlong: buffer {buffer}, max_tokens {max_tokens}, penalty {penalty} cannot be")
    lengths = floats(length)
    result = np.zeros(lengths.shape)
    for at in np.ndindex(lengths.shape):
        if not lengths[at] >= 0:
            raise ValueError(f"length{[*at] if at else ''} is {lengths[at]:g}: a completion has 0 tokens or more")
        result[at] = one(float(lengths[at]), max_tokens, buffer) * penalty
    return result if result.shape else float(result)


def one(length: float, max_tokens: int, buffer: int) -> float:
    """R_length of Eq. 13, between -1 and 0."""
    if length <= max_tokens - buffer:
        return 0.0
    if length <= max_tokens:
        return (max_tokens - buffer - length) / buffer
    return -1.0
