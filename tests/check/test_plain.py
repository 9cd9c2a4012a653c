from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from strop.check.plain import distributions, entropies, of_tokens


class Echo(nn.Module):
    """Its logits at a position are the position's id times 1, 2, 3."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3, dtype=torch.float64))

    def forward(self, input_ids: Tensor, use_cache: bool) -> Any:
        logits = input_ids[..., None] * torch.arange(1, 4) * self.scale

        class Out:
            pass

        out = Out()
        out.logits = logits  # type: ignore[attr-defined]
        return out


def test_a_token_is_scored_by_what_stands_before_it() -> None:
    logp_TV = distributions(Echo(), prompt_ids=[9, 2], ids=[1, 0], temperature=0.5)
    assert logp_TV.shape == (2, 3)
    first = [math.exp(2 * v / 0.5) for v in (1, 2, 3)]  # after the prompt's 2
    second = [math.exp(1 * v / 0.5) for v in (1, 2, 3)]  # after the completion's 1
    right = [math.log(first[1] / sum(first)), math.log(second[0] / sum(second))]
    torch.testing.assert_close(of_tokens(logp_TV, [1, 0]), torch.tensor(right, dtype=torch.float64))


def test_a_bfloat16_model_is_scored_in_float32() -> None:
    module = Echo().to(torch.bfloat16)
    assert distributions(module, [1], [2], 1.0).dtype == torch.float32


def test_entropy_in_nats_and_of_an_id_that_is_ruled_out() -> None:
    logp_TV = torch.tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]], dtype=torch.float64).log().requires_grad_()
    value = entropies(logp_TV)
    torch.testing.assert_close(value, torch.tensor([math.log(2), 0.0], dtype=torch.float64))
    value.sum().backward()
    assert logp_TV.grad is not None
    assert bool(logp_TV.grad.isfinite().all())
