from __future__ import annotations

import pytest
import torch

import strop
from strop.bridges.hard import MASKED, HardBatch, exact_gradient, hard_batch
from strop.objective.padded import policy_loss


def ratio(batch: HardBatch) -> torch.Tensor:
    return (batch.logp - batch.old_logp).exp()


@pytest.mark.parametrize("masked", [True, False])
def test_every_bound_of_the_clip_binds_on_both_sides_and_some_tokens_are_free(masked: bool) -> None:
    batch = hard_batch(masked=masked)
    up, down = ratio(batch) > 1.28, ratio(batch) < 0.8
    good, bad = (batch.advantage > 0)[:, None] & batch.mask, (batch.advantage < 0)[:, None] & batch.mask
    for tokens in (up & good, up & bad, down & good, down & bad, ~up & ~down & batch.mask):
        assert int(tokens.sum()) >= 2
    assert (batch.advantage == 0).any()


def test_the_four_means_lie_apart_with_and_without_masked_completions() -> None:
    for masked in (True, False):
        batch = hard_batch(masked=masked)
        assert bool((batch.mask.sum(1) == 0).any()) is masked
        means = [exact_gradient(strop.algorithm("dapo", aggregation=m), batch) for m in ("token", "prompt", "sequence")]
        for i, left in enumerate(means):
            for right in means[i + 1 :]:
                assert (left - right).norm() > 0.05 * left.norm()


def test_the_exact_gradient_is_the_one_of_the_shipped_loss() -> None:
    batch = hard_batch()
    for name in ("dapo_prompt", "grpo", "gspo_token", "dppo_tv"):
        row = strop.algorithm(name, length=12)
        logp = batch.logp.clone().requires_grad_()
        streams = {name: getattr(batch, name) for name in batch.__slots__ if name != "logp"}
        policy_loss(row, logp=logp, **streams).value.backward()
        assert logp.grad is not None
        torch.testing.assert_close(logp.grad, exact_gradient(row, batch), rtol=1e-12, atol=1e-14)


def test_rows_are_taken_with_all_that_belongs_to_them() -> None:
    part = hard_batch().rows(torch.tensor([13, 1]))
    assert part.mask.sum(1).tolist() == [0, 12]
    assert part.group.tolist() == [0, 1]
    assert part.logp.shape == (2, 12)
    assert MASKED[1] == 13
