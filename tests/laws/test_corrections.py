"""What must be true of every row under every correction of the sampler's mismatch."""

from __future__ import annotations

import numpy as np
import pytest

from strop.algorithms import KINDS, ROWS
from strop.metrics import merge
from tests.laws.batches import error, random_batch, row_of, same_metrics, taken
from tests.objective.twins import Reference, Torch

EVERY_CORRECTION = pytest.mark.parametrize("kind", list(KINDS["correction"]))
OLD_ROWS = pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.anchor == "old"])


@OLD_ROWS
@EVERY_CORRECTION
@pytest.mark.parametrize("seed", range(3))
def test_every_row_under_every_correction_is_the_reference(name: str, kind: str, seed: int) -> None:
    row, batch = row_of(name, correction=kind), random_batch(seed, spread=0.8)
    ours, theirs = Torch().policy_loss(row, **batch), Reference().policy_loss(row, **batch)
    assert ours.value == pytest.approx(theirs.value, rel=1e-12, abs=1e-13)
    assert error(ours.gradient, theirs.gradient) < 1e-12
    assert error(ours.loss, theirs.loss) < 1e-12
    same_metrics(ours.metrics, theirs.metrics)
    acted = "dropped" if kind.endswith("mask") else "capped"
    assert 0 < ours.metrics[f"correction/{acted}"].mean < 1


@OLD_ROWS
@EVERY_CORRECTION
def test_no_partition_changes_a_corrected_gradient(name: str, kind: str) -> None:
    rng = np.random.default_rng(7)
    row, batch = row_of(name, correction=kind), random_batch(8, spread=0.8)
    batch["weight"] = Reference().token_weights(batch["mask"], batch["group"], row.aggregation)
    whole = Torch().policy_loss(row, **batch)
    gradient, metrics = np.zeros_like(whole.gradient), []
    for rows in np.array_split(rng.permutation(12), 5):
        part = Torch().policy_loss(row, **taken(batch, rows))
        gradient[rows] += part.gradient
        metrics.append(part.metrics)
    assert error(gradient, whole.gradient) < 1e-12
    same_metrics(merge(metrics), whole.metrics)
