"""How far the policy moved: one ratio per token, and what it hands back to each token's log-prob.

Sources: PPO, arXiv 1707.06347 (token); GSPO, arXiv 2507.18071 Eq. 7 (sequence) and Eq. 14 (sequence_token).
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
        log_ratio = token_log_ratio(batch, i, t) if kind == "token" else mean_log_ratio(batch, i)
        result[i][t] = bounded_exp(log_ratio)
    return result


def token_log_ratio(batch: Batch, i: int, t: int) -> float:
    return batch.logp[i][t] - batch.anchor[i][t]


def mean_log_ratio(batch: Batch, i: int) -> float:
    steps = batch.steps(i)
    return sum(token_log_ratio(batch, i, t) for t in steps) / len(steps)


def hand_back(kind: str, slope: Grid, ratio: Grid, batch: Batch) -> Grid:
    """d loss / d logp through the ratio, from slope = d loss / d ratio at every token.

    token            d r_t / d logp_t = r_t
    sequence         d s   / d logp_u = s / L   for every u of the sequence
    sequence_token   d s_t / d logp_t = s       its own token only
    """
    result = batch.zeros()
    for i, t in batch.live:
        if kind == "sequence_token" or (kind == "token" and abs(token_log_ratio(batch, i, t)) <= BOUND):
            result[i][t] += slope[i][t] * ratio[i][t]
        elif kind == "sequence" and abs(mean_log_ratio(batch, i)) <= BOUND:
            for u in batch.steps(i):
                result[i][u] += slope[i][t] * ratio[i][t] / len(batch.steps(i))
    return result
