"""Rewards of a group -> credit per completion.

    standardized         (R_i - mean_g) / (std_g + eps)         GRPO, DAPO     arXiv 2402.03300 4.1, 2503.14476 Eq. 9
    centered             R_i - mean_g                           Dr. GRPO       arXiv 2503.20783
    leave_one_out        R_i - mean of the others of the group  RLOO           arXiv 2402.14740
    batch_standardized   (R_i - mean_g) / (std of all centred ones of the batch + eps)     ScaleRL  arXiv 2510.13786 4

All are float64 whatever the reward's dtype: in bfloat16 the mean of a group can round onto one of its rewards.
A NaN reward is a completion that could not be scored: it is in no statistic and its advantage is 0. A group of one
scorable completion, or whose spread is float noise, has nothing to compare: its advantages are exactly 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from strop.errors import ConfigError, RewardError
from strop.objective.segments import compact, segment_count, segment_mean, segment_range, segment_sum
from strop.objective.streams import widest

NOISE = 1e-6
"""Rewards whose max - min is within NOISE * max(1, largest magnitude) of each other are the same reward."""


@dataclass(frozen=True, slots=True)
class Credit:
    """Where every estimator starts. `centered_S` is R_i - mean_g, exactly 0 for a completion without a comparison."""

    centered_S: Tensor
    compared_S: Tensor
    scorable_S: Tensor
    group_S: Tensor
    groups: int

    def per_group(self, value_S: Tensor) -> Tensor:
        """Sum of a value over the compared completions of each completion's group.    [S] -> [S]"""
        return segment_sum(value_S * self.compared_S, self.group_S, self.groups)[self.group_S]

    def divided(self, spread_S: Tensor) -> Tensor:
        """centered / spread, and 0 where there was no comparison, whatever the spread is there."""
        return torch.where(self.compared_S, self.centered_S / spread_S, torch.zeros_like(self.centered_S))


def credit(reward_S: Tensor, group_S: Tensor) -> Credit:
    """Group-centred rewards in float64. Group ids are any integers; members need not be adjacent.

    Raises RewardError for an infinite reward, ValueError for shapes other than [S] and [S].
    """
    if reward_S.dim() != 1 or reward_S.shape != group_S.shape:
        raise ValueError(f"advantages need reward [S] and group [S], got {[*reward_S.shape]} and {[*group_S.shape]}")
    reward_S = reward_S.detach().to(widest(reward_S.device))
    if bool(reward_S.isinf().any()):
        raise RewardError(f"the reward of completion {int(reward_S.isinf().nonzero()[0])} is infinite")
    scorable_S = ~reward_S.isnan()
    index_S, groups = compact(group_S)
    value, index = reward_S[scorable_S], index_S[scorable_S]
    scale_P = value.new_ones(groups).scatter_reduce(0, index, value.abs(), "amax")
    signal_P = (segment_range(value, index, groups) > NOISE * scale_P) & (segment_count(index, groups) > 1)
    compared_S = scorable_S & signal_P[index_S]
    centered_S = reward_S - segment_mean(value, index, groups)[index_S]
    centered_S = torch.where(compared_S, centered_S, torch.zeros_like(centered_S))
    return Credit(centered_S, compared_S, scorable_S, index_S, groups)


def _check(ddof: int, eps: float) -> None:
    if ddof not in (0, 1):
        raise ConfigError(f"ddof is {ddof}: use 1 (divide by n - 1) or 0 (divide by n)")
    if not 0 <= eps < torch.inf:
        raise ConfigError(f"eps is {eps}: it is added to a standard deviation, so it must be 0 or more")


@dataclass(frozen=True, slots=True)
class Standardized:
    """The group's z-score: (R_i - mean_g) / (std_g + eps).    [S], [S] -> [S]

    `ddof` 1 divides the squares by n - 1 (TRL, verl), 0 by n. DAPO Eq. 9 and GRPO 4.1 give neither ddof nor eps.
    """

    kind: ClassVar[str] = "standardized"
    reads: ClassVar[frozenset[str]] = frozenset()
    ddof: int = 1
    eps: float = 1e-6

    def __post_init__(self) -> None:
        _check(self.ddof, self.eps)

    def __call__(self, reward_S: Tensor, group_S: Tensor) -> Tensor:
        of = credit(reward_S, group_S)
        squares_S = of.per_group(of.centered_S.square())
        count_S = of.per_group(torch.ones_like(of.centered_S))
        return of.divided((squares_S / (count_S - self.ddof)).sqrt() + self.eps)


@dataclass(frozen=True, slots=True)
class Centered:
    """The reward above the group's mean: R_i - mean_g.    [S], [S] -> [S]     Dr. GRPO, arXiv 2503.20783"""

    kind: ClassVar[str] = "centered"
    reads: ClassVar[frozenset[str]] = frozenset()

    def __call__(self, reward_S: Tensor, group_S: Tensor) -> Tensor:
        return credit(reward_S, group_S).centered_S


@dataclass(frozen=True, slots=True)
class LeaveOneOut:
    """The reward above the mean of the others: n / (n - 1) * (R_i - mean_g).    [S], [S] -> [S]     arXiv 2402.14740"""

    kind: ClassVar[str] = "leave_one_out"
    reads: ClassVar[frozenset[str]] = frozenset()

    def __call__(self, reward_S: Tensor, group_S: Tensor) -> Tensor:
        of = credit(reward_S, group_S)
        count_S = of.per_group(torch.ones_like(of.centered_S))
        return of.divided((count_S - 1) / count_S)


@dataclass(frozen=True, slots=True)
class BatchStandardized:
    """Group-centred, over the standard deviation of all centred ones of the batch.    [S], [S] -> [S]

    Every scorable completion of the batch is in that deviation, groups without spread too (they are its zeros).
    ScaleRL, arXiv 2510.13786 section 4, which gives neither ddof nor eps.
    """

    kind: ClassVar[str] = "batch_standardized"
    reads: ClassVar[frozenset[str]] = frozenset()
    ddof: int = 1
    eps: float = 1e-6

    def __post_init__(self) -> None:
        _check(self.ddof, self.eps)

    def __call__(self, reward_S: Tensor, group_S: Tensor) -> Tensor:
        of = credit(reward_S, group_S)
        # Centred advantages sum to 0 in every group, so their mean over the batch is 0 and their squares the variance.
        variance = of.centered_S.square().sum() / (of.scorable_S.sum() - self.ddof)
        return of.divided(variance.sqrt() + self.eps)


Advantage = Standardized | Centered | LeaveOneOut | BatchStandardized

ADVANTAGES: dict[str, type[Advantage]] = {
    choice.kind: choice for choice in (Standardized, Centered, LeaveOneOut, BatchStandardized)
}
