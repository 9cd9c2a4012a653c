"""What a window of a real TRL run should have: its gradient, made from what was sampled, without TRL.

Rows go one by one and unpadded through the model in float64; log-probs by log_softmax, groups by their prompts, which
are all different, slopes of the loss by strop.reference.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import strop
from strop import reference
from strop.check.wide import widen
from strop.reference.objective import Loss

LETTERS = "abcd"
LONGEST = 7
TEMPERATURE = 0.8


@dataclass(frozen=True)
class Sampled:
    """A completion, the weights of its time, and every completion of its generation batch with its prompt.

    A rollout function gives the sampler's log-probs and a mask too: else `sampler` is None and `mask` all 1.
    """

    prompt: tuple[int, ...]
    completion: tuple[int, ...]
    mask: tuple[int, ...]
    sampler: tuple[float, ...] | None
    weights: dict[str, Tensor]
    batch: list[tuple[tuple[int, ...], tuple[int, ...]]]
    process: int


def make_model(*, double: bool) -> Any:
    """A random Llama of one layer, whose completions end early now and then."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(3)
    config = LlamaConfig(
        **{"vocab_size": len(LETTERS) + 2, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1},
        **{"num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 64},
        **{"initializer_range": 0.3, "pad_token_id": 0, "eos_token_id": 1, "bos_token_id": None},
    )
    return LlamaForCausalLM(config).to(torch.float64 if double else torch.float32)


def right(completion: tuple[int, ...]) -> float | None:
    """A reward that differs inside most groups and is often neither 0 nor 1; now and then there is none."""
    return None if sum(completion) % 9 == 4 else (sum(completion) % 5) / 4


def odd(completion: tuple[int, ...]) -> float | None:
    return None if len(completion) == 3 or sum(completion) % 18 == 4 else float(len(completion) % 2)


REWARDS = (right, odd)
REWARD_WEIGHTS = (1.0, 0.25)


def score(completion: tuple[int, ...]) -> float:
    """The weighted sum of the rewards that there are; NaN where there is none."""
    values = [(give(completion), weight) for give, weight in zip(REWARDS, REWARD_WEIGHTS, strict=True)]
    given = [value * weight for value, weight in values if value is not None]
    return sum(given) if given else math.nan


def exact_model(weights: dict[str, Tensor]) -> Any:
    model = make_model(double=True)
    model.load_state_dict({name: value.double() for name, value in weights.items()})
    widen(model)
    return model


def scored(model: Any, row: Sampled) -> tuple[Tensor, Tensor]:
    """Log-probs of a completion's tokens, alone and unpadded, and the entropies there.    -> [L], [L]"""
    logits = model(input_ids=torch.tensor([[*row.prompt, *row.completion]])).logits[0, len(row.prompt) - 1 : -1]
    table = (logits / TEMPERATURE).log_softmax(-1)
    return table.gather(-1, torch.tensor(row.completion)[:, None])[:, 0], -(table.exp() * table).sum(-1)


def expected(
    row: strop.Algorithm, weights: dict[str, Tensor], trained: list[tuple[Sampled, bool]], start: dict[str, Tensor]
) -> tuple[dict[str, Tensor], Loss]:
    """The gradient of the formula over these rows as one batch, and its loss with its metrics."""
    rows = [one for one, _ in trained]
    prompts = sorted({one.prompt for one in rows})
    model, first = exact_model(weights), exact_model(start)
    both = [scored(model, one) for one in rows]
    with torch.no_grad():
        writers = {id(one.weights): one.weights for one in rows}
        models = {key: exact_model(state) for key, state in writers.items()}
        old = [scored(models[id(one.weights)], one)[0] for one in rows]
        ref = [scored(first, one)[0] for one in rows]
    sampler = [mine if one.sampler is None else torch.tensor(one.sampler) for one, mine in zip(rows, old, strict=True)]
    live = [lives * torch.tensor(one.mask) for one, lives in trained]
    if "sampler_logp" in row.reads:
        live = [mask * mu.isfinite() for mask, mu in zip(live, sampler, strict=True)]
    out = reference.policy_loss(
        row,
        logp=padded([logp for logp, _ in both]),
        entropy=padded([entropy for _, entropy in both]),
        old_logp=padded(old),
        sampler_logp=padded(sampler),
        ref_logp=padded(ref),
        advantage=np.array([advantage(row, one) for one in rows]),
        mask=padded(live),
        group=np.array([prompts.index(one.prompt) for one in rows]),
    )
    slopes = zip(both, torch.from_numpy(out.gradient), torch.from_numpy(out.entropy_gradient), strict=True)
    parts = [(logp * a[: len(logp)] + entropy * b[: len(logp)]).sum() for (logp, entropy), a, b in slopes]
    torch.stack(parts).sum().backward()
    return {name: value.grad.clone() for name, value in model.named_parameters()}, out


def padded(values: list[Tensor]) -> np.ndarray:
    return nn.utils.rnn.pad_sequence([value.detach() for value in values], batch_first=True).numpy()


def advantage(row: strop.Algorithm, one: Sampled) -> float:
    """The row's advantage of a completion among all of its generation batch. Prompts are all different."""
    prompts = sorted({prompt for prompt, _ in one.batch})
    rewards = np.array([np.float32(score(done)) for _, done in one.batch])
    group = np.array([prompts.index(prompt) for prompt, _ in one.batch])
    credits = reference.advantages(rewards, group, row.advantage)
    return float(credits[one.batch.index((one.prompt, one.completion))])
