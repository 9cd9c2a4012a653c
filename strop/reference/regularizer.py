"""What else the loss asks for, for one token: the value and its derivative with respect to logp.

KL estimators: http://joschu.net/blog/kl-approx.html; k3 in the loss: GRPO, arXiv 2402.03300 Eq. 4.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from strop.errors import ConfigError
from strop.reference.arrays import Floats, floats
from strop.reference.ratio import BOUND, bounded_exp

ESTIMATORS = ("k1", "k2", "k3", "unbiased")


def kl(logp: ArrayLike, ref_logp: ArrayLike, estimator: str = "k3") -> Floats:
    """KL(policy || reference) estimated on each sampled token.    any shape -> the same shape

    Raises:
        ConfigError: an estimator that is not k1, k2, k3 or unbiased.
        ValueError: two shapes.
    """
    if estimator not in ESTIMATORS:
        raise ConfigError(f"kl: estimator is {estimator!r}; use {', '.join(ESTIMATORS)}")
    logp, ref_logp = floats(logp), floats(ref_logp)
    if logp.shape != ref_logp.shape:
        raise ValueError(f"kl needs logp and ref_logp of one shape, got {[*logp.shape]} and {[*ref_logp.shape]}")
    result = np.zeros(logp.shape)
    for at in np.ndindex(logp.shape):
        result[at] = kl_token(float(logp[at]), float(ref_logp[at]), float(logp[at]), estimator)[0]
    return result


def kl_token(logp: float, ref: float, anchor: float, estimator: str) -> tuple[float, float]:
    """Value and d value / d logp of one token, d = logp - ref clamped to +-20, where its derivative ends.

    k1   d                      1
    k2   d^2 / 2                d
    k3   exp(-d) - 1 + d        1 - exp(-d)
    unbiased   r k3             r k3 + r (1 - exp(-d)), r = exp(logp - anchor)
    """
    d = min(max(logp - ref, -BOUND), BOUND)
    inside = 1.0 if abs(logp - ref) <= BOUND else 0.0
    k3 = math.exp(-d) - 1 + d
    if estimator == "k1":
        return d, inside
    if estimator == "k2":
        return d * d / 2, inside * d
    if estimator == "k3":
        return k3, inside * (1 - math.exp(-d))
    r = bounded_exp(logp - anchor)
    r_moves = 1.0 if abs(logp - anchor) <= BOUND else 0.0
    return r * k3, r_moves * r * k3 + r * inside * (1 - math.exp(-d))
