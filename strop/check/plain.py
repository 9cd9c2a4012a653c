"""One sequence alone through a model, as the formula says it: no padding, no micro-batch, nothing of strop.policy."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn


def score_alone(
    module: nn.Module, prompt_ids: Sequence[int], ids: Sequence[int], temperature: float
) -> tuple[Tensor, Tensor]:
    """log pi(ids[t] | prompt, ids[:t]) at a temperature, and the entropy of pi there, in nats.    -> [T], [T]"""
    device = next(module.parameters()).device
    sequence = torch.tensor([*prompt_ids, *ids], device=device)
    logits = module(input_ids=sequence[None], use_cache=False).logits[0, len(prompt_ids) - 1 : -1]
    logp = torch.log_softmax(logits / temperature, dim=-1)
    own = torch.stack([logp[t, token] for t, token in enumerate(ids)])
    return own, -(logp.exp() * logp.clamp(min=-1e30)).sum(-1)
