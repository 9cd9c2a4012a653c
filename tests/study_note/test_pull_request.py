"""The easy mistakes of a public pull request about DAPO's mean (huggingface/trl 5381), and of DAPO's relatives."""

from __future__ import annotations

import numpy as np
import pytest

import strop
from strop.algorithms import ROWS
from tests.objective.twins import Torch, close, rows_of


def test_the_mean_per_prompt_is_not_the_mean_per_completion() -> None:
    mask, loss = rows_of([1, 3, 2, 6], [6, 2, -3, 2])
    row_means = (mask * loss).sum(1) / mask.sum(1)
    by_prompt = Torch().token_weights(mask, [0, 0, 1, 1], "prompt")
    close(row_means.reshape(2, 2).mean(1).mean(), 7 / 4)
    close((by_prompt * loss).sum(), 15 / 8)


def test_a_prompt_mean_survives_a_shuffle_that_breaks_up_its_groups() -> None:
    """Taken naively inside micro-batches {1, 3}, {2, 4} it gives 1."""
    mask, loss = rows_of([1, 3, 2, 6], [6, 2, -3, 2])
    weight = Torch().token_weights(mask, [0, 0, 1, 1], "prompt")
    naive = [(mask[part] * loss[part]).sum() / mask[part].sum() for part in ([0, 2], [1, 3])]
    close(np.mean(naive), 1.0)
    close(sum((weight[part] * loss[part]).sum() for part in ([0, 2], [1, 3])), 15 / 8)


@pytest.mark.parametrize("name", list(ROWS))
def test_accumulated_gradients_are_those_of_one_big_batch_in_every_row(name: str) -> None:
    """Not only the logged loss: two trainers of that pull request lost a divisor in the gradient."""
    row = strop.algorithm(name, length=6)
    mask, _ = rows_of([1, 3, 2, 6, 4])
    rng = np.random.default_rng(0)
    old = np.log(rng.beta(2, 2, mask.shape))
    moved = {
        "logp": old + 1e-3 * rng.standard_normal(mask.shape),
        "old_logp": old,
        "sampler_logp": old,
        "ref_logp": old,
    }
    batch = {**moved, "mask": mask, "group": np.array([0, 0, 1, 1, 2]), "advantage": rng.standard_normal(5)}
    batch["weight"] = Torch().token_weights(mask, batch["group"], row.aggregation)
    whole = Torch().policy_loss(row, **batch).gradient
    parts = [
        Torch().policy_loss(row, **{key: value[rows] for key, value in batch.items()}) for rows in ([0, 3, 4], [2, 1])
    ]
    found = np.concatenate([part.gradient for part in parts])[[0, 4, 3, 1, 2]]
    assert np.linalg.norm(found - whole) < 1e-12 * np.linalg.norm(whole)


def test_no_row_overrides_the_mean_that_was_asked_for() -> None:
    for name in ROWS:
        for kind in ("token", "prompt", "sequence"):
            assert strop.algorithm(name, aggregation=kind).aggregation.kind == kind


def test_dr_grpo_centres_and_divides_by_a_constant_both() -> None:
    row = ROWS["dr_grpo"]
    assert (row.advantage.kind, row.aggregation.kind) == ("centered", "constant")


def test_dppo_is_anchored_on_the_sampler_and_not_on_rescored_log_probs() -> None:
    for name in ("dppo_tv", "dppo_kl"):
        assert ROWS[name].reads == {"sampler_logp"}


def test_cispos_cap_is_the_weight_itself() -> None:
    """One name, three parameterisations: a cap of 0.2 read as a weight would cut every token to a fifth."""
    row = strop.algorithm("cispo", trust={"kind": "truncate", "cap": 5})
    old = np.full((1, 3), -2.0)
    batch = {"logp": old + np.log([[1.0, 4.0, 7.0]]), "old_logp": old, "mask": old != 0, "group": [0]}
    close(Torch().policy_loss(row, **batch, advantage=[1.0]).gradient, [[-1 / 3, -4 / 3, -5 / 3]])
