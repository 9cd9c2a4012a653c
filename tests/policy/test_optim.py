"""AdamW as the trainer uses it: warm-up by update, the norm of the whole gradient, fp32 masters for narrow weights."""

from __future__ import annotations

import pytest
import torch
from torch.nn import Parameter

from strop.policy.optim import AdamW, Optimizer


def test_the_rate_rises_over_the_warm_up_and_then_stays() -> None:
    settings = AdamW(1e-3, warmup_updates=4)
    assert [settings.rate(update) for update in range(6)] == pytest.approx([2.5e-4, 5e-4, 7.5e-4, 1e-3, 1e-3, 1e-3])
    assert AdamW(1e-3).rate(0) == 1e-3


def test_the_first_step_is_that_of_torch_adamw_on_the_clipped_gradient() -> None:
    weight = Parameter(torch.tensor([1.0, -2.0], dtype=torch.float64))
    twin = Parameter(weight.detach().clone())
    weight.grad = torch.tensor([3.0, 4.0], dtype=torch.float64)
    twin.grad = weight.grad / (5.0 + 1e-6)
    optimizer = Optimizer([weight], AdamW(0.1, weight_decay=0.01, max_grad_norm=1.0))
    optimizer.step(optimizer.gradient_norm())
    torch.optim.AdamW([twin], lr=0.1, weight_decay=0.01).step()
    assert torch.allclose(weight, twin, rtol=0, atol=1e-15)
    assert weight.grad is None


def test_a_bf16_weight_moves_under_steps_smaller_than_its_spacing() -> None:
    """At 1e-3 a step on a weight of 1.0 is below bf16's spacing of 0.0078: without a master it would never move."""
    weight = Parameter(torch.ones(4, dtype=torch.bfloat16))
    optimizer = Optimizer([weight], AdamW(1e-3))
    for _ in range(20):
        weight.sum().backward()
        optimizer.step(optimizer.gradient_norm())
    assert weight.dtype == torch.bfloat16
    assert weight.float().tolist() == pytest.approx([0.98] * 4, abs=0.004)
    assert optimizer.masters[0].tolist() == pytest.approx([0.98] * 4, abs=1e-4)


def test_a_checkpoint_keeps_moments_counts_and_masters() -> None:
    wide, narrow = Parameter(torch.ones(2)), Parameter(torch.ones(2, dtype=torch.bfloat16))
    optimizer = Optimizer([wide, narrow], AdamW(1e-3))
    (wide.sum() + narrow.sum()).backward()
    optimizer.step(optimizer.gradient_norm())
    kept = optimizer.tensors()
    assert set(kept) == {f"{i}.{name}" for i in (0, 1) for name in ("exp_avg", "exp_avg_sq", "step")} | {"1.master"}
    assert kept["0.step"].item() == 1


def test_gradients_of_narrow_weights_are_summed_over_micro_batches_in_fp32() -> None:
    """A thousand bf16 gradients of 0.001: summed in bf16 they would stop at 0.5."""
    weight = Parameter(torch.zeros(1, dtype=torch.bfloat16))
    optimizer = Optimizer([weight], AdamW(1e-3))
    for _ in range(1000):
        (weight * 0.001).sum().backward()
    assert optimizer.gradient_norm() == pytest.approx(1.0, rel=0.01)
    assert weight.grad is None
