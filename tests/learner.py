"""A tiny float64 model and hand-made groups: what the tests of the learner are made of."""

from __future__ import annotations

import random
from collections.abc import Sequence

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from strop.policy.model import Policy
from strop.types import Completion, Group, Prompt, Rollout

VOCABULARY = 23


def tiny_llama(*, seed: int = 0, dtype: torch.dtype = torch.float64) -> LlamaForCausalLM:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        config = LlamaConfig(
            vocab_size=VOCABULARY,
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=64,
            initializer_range=0.3,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
        )
        return LlamaForCausalLM(config).to(dtype).eval()


def nudged(module: LlamaForCausalLM, size: float, *, seed: int = 1) -> LlamaForCausalLM:
    """A copy whose every weight is moved a little: an old policy, or a reference."""
    generator = torch.Generator().manual_seed(seed)
    twin = tiny_llama(dtype=module.dtype)
    twin.load_state_dict(module.state_dict())
    with torch.no_grad():
        for parameter in twin.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.add_(noise.to(parameter.dtype), alpha=size)
    return twin


def ragged_groups(sizes: Sequence[int] = (4, 2, 3), *, seed: int = 0, longest: int = 12) -> list[Group]:
    """Groups of unequal size with completions of unequal length; the first completion of each is truncated."""
    rng = random.Random(seed)
    groups: list[Group] = []
    for draw, size in enumerate(sizes):
        prompt = tuple(rng.randrange(3, VOCABULARY) for _ in range(rng.randrange(1, 6)))
        rollouts = [rollout(rng, longest, score=float(i % 2), truncated=i == 0) for i in range(size)]
        groups.append(Group(draw * 7, Prompt(f"p{draw}", "?"), prompt, tuple(rollouts)))
    return groups


def rollout(rng: random.Random, longest: int, *, score: float, truncated: bool) -> Rollout:
    length = longest if truncated else rng.randrange(1, longest)
    ids = tuple(rng.randrange(3, VOCABULARY) for _ in range(length))
    logp = tuple(-3.0 + rng.random() for _ in range(length))
    completion = Completion(ids, logp, "", "length" if truncated else "stop", 0)
    return Rollout(completion, score, -0.25 * rng.random())


def gradients(policy: Policy) -> dict[str, torch.Tensor]:
    return {name: p.grad.clone() for name, p in policy.module.named_parameters() if p.grad is not None}


def gradient_error(found: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> float:
    """The worst tensor's |g - g*| / max(|g*|, 1e-6 |all g*|), norms over the tensor."""
    assert found.keys() == right.keys()
    whole = float(torch.sqrt(sum((g**2).sum() for g in right.values())))
    return max(
        float((found[name] - g).norm()) / max(float(g.norm()), 1e-6 * whole, 1e-300) for name, g in right.items()
    )
