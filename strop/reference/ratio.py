"""How far the policy moved: one ratio per token, and what it hands back to each token's log-prob.

Sources: PPO, arXiv 1707.06347 (token); GSPO, arXiv 2507.18071 Eq. 7 (sequence) and Eq. 14 (sequence_token); VESPO,
arXiv 2602.10693 (sequence_product).
"""

from __future__ import annotations

import math

from strop.reference.arrays import Batch, Grid

BOUND = 20.0


def bounded_exp(log_ratio: float) -> float:
    return math.exp(min(max(log_ratio, -BOUND), BOUND))


def ratios(kind: str, batch: Batch) -> Grid:
    """The ratio at every live token. Both forms of GSPO have the sequence's value."""
    result = batch.zeros()
    for i, t in batch.live:
        result[i][t] = bounded_exp(log_ratio(kind, batch, i, t))
    return result


def log_ratio(kind: str, batch: Batch, i: int, t: int) -> float:
    """Of the token itself, summed over its sequence, or averaged over it."""
    if kind == "token":
        return token_log_ratio(batch, i, t)
    return sum_log_ratio(batch, i) if kind == "sequence_product" else mean_log_ratio(batch, i)


def token_log_ratio(batch: Batch, i: int, t: int) -> float:
    return batch.logp[i][t] - batch.anchor[i][t]


def sum_log_ratio(batch: Batch, i: int) -> float:
    return sum(token_log_ratio(batch, i, t) for t in batch.steps(i))


def mean_log_ratio(batch: Batch, i: int) -> float:
    return sum_log_ratio(batch, i) / len(batch.steps(i))


def hand_back(kind: str, slope: Grid, ratio: Grid, batch: Batch) -> Grid:
    """d loss / d logp through the ratio, from slope = d loss / d ratio at every token.

    token              d r_t / d logp_t = r_t
    sequence           d s   / d logp_u = s / L   for every u of the sequence
    sequence_token     d s_t / d logp_t = s       its own token only
    sequence_product   d w   / d logp_u = w       for every u of the sequence
    """
    result = batch.zeros()
    for i, t in batch.live:
        if kind != "sequence_token" and abs(log_ratio(kind, batch, i, t)) > BOUND:
            continue
        steps = [t] if kind in ("token", "sequence_token") else batch.steps(i)
        for u in steps:
            result[i][u] += slope[i][t] * ratio[i][t] / (len(steps) if kind == "sequence" else 1)
    return result
