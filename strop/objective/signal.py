"""Whether a group has anything to teach: dynamic sampling keeps groups whose scores are not all the same."""

from __future__ import annotations

import torch
from torch import Tensor

from strop.errors import ConfigError
from strop.objective.given import group_doubts, settle
from strop.objective.segments import compact, segment_range
from strop.objective.streams import widest


def has_signal(score: Tensor, group: Tensor, tolerance: float = 1e-6) -> Tensor:
    """True at each completion whose group's scores spread by more than `tolerance`, max - min.    [B], [B] -> bool [B]

    Judge the verifier's score, before any length penalty: DAPO Eq. 8 asks for 0 < number correct < G, and a penalty
    gives spread to a group that is all wrong. The range is exact where a standard deviation is not: three copies of
    0.1 have deviation 1.4e-17. Completions that could not be scored (NaN) do not count.

    Raises:
        ConfigError: a tolerance below 0.
        ValueError: shapes other than [B] and [B]; an id that is no whole number.
    """
    if not tolerance >= 0:
        raise ConfigError(f"has_signal: tolerance is {tolerance}; scores closer than it are the same, so use 0 or more")
    score = torch.as_tensor(score)
    group = torch.as_tensor(group, device=score.device)
    if score.dim() != 1 or score.shape != group.shape:
        raise ValueError(f"has_signal needs score [B] and group [B], got {[*score.shape]} and {[*group.shape]}")
    settle(group_doubts(group))
    score = score.detach().to(widest(score.device))
    index, groups = compact(group)
    known = ~score.isnan()
    return (segment_range(score[known], index[known], groups) > tolerance)[index]
