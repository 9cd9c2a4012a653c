"""What a move may earn, for one token: the loss as the papers write it, and its two derivatives.

r is the ratio, A the advantage; logp and anchor are the log-probs that the ratio was made of.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple


class Token(NamedTuple):
    """The loss, d loss / d ratio, d loss / d logp, and whether the gradient was held back as too high, or too low."""

    loss: float
    by_ratio: float
    by_logp: float
    high: bool
    low: bool


def clip(
    r: float, A: float, logp: float, anchor: float, *, low: float = 0.2, high: float = 0.28, dual: float = math.inf
) -> Token:
    """-min(r A, clip(r, 1 - low, 1 + high) A); for A < 0 no worse than -dual A.

    DAPO, arXiv 2503.14476 Eq. 8; the dual clip of arXiv 1912.09729.
    """
    surrogate = min(r * A, min(max(r, 1 - low), 1 + high) * A)
    if A < 0:
        surrogate = max(surrogate, dual * A)
    held = surrogate != r * A
    return Token(-surrogate, 0.0 if held else -A, 0.0, held and r > 1, held and r < 1)


def divergence(
    r: float, A: float, logp: float, anchor: float, *, measure: str, low: float, high: float, cap: float = math.inf
) -> Token:
    """-A sg(M min(r, cap)) (1 + logp - sg(logp)).    DPPO, arXiv 2602.04879 Eq. 12, binary divergences

    M = 0 if A > 0, r > 1 and D > high, or A < 0, r < 1 and D > low. D is D(anchor || policy).
    """
    moved = {"tv": binary_tv, "kl": binary_kl}[measure](anchor, logp)
    too_high = A > 0 and r > 1 and moved > high
    too_low = A < 0 and r < 1 and moved > low
    weight = 0.0 if too_high or too_low else min(r, cap)
    return Token(-A * weight, 0.0, -A * weight, too_high, too_low)


def truncate(r: float, A: float, logp: float, anchor: float, *, cap: float = 5.0) -> Token:
    """-A sg(min(r, cap)) logp.    MiniMax-M1, arXiv 2506.13585 Eq. 4-5; ScaleRL, arXiv 2510.13786 section 4"""
    weight = min(r, cap)
    return Token(-A * weight * logp, 0.0, -A * weight, A != 0 and r > cap, False)


def gate(r: float, A: float, logp: float, anchor: float, *, positive: float = 1.0, negative: float = 1.05) -> Token:
    """-A (4 / tau) sigmoid(tau (r - 1)), tau by the sign of A.    SAPO, arXiv 2511.20347"""
    tau = positive if A > 0 else negative
    s = 1 / (1 + math.exp(-tau * (r - 1)))
    return Token(-A * 4 / tau * s, -A * 4 * s * (1 - s), 0.0, False, False)


def open_(r: float, A: float, logp: float, anchor: float) -> Token:
    """-r A: policy gradient with its importance weight."""
    return Token(-r * A, -A, 0.0, False, False)


def binary_tv(anchor: float, logp: float) -> float:
    """|mu - pi|, the total variation between (mu, 1 - mu) and (pi, 1 - pi)."""
    return abs(math.exp(anchor) - math.exp(logp))


def binary_kl(anchor: float, logp: float) -> float:
    """mu log(mu / pi) + (1 - mu) log((1 - mu) / (1 - pi)), with p kept under 1 - 1e-7 in log(1 - p)."""
    mu, pi = math.exp(anchor), math.exp(logp)
    rest = math.log1p(-min(mu, 1 - 1e-7)) - math.log1p(-min(pi, 1 - 1e-7))
    return mu * (anchor - logp) - math.expm1(anchor) * rest


TRUSTS: dict[str, Callable[..., Token]] = {
    "clip": clip,
    "divergence": divergence,
    "truncate": truncate,
    "gate": gate,
    "open": open_,
}
