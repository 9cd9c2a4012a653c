"""One sequence alone through a model, as the formula says it: no padding, no micro-batch, nothing of strop.policy."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn


def distributions(module: nn.Module, prompt_ids: Sequence[int], ids: Sequence[int], temperature: float) -> Tensor:
    """log pi(v | prompt, ids[:t]) of every id v at a temperature, in nats; float32 or wider.    -> [T, V]"""
    device = next(module.parameters()).device
    sequence = torch.tensor([*prompt_ids, *ids], device=device)
    logits = module(input_ids=sequence[None], use_cache=False).logits[0, len(prompt_ids) - 1 : -1]
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return torch.log_softmax(logits / temperature, dim=-1)


def of_tokens(logp_TV: Tensor, ids: Sequence[int]) -> Tensor:
    """The log-prob of each token.    [T, V] -> [T]"""
    return torch.stack([logp_TV[t, token] for t, token in enumerate(ids)])


def entropies(logp_TV: Tensor) -> Tensor:
    """-sum_v p log p, in nats; an id that is ruled out adds nothing.    [T, V] -> [T]"""
    return -(logp_TV.exp() * logp_TV.clamp(min=-1e30)).sum(-1)
