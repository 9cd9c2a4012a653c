"""Groups in, optimizer batches out: the one place where meaning becomes numbers.

Here advantages and the WEIGHT of every token are fixed, once for each optimizer batch, from the final mask and the
group ids, before anything is split, packed, shuffled or dealt.

    _S  sequences (rows) of the batch, in submission order
    _N  live completion tokens of the batch, sequence by sequence: the tokens that train
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from strop.errors import ConfigError
from strop.objective.aggregation import Counts, count
from strop.objective.objective import Algorithm
from strop.packing import unpacked_floats, unpacked_ints
from strop.types import Completion, Group, Rollout


@dataclass(frozen=True, slots=True)
class Batch:
    """What one optimizer step trains on, or one rank's share of it.

    ids_S is ragged: the prompt and completion of each sequence. live_S marks the sequences that train: a masked one
    (unscorable, or truncated under `mask_truncated`) left before anything was counted. The flat _N columns hold, for
    every live token, its sequence, its weight and the sampler's log-prob; the _NK ones, for a row that reads them, the
    sampler's K most likely ids of its position and their log-probs.
    """

    ids_S: tuple[Tensor, ...]
    prompt_tokens_S: Tensor
    group_S: Tensor
    live_S: Tensor
    advantage_S: Tensor
    seq_N: Tensor
    weight_N: Tensor
    sampler_logp_N: Tensor
    top_ids_NK: Tensor | None = None
    sampler_top_logp_NK: Tensor | None = None

    @property
    def tokens(self) -> int:
        return self.seq_N.numel()


def itself(value: Tensor) -> Tensor:
    return value


@dataclass(frozen=True, slots=True)
class Share:
    """Which sequences of every batch are here: those that are dealt to `rank` of `ranks`; `total` sums over ranks."""

    rank: int = 0
    ranks: int = 1
    total: Callable[[Tensor], Tensor] = itself


WHOLE = Share()
"""The whole batch: one process."""


def build(
    groups: Sequence[Group],
    row: Algorithm,
    *,
    updates: int = 1,
    mask_truncated: bool = False,
    share: Share = WHOLE,
) -> list[Batch]:
    """The `updates` optimizer batches of a step: whole groups, dealt in order, as even as whole groups allow.

    Advantages are taken over all groups of the step (a row may standardize over the batch); weights, and with them the
    counts of prompts, sequences and tokens, over each optimizer batch. Every rank is given all groups and keeps its
    `share` of the sequences of each batch: a group may straddle ranks, and a rank may be left without any. The counts
    of the shares are summed over ranks before a weight is made of them.
    """
    advantage_S = advantages(groups, row)
    first = 0
    batches: list[Batch] = []
    for update in deal(len(groups), updates):
        mine = [groups[i] for i in update]
        rows = sum(len(group.rollouts) for group in mine)
        batches.append(_batch(mine, row, advantage_S[first : first + rows], mask_truncated, share))
        first += rows
    return batches


def advantages(groups: Sequence[Group], row: Algorithm) -> Tensor:
    """Credit of every completion of a step, group by group; 0 for one that could not be scored.    -> [S], float64"""
    rewards = torch.tensor([r.reward for group in groups for r in group.rollouts], dtype=torch.float64)
    owner_S = torch.tensor([i for i, group in enumerate(groups) for _ in group.rollouts], dtype=torch.int64)
    return row.advantage(rewards, owner_S)


def deal(groups: int, updates: int) -> list[range]:
    """Contiguous shares of `groups` whose sizes differ by at most one; none is empty."""
    updates = min(updates, groups)
    edges = [groups * k // updates for k in range(updates + 1)]
    return [range(low, high) for low, high in zip(edges[:-1], edges[1:], strict=True)]


def dealt(tokens_S: Sequence[int], ranks: int) -> list[list[int]]:
    """The sequences of each rank, in their order: longest first, each to the rank that has the fewest tokens yet."""
    shares: list[list[int]] = [[] for _ in range(ranks)]
    load = [0] * ranks
    for s in sorted(range(len(tokens_S)), key=lambda s: (-tokens_S[s], s)):
        rank = load.index(min(load))
        shares[rank].append(s)
        load[rank] += tokens_S[s]
    return [sorted(share) for share in shares]


def _batch(groups: Sequence[Group], row: Algorithm, advantage_S: Tensor, mask_truncated: bool, share: Share) -> Batch:
    every: list[tuple[int, Group, Rollout]] = [(i, g, rollout) for i, g in enumerate(groups) for rollout in g.rollouts]
    alive = [not (rollout.error or mask_truncated and rollout.completion.truncated) for _, _, rollout in every]
    costs = [(len(g.prompt_ids) + r.completion.tokens) * lives for (_, g, r), lives in zip(every, alive, strict=True)]
    mine = dealt(costs, share.ranks)[share.rank]
    rows = [every[s] for s in mine]
    group_S = torch.tensor([i for i, _, _ in rows], dtype=torch.int64)
    live_S = torch.tensor([alive[s] for s in mine], dtype=torch.bool)
    tokens_S = torch.tensor([r.completion.tokens for _, _, r in rows], dtype=torch.int64) * live_S
    seq_N = torch.repeat_interleave(torch.arange(len(rows)), tokens_S)
    live = [every[s][2].completion for s in mine if alive[s]]
    top_ids_NK, sampler_top_logp_NK = tops(live, row) if row.topk else (None, None)
    return Batch(
        ids_S=tuple(torch.tensor([*g.prompt_ids, *r.completion.ids], dtype=torch.int64) for _, g, r in rows),
        prompt_tokens_S=torch.tensor([len(g.prompt_ids) for _, g, _ in rows], dtype=torch.int64),
        group_S=group_S,
        live_S=live_S,
        advantage_S=advantage_S[torch.tensor(mine, dtype=torch.int64)],
        seq_N=seq_N,
        weight_N=row.weights(seq_N, group_S, summed(count(seq_N, group_S, len(groups)), share)),
        sampler_logp_N=torch.tensor([x for c in live for x in c.sampler_logp], dtype=torch.float32),
        top_ids_NK=top_ids_NK,
        sampler_top_logp_NK=sampler_top_logp_NK,
    )


def tops(live: Sequence[Completion], row: Algorithm) -> tuple[Tensor, Tensor]:
    """The sampler's most likely ids of every live token's position, and their log-probs.    -> [N, K], [N, K]

    Raises:
        ConfigError: a completion came without them, or with those of another K.
    """
    for completion in live:
        if unpacked_ints(completion.top_ids).size != completion.tokens * row.topk:
            text = f"looks at the sampler's {row.topk} most likely tokens, and a completion came without them"
            raise ConfigError(f"{row.name} {text}: sample with topk={row.topk}")
    ids = np.concatenate([np.zeros(0, np.int32), *(unpacked_ints(completion.top_ids) for completion in live)])
    logp = np.concatenate([np.zeros(0, np.float32), *(unpacked_floats(completion.top_logp) for completion in live)])
    return torch.tensor(ids, dtype=torch.int64).reshape(-1, row.topk), torch.tensor(logp).reshape(-1, row.topk)


def summed(counts: Counts, share: Share) -> Counts:
    """The counts of a whole batch from those of one rank's share of it."""
    total = share.total(torch.cat([counts.tokens_P, counts.sequences[None]]))
    return Counts(total[:-1], total[-1])
