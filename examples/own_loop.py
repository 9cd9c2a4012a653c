"""strop's objective inside a bare PyTorch loop: your model, your sampler, your optimizer, and no trainer.

    python examples/own_loop.py

The policy is a table of logits over 8 answers of up to 4 symbols; the reward asks for ascending symbols. The three
calls to strop are the whole of DAPO's mathematics: which groups have signal, what each completion earns, what each
token weighs. The weights are taken once for the batch; the micro-batches below only add up their shares.
"""

from __future__ import annotations

import torch

import strop

PROMPTS, COMPLETIONS, SYMBOLS, LENGTH, END = 6, 8, 5, 4, 0

generator = torch.Generator().manual_seed(0)
logits = torch.zeros(PROMPTS, LENGTH, SYMBOLS, requires_grad=True)
optimizer = torch.optim.Adam([logits], lr=0.1)
row = strop.algorithm("dapo", aggregation="prompt")
group = torch.arange(PROMPTS).repeat_interleave(COMPLETIONS)


def sample() -> tuple[torch.Tensor, torch.Tensor]:
    """Symbols and the mask of the sampled ones: a completion ends at its first END, which counts."""
    probabilities = logits.detach().softmax(-1)[group].reshape(-1, SYMBOLS)
    ids = torch.multinomial(probabilities, 1, generator=generator).reshape(len(group), LENGTH)
    ended = (ids == END).cumsum(-1) - (ids == END).long() > 0
    return ids, ~ended


def logp(ids: torch.Tensor, rows: slice = slice(None)) -> torch.Tensor:
    return logits[group[rows]].log_softmax(-1).gather(-1, ids[rows, :, None]).squeeze(-1)


def score(ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """1 for an answer of at least two symbols, each larger than the one before."""
    steps = (ids[:, 1:] > ids[:, :-1]) | ~mask[:, 1:] | (ids[:, 1:] == END)
    return (steps.all(-1) & ((ids != END) & mask).sum(-1).ge(2)).double()


for step in range(60):
    ids, mask = sample()
    right = score(ids, mask)
    keep = strop.has_signal(right, group)
    if step % 10 == 9:
        print(f"step {step + 1:3d}   accuracy {right.mean():.2f}   groups with signal {int(keep.sum()) // COMPLETIONS}")
    if not keep.any():
        continue
    reward = right + strop.soft_overlong(mask.sum(-1).double(), max_tokens=LENGTH, buffer=2, penalty=0.2)
    advantage = strop.advantages(reward, group)
    live = mask & keep[:, None]
    weight = strop.token_weights(live, group, aggregation="prompt")
    old_logp = logp(ids).detach()
    for _ in range(2):
        optimizer.zero_grad()
        for part in (slice(0, 20), slice(20, 48)):  # any split gives the same gradient: the weights are fixed above
            out = strop.policy_loss(
                row,
                logp=logp(ids, part),
                old_logp=old_logp[part],
                advantage=advantage[part],
                mask=live[part],
                group=group[part],
                weight=weight[part],
            )
            out.value.backward()
        optimizer.step()
