"""What a sampler whose log-probs are not the trainer's does to a token: a constant factor, token by token.

Sources: https://fengyao.notion.site/off-policy-rl (token_truncate), https://richardli.xyz/rl-collapse (sequences),
arXiv 2510.18855 (token_mask). rho_t = old / mu.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from strop.reference.arrays import Batch
from strop.reference.ratio import bounded_exp, mean_log_ratio, sum_log_ratio, token_log_ratio


class Factor(NamedTuple):
    """What the token's policy loss is multiplied by, and whether it was dropped or capped."""

    value: float
    dropped: bool
    capped: bool


def factor(correction: Any, mismatch: Batch, i: int, t: int) -> Factor:
    """The factor of token t of completion i. `mismatch` holds old_logp where a batch has logp, and mu as its anchor."""
    token = bounded_exp(token_log_ratio(mismatch, i, t))
    product = bounded_exp(sum_log_ratio(mismatch, i))
    if correction.kind in ("token_truncate", "sequence_truncate"):
        rho = token if correction.kind == "token_truncate" else product
        return Factor(min(rho, correction.cap), False, rho > correction.cap)
    if correction.kind == "token_mask":
        decides, weight = token, token
    else:
        decides = product if correction.mean == "product" else bounded_exp(mean_log_ratio(mismatch, i))
        weight = {"product": product, "token": token, "one": 1.0}[correction.times]
    kept = correction.low <= decides <= correction.high
    return Factor(weight if kept else 0.0, not kept, False)
