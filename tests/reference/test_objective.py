"""The gradients written by hand, against central differences of the value: an oracle checks itself first."""

from __future__ import annotations

import numpy as np
import pytest

import strop
from strop.algorithms import ROWS
from tests.laws.batches import error, random_batch, row_of

reference = strop.reference


# Rows whose loss freezes a weight have no gradient that a difference of the value could show: test_trust has theirs.
DIFFERENTIABLE = [name for name, row in ROWS.items() if row.trust.kind not in ("truncate", "divergence", "gamma")]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
@pytest.mark.parametrize("seed", range(2))
def test_the_gradient_by_hand_is_the_slope_of_the_value(name: str, seed: int) -> None:
    batch, row, step = random_batch(seed, completions=5, prompts=3, width=4), row_of(name), 1e-6
    found = reference.policy_loss(row, **batch).gradient
    slope = np.zeros_like(found)
    for at in np.ndindex(found.shape):
        up, down = batch["logp"].copy(), batch["logp"].copy()
        up[at], down[at] = up[at] + step, down[at] - step
        above, below = (reference.policy_loss(row, **{**batch, "logp": logp}).value for logp in (up, down))
        slope[at] = (above - below) / (2 * step)
    assert error(found, slope) < 1e-7


def test_the_metrics_are_counts_and_sums_of_live_tokens() -> None:
    batch = random_batch(3)
    metrics = reference.policy_loss(ROWS["dapo"], **batch).metrics
    live = batch["mask"] == 1
    ratio = np.exp(batch["logp"] - batch["old_logp"])[live]
    assert metrics["ratio"].weight == live.sum()
    assert metrics["ratio"].mean == pytest.approx(ratio.mean())
    assert metrics["ratio/max"].mean == pytest.approx(ratio.max())
    assert metrics["ratio/min"].mean == pytest.approx(ratio.min())
    assert metrics["entropy"].mean == pytest.approx(batch["entropy"][live].mean())
