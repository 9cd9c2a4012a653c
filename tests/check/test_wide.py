from __future__ import annotations

import torch
from torch import Tensor, nn

from strop.check.cases import blank
from strop.check.wide import widen
from strop.policy.model import checkpoint_activations

IDS = torch.arange(3, 25)[None]


class Casts(nn.Module):
    """What model code does: a norm in float32, angles from whole numbers, a softmax that names its type."""

    def forward(self, x: Tensor) -> Tensor:
        narrow = x.to(torch.float32).pow(2).mean(-1, keepdim=True) + x.float().exp()
        angles = torch.arange(x.shape[-1], device=x.device)[None].float()
        return (narrow @ angles.T + torch.softmax(x, -1, dtype=torch.float32).sum()).to(x.dtype)


def test_what_asks_for_float32_inside_gets_float64() -> None:
    module = Casts()
    x = torch.linspace(0, 1, 7, dtype=torch.float64)[None]
    exact = (x.pow(2).mean() + x.exp()) @ torch.arange(7.0, dtype=torch.float64)[:, None] + 1
    assert (module(x) - exact).abs().max() > 1e-9
    widen(module)
    assert (module(x) - exact).abs().max() < 1e-13


def test_outside_a_widened_module_float32_is_float32() -> None:
    module = Casts()
    widen(module)
    module(torch.zeros(1, 3, dtype=torch.float64))
    assert torch.zeros(1, dtype=torch.float64).float().dtype == torch.float32


def logits(module: nn.Module, ids: Tensor) -> Tensor:
    return module(input_ids=ids, use_cache=False).logits


def test_a_float64_llama_computes_in_float32_inside_until_it_is_widened() -> None:
    module = blank("")
    with torch.no_grad():
        narrow = logits(module, IDS)
        widen(module)
        wide = logits(module, IDS)
    assert 1e-10 < (wide - narrow).abs().max() < 1e-4


def test_a_widened_llama_moves_by_as_much_as_its_weights() -> None:
    """A cast inside would round a move of 1e-12 away, or make it 1e-8."""
    module = blank("")
    widen(module)
    with torch.no_grad():
        before = logits(module, IDS)
        module.get_parameter("model.embed_tokens.weight").mul_(1 + 1e-12)
        moved = (logits(module, IDS) - before).abs().max()
    assert 1e-13 < moved < 1e-10


def test_layers_that_are_recomputed_in_the_backward_pass_are_wide_too() -> None:
    plain, recomputed = blank(""), blank("")
    for module in (plain, recomputed):
        widen(module)
    checkpoint_activations(recomputed.train())  # type: ignore[arg-type]
    for module in (plain, recomputed):
        logits(module, IDS).square().sum().backward()
    for (name, one), other in zip(plain.named_parameters(), recomputed.parameters(), strict=True):
        assert one.grad is not None
        assert other.grad is not None
        assert (one.grad - other.grad).norm() <= 1e-14 * one.grad.norm(), name
