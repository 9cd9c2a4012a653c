"""The right answer: loss, metrics and gradient of an optimizer batch from strop.reference and one sequence at a time.

In float64. Weights, advantages and the loss with its derivative by hand are those of strop.reference, plain loops over
the whole padded batch; log-probs come from each sequence alone; the gradient is the product of the derivative by
log-prob with the model's own. Nothing here is shared with batch.build, batch.split, policy.step or strop.objective.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from strop import reference
from strop.algorithms import Algorithm
from strop.check.cases import Case
from strop.check.plain import score_alone
from strop.metrics import Metrics

Grid = NDArray[np.float64]
"""[B, T]: a row per live sequence, padded with nan."""


@dataclass(frozen=True, slots=True)
class Truth:
    """The gradient of a batch by parameter name, its metrics, and `scale`: its loss, had all tokens the same sign."""

    gradient: dict[str, Tensor]
    metrics: Metrics
    scale: float


@dataclass(slots=True)
class Oracle:
    """The oracle of a case, whose models are in float64. Log-probs are scored once and serve every row."""

    case: Case
    streams: dict[str, Grid] = field(default_factory=dict)
    truths: dict[Algorithm, Truth] = field(default_factory=dict)

    def __post_init__(self) -> None:
        models = self.case.models
        self.streams["logp"], self.streams["entropy"] = self.scored(models.policy)
        self.streams["old_logp"], _ = self.scored(models.old)
        self.streams["ref_logp"], _ = self.scored(models.reference)
        live = self.case.live
        self.streams["sampler_logp"] = padded([np.array(r.completion.sampler_logp, np.float32) for _, _, r in live])
        self.streams["mask"] = np.where(np.isnan(self.streams["logp"]), 0.0, 1.0)

    def scored(self, module: torch.nn.Module) -> tuple[Grid, Grid]:
        with torch.no_grad():
            pairs = [self.alone(module, i) for i in range(len(self.case.live))]
        return padded([logp.cpu() for logp, _ in pairs]), padded([entropy.cpu() for _, entropy in pairs])

    def alone(self, module: torch.nn.Module, i: int) -> tuple[Tensor, Tensor]:
        _, group, rollout = self.case.live[i]
        return score_alone(module, group.prompt_ids, rollout.completion.ids, self.case.temperature)

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
        weights = dict(self.case.models.policy.named_parameters())
        total = {name: torch.zeros_like(weight) for name, weight in weights.items()}
        for i, (_, _, rollout) in enumerate(self.case.live):
            outputs = self.alone(self.case.models.policy, i)
            slopes = [row_of(grid, i, rollout.completion.tokens).to(outputs[0]) for grid in (by_logp, by_entropy)]
            parts = torch.autograd.grad(outputs, list(weights.values()), slopes, allow_unused=True)
            for name, part in zip(weights, parts, strict=True):
                total[name] += 0.0 if part is None else part
        return total


def row_of(grid: Grid, i: int, tokens: int) -> Tensor:
    return torch.from_numpy(grid[i, :tokens].copy())


def padded(rows: Sequence[Any]) -> Grid:
    grid = np.full((len(rows), max(len(row) for row in rows)), np.nan)
    for i, row in enumerate(rows):
        grid[i, : len(row)] = row
    return grid
