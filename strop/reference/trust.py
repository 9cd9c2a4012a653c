"""What a move may earn, for one token: the loss as the papers write it, and its two derivatives.

r is the ratio, A the advantage; logp and anchor are the log-probs that the ratio was made of. A geometric mean couples
the tokens of a completion: it is written for all of them at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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
    r: float,
    A: float,
    logp: float,
    anchor: float,
    *,
    measure: str,
    low: float,
    high: float,
    cap: float = math.inf,
    topk: int = 0,
    others: Sequence[tuple[float, float]] = (),
) -> Token:
    """-A sg(M min(r, cap)) (1 + logp - sg(logp)).    DPPO, arXiv 2602.04879 Eq. 12, 15-16

    M = 0 if A > 0, r > 1 and D > high, or A < 0, r < 1 and D > low. D is D(anchor || policy): binary for topk 0, else
    over buckets, `others` being the log-probs (anchor's, policy's) of the anchor's topk tokens without the sampled one.
    """
    if topk:
        moved = {"tv": bucket_tv, "kl": bucket_kl}[measure](buckets(anchor, logp, others))
    else:
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


def gamma(
    r: float,
    A: float,
    logp: float,
    anchor: float,
    *,
    k_positive: float = 2.0,
    lambda_positive: float = 3.0,
    k_negative: float = 3.0,
    lambda_negative: float = 2.0,
) -> Token:
    """-A sg(phi(r)) logp, phi(r) = r^k exp(lambda (1 - r)).    VESPO, arXiv 2602.10693 section 3.4"""
    k, rate = (k_negative, lambda_negative) if A < 0 else (k_positive, lambda_positive)
    phi = r**k * math.exp(rate * (1 - r))
    held = A != 0 and phi < 0.5
    return Token(-A * phi * logp, 0.0, -A * phi, held and r > 1, held and r < 1)


class Completion(NamedTuple):
    """The tokens of one completion under a geometric mean: `by_ratio[t][u]` is d loss_t / d r_u."""

    loss: list[float]
    by_ratio: list[list[float]]
    high: list[bool]
    low: list[bool]


def geometric(r: Sequence[float], A: Sequence[float], *, low: float = 0.4, high: float = 0.4) -> Completion:
    """-A_t (product over u of r_u^sgn(A) clipped)^(1/L), clipped in log space to -low and high, each on one side.

    GMPO, arXiv 2507.20673. log r_u becomes min(log r_u, high) where A_u > 0, max(log r_u, -low) where A_u < 0.
    """
    logs = [math.log(x) for x in r]
    too_high = [a > 0 and x > high for x, a in zip(logs, A, strict=True)]
    too_low = [a < 0 and x < -low for x, a in zip(logs, A, strict=True)]
    allowed = [high if up else -low if down else x for x, up, down in zip(logs, too_high, too_low, strict=True)]
    s = math.exp(sum(allowed) / len(allowed))
    by_ratio = [
        [0.0 if up or down else -a * s / len(r) / x for x, up, down in zip(r, too_high, too_low, strict=True)]
        for a in A
    ]
    return Completion([-a * s for a in A], by_ratio, too_high, too_low)


def open_(r: float, A: float, logp: float, anchor: float) -> Token:
    """-r A: policy gradient with its importance weight."""
    return Token(-r * A, -A, 0.0, False, False)


def buckets(anchor: float, logp: float, others: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Probabilities (anchor's, policy's) of the sampled token, of each of the others, and of all that are left."""
    known = [(math.exp(m), math.exp(p)) for m, p in ((anchor, logp), *others)]
    rest = (1 - sum(m for m, _ in known), 1 - sum(p for _, p in known))
    return [*known, (max(rest[0], 1e-12), max(rest[1], 1e-12))]


def bucket_tv(pairs: list[tuple[float, float]]) -> float:
    """Half the sum of |mu - pi|."""
    return sum(abs(mu - pi) for mu, pi in pairs) / 2


def bucket_kl(pairs: list[tuple[float, float]]) -> float:
    """The sum of mu log(mu / pi), without the buckets where mu is 0."""
    return sum(mu * (math.log(mu) - math.log(pi) if pi else math.inf) for mu, pi in pairs if mu)


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
    "gamma": gamma,
    "open": open_,
}
"""Those of one token. The other is `geometric`, of a whole completion."""
