"""The batch that a peer's losses are compared on: log-probs and no model, made so that wrong means show.

Sixteen completions of 1 to 12 tokens in groups of 5, 3, 4 and 4, whose rows do not stand side by side; tokens beyond
every bound of every row, on both sides; one advantage of 0. Two completions, of different groups, may be masked.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from strop import reference
from strop.objective.objective import Algorithm

LENGTHS = (1, 12, 5, 3, 8, 2, 12, 7, 1, 4, 9, 6, 11, 2, 3, 10)
GROUPS = (0, 1, 0, 2, 3, 0, 2, 1, 3, 0, 2, 3, 1, 0, 3, 2)
MASKED = (6, 13)
LONGEST = 12


@dataclass(frozen=True, slots=True)
class HardBatch:
    """All [B, T] in float64, but advantage and group [B]. What stands under the mask is finite, and is no zero."""

    logp: Tensor
    old_logp: Tensor
    ref_logp: Tensor
    sampler_logp: Tensor
    mask: Tensor
    advantage: Tensor
    group: Tensor

    def rows(self, which: Tensor) -> HardBatch:
        """The completions of these indices, padded as before."""
        return HardBatch(**{name: getattr(self, name)[which] for name in self.__slots__})


def hard_batch(*, masked: bool = True, apart: float = 0.4, seed: int = 0) -> HardBatch:
    """The batch, with its two masked completions or with all of them live; log-ratios have deviation `apart`."""
    noise = torch.Generator().manual_seed(seed)
    shape = (len(LENGTHS), LONGEST)

    def moved(start: Tensor, by: float) -> Tensor:
        return (start + by * torch.randn(shape, generator=noise, dtype=torch.float64)).clamp(max=-0.01)

    old = moved(torch.full(shape, -1.5, dtype=torch.float64), 0.5)
    advantage = torch.randn(len(LENGTHS), generator=noise, dtype=torch.float64)
    advantage[3] = 0.0
    mask = torch.arange(LONGEST) < torch.tensor(LENGTHS)[:, None]
    if masked:
        mask[list(MASKED)] = False
    return HardBatch(
        logp=moved(old, apart),
        old_logp=old,
        ref_logp=moved(old, 0.4),
        sampler_logp=moved(old, 0.05),
        mask=mask,
        advantage=advantage,
        group=torch.tensor(GROUPS),
    )


def exact_gradient(row: Algorithm, batch: HardBatch) -> Tensor:
    """The gradient of the row's loss by every log-prob, the batch taken whole, from the NumPy oracle.    [B, T]"""
    streams = {name: getattr(batch, name).numpy() for name in batch.__slots__}
    return torch.from_numpy(reference.policy_loss(row, **streams).gradient)
