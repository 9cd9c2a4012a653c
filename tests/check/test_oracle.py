from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import strop
from strop import reference
from strop.check.oracle import Oracle, padded
from strop.check.trials import CHANGED, made_row, row_of
from tests.check.beds import hard_case, oracle_of


def test_arrays_of_unlike_length_are_filled_up_with_nan() -> None:
    grid = padded([np.array([1.0]), torch.tensor([2.0, 3.0], dtype=torch.bfloat16)])
    np.testing.assert_array_equal(grid, [[1.0, np.nan], [2.0, 3.0]])
    assert padded([np.zeros((2, 3)), np.zeros((1, 3))]).shape == (2, 2, 3)


@pytest.mark.parametrize(("name", "objective"), [("dapo", {}), ("gspo", {}), CHANGED[0], CHANGED[1]])
def test_the_gradient_is_the_slope_of_the_loss(name: str, objective: dict[str, Any]) -> None:
    """By finite differences: move the policy along a direction, score it anew, and read the reference's loss."""
    case = hard_case()
    row = row_of(made_row(name, **objective))
    truth = oracle_of().truth(row)
    generator = torch.Generator().manual_seed(0)
    step = 1e-6
    directions = {
        part: torch.randn(weight.shape, generator=generator, dtype=torch.float64)
        for part, weight in case.models.policy.named_parameters()
    }

    def value(size: float) -> float:
        models = case.models.to(torch.float64)
        with torch.no_grad():
            for part, weight in models.policy.named_parameters():
                weight.add_(directions[part], alpha=size)
        moved = Oracle(replace(case, models=models))
        fixed = {k: v for k, v in oracle_of().streams.items() if k not in ("logp", "entropy")}
        given = {**fixed, "logp": moved.streams["logp"], "entropy": moved.streams["entropy"]}
        group = [i for i, _, _ in case.live]
        return reference.policy_loss(row, advantage=moved.advantages(row), group=group, **given).value

    slope = (value(step) - value(-step)) / (2 * step)
    along = sum(float((truth.gradient[part] * direction).sum()) for part, direction in directions.items())
    assert slope == pytest.approx(along, rel=1e-6)


@pytest.mark.parametrize("name", ["dapo_prompt", "dppo_tv", "grpo", "scalerl", "vespo"])
def test_the_oracle_is_the_public_loss_of_one_padded_forward(name: str) -> None:
    case, oracle = hard_case(), oracle_of()
    row = row_of(made_row(name))
    module = oracle.case.models.policy
    width = case.longest
    ids, mask = [], []
    for _, group, rollout in case.live:
        sequence = [*group.prompt_ids, *rollout.completion.ids]
        ids.append(sequence + [0] * (width - len(sequence)))
        live = range(len(group.prompt_ids), len(sequence))
        mask.append([t in live for t in range(1, width)])
    ids_BT, mask_BT = torch.tensor(ids), torch.tensor(mask)
    logits = module(input_ids=ids_BT, use_cache=False).logits[:, :-1] / case.temperature
    logp = torch.log_softmax(logits, -1).gather(-1, ids_BT[:, 1:, None]).squeeze(-1)

    def spread(stream: str) -> torch.Tensor:
        values = oracle.streams[stream]
        return torch.zeros_like(logp).masked_scatter(mask_BT, torch.tensor(values[~np.isnan(values)]))

    streams = {name: spread(name) for name in ("old_logp", "ref_logp", "sampler_logp")}
    group_B = torch.tensor([i for i, _, _ in case.live])
    advantage = torch.tensor(oracle.advantages(row), dtype=torch.float64)
    out = strop.policy_loss(row, logp=logp, advantage=advantage, mask=mask_BT, group=group_B, **streams)
    found = torch.autograd.grad(out.value, list(module.parameters()))
    truth = oracle.truth(row)
    for (part, right), gradient in zip(truth.gradient.items(), found, strict=True):
        assert (gradient - right).norm() <= 1e-12 * right.norm(), part
    assert out.value.item() == pytest.approx(truth.metrics["loss"].total, rel=1e-12)


def test_advantages_are_taken_over_all_groups_and_kept_for_the_first_update() -> None:
    """A row that standardizes over the batch sees the whole step, however many updates it is dealt into."""
    case = hard_case()
    row = row_of(made_row("scalerl"))
    whole = oracle_of().advantages(row)
    half = Oracle(replace(case, models=oracle_of().case.models, updates=2)).advantages(row)
    assert half == whole[: len(half)]
    assert 0 < len(half) < len(whole)


def test_a_right_answer_is_worked_out_once() -> None:
    row = row_of(made_row("dapo"))
    assert oracle_of().truth(row) is oracle_of().truth(row)


def test_the_scale_of_a_loss_is_the_loss_without_its_signs() -> None:
    truth = oracle_of().truth(row_of(made_row("grpo")))
    assert truth.scale > abs(truth.metrics["loss"].total)
