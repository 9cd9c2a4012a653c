"""The right answer: loss, metrics and gradient of an optimizer batch from strop.reference and one sequence at a time.

In float64. Weights, advantages and the loss with its derivative by hand are those of strop.reference, plain loops over
the whole padded batch; log-probs come from each sequence alone; the gradient is the product of the derivative by
log-prob with the model's own. Nothing here is shared with batch.build, batch.split, policy.step or strop.objective.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from strop import reference
from strop.algorithms import Algorithm
from strop.check.cases import Case
from strop.check.plain import distributions, entropies, of_tokens
from strop.metrics import Metrics
from strop.packing import unpacked_floats, unpacked_ints
from strop.types import Completion

Grid = NDArray[np.float64]
"""[B, T], or [B, T, K]: a row per live sequence, padded with nan."""


Tick = Callable[[str, int, int], None]
"""progress(phase, done, total)"""


@dataclass(frozen=True, slots=True)
class Truth:
    """The gradient of a batch by parameter name, its metrics, and `scale`: its loss, had all tokens the same sign."""

    gradient: dict[str, Tensor]
    metrics: Metrics
    scale: float


def silent(phase: str, done: int, total: int) -> None:
    """Nobody watches."""


@dataclass(slots=True)
class Oracle:
    """The oracle of a case, whose models are in float64. Log-probs are scored once and serve every row.

    With narrower models it says what the narrower dtype costs, without any layout.
    """

    case: Case
    tick: Tick = silent
    streams: dict[str, Grid] = field(default_factory=dict)
    truths: dict[Algorithm, Truth] = field(default_factory=dict)

    def __post_init__(self) -> None:
        models, completions = self.case.models, self.completions
        with torch.no_grad():
            every = [self.distributions(models.policy, i) for i in range(len(completions))]
            self.streams["logp"] = padded([of_tokens(e, c.ids) for e, c in zip(every, completions, strict=True)])
            self.streams["entropy"] = padded([entropies(e) for e in every])
            self.streams["old_logp"] = self.scored(models.old)
            self.streams["ref_logp"] = self.scored(models.reference)
        self.streams["sampler_logp"] = padded([np.array(c.sampler_logp, np.float32) for c in completions])
        self.streams["mask"] = np.where(np.isnan(self.streams["logp"]), 0.0, 1.0)
        if all(c.top_ids for c in completions):
            self.streams |= self.tops(every)

    @property
    def completions(self) -> list[Completion]:
        """Those that train."""
        return [rollout.completion for _, _, rollout in self.case.live]

    def distributions(self, module: nn.Module, i: int) -> Tensor:
        _, group, rollout = self.case.live[i]
        return distributions(module, group.prompt_ids, rollout.completion.ids, self.case.temperature)

    def scored(self, module: nn.Module) -> Grid:
        self.tick("oracle", 0, len(self.completions))
        return padded([of_tokens(self.distributions(module, i), c.ids) for i, c in enumerate(self.completions)])

    def tops(self, every: Sequence[Tensor]) -> dict[str, Grid]:
        """What sampler and policy say of the ids that the sampler told, and which of them was sampled.    [B, T, K]"""
        ids = [unpacked_ints(c.top_ids).reshape(c.tokens, -1) for c in self.completions]
        picked = [
            e.gather(1, torch.tensor(i, dtype=torch.int64, device=e.device)) for e, i in zip(every, ids, strict=True)
        ]
        sampled = [i == np.array(c.ids)[:, None] for i, c in zip(ids, self.completions, strict=True)]
        told = [unpacked_floats(c.top_logp).reshape(c.tokens, -1) for c in self.completions]
        return {"top_logp": padded(picked), "top_is_sampled": padded(sampled), "sampler_top_logp": padded(told)}

    def truth(self, row: Algorithm) -> Truth:
        """Loss, metrics and gradient of the batch under a row, worked out once."""
        if row not in self.truths:
            self.truths[row] = self.worked_out(row)
        return self.truths[row]

    def worked_out(self, row: Algorithm) -> Truth:
        group = [i for i, _, _ in self.case.live]
        loss = reference.policy_loss(row, advantage=self.advantages(row), group=group, **self.streams)
        weight = reference.token_weights(self.streams["mask"], group, row.aggregation)
        scale = float(np.nansum(weight * np.abs(loss.loss)))
        return Truth(self.pulled_back(loss.gradient, loss.entropy_gradient), loss.metrics, scale)

    def advantages(self, row: Algorithm) -> list[float]:
        """The advantage of each live sequence, taken over all groups of the step."""
        case = self.case
        reward = [rollout.reward for group in case.groups for rollout in group.rollouts]
        owner = [i for i, group in enumerate(case.groups) for _ in group.rollouts]
        every = reference.advantages(reward, owner, row.advantage).tolist()
        first = [rollout for group in case.first for rollout in group.rollouts]
        return [a for a, rollout in zip(every[: len(first)], first, strict=True) if case.trains(rollout)]

    def pulled_back(self, by_logp: Grid, by_entropy: Grid) -> dict[str, Tensor]:
        """The gradient by weight, from the derivatives of the loss by log-prob and by entropy: sequence by sequence."""
        weights = {name: weight for name, weight in self.case.models.policy.named_parameters() if weight.requires_grad}
        total = {name: torch.zeros_like(weight, dtype=torch.float64) for name, weight in weights.items()}
        for i, completion in enumerate(self.completions):
            self.tick("oracle", i, len(self.completions))
            every = self.distributions(self.case.models.policy, i)
            outputs = (of_tokens(every, completion.ids), entropies(every))
            slopes = [torch.tensor(grid[i, : completion.tokens]).to(every) for grid in (by_logp, by_entropy)]
            parts = torch.autograd.grad(outputs, list(weights.values()), slopes, allow_unused=True)
            for name, part in zip(weights, parts, strict=True):
                total[name] += 0.0 if part is None else part
        return total


def padded(rows: Sequence[Any]) -> Grid:
    """Arrays or tensors of unlike length as one array, filled up with nan."""
    arrays = [row.double().cpu().numpy() if isinstance(row, Tensor) else np.asarray(row) for row in rows]
    grid = np.full((len(arrays), max(map(len, arrays)), *arrays[0].shape[1:]), np.nan)
    for i, array in enumerate(arrays):
        grid[i, : len(array)] = array
    return grid
