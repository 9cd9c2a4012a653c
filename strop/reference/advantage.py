"""Rewards of a group -> credit per completion, one completion at a time.

Sources: GRPO, arXiv 2402.03300 section 4.1, and DAPO, arXiv 2503.14476 Eq. 9 (standardized); Dr. GRPO, arXiv
2503.20783 (centered); RLOO, arXiv 2402.14740 (leave_one_out); ScaleRL, arXiv 2510.13786 section 4
(batch_standardized).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from strop.errors import ConfigError, RewardError
from strop.reference.arrays import Floats, floats, named, paired


def advantages(reward: ArrayLike, group: ArrayLike, kind: Any = "standardized") -> Floats:
    """Credit of each completion among the completions of its group.    [B], [B] -> [B]

    Raises:
        ConfigError: a kind that is not one of the four.
        RewardError: an infinite reward.
        ValueError: shapes other than [B] and [B]; an id that is no whole number.
    """
    name, numbers = named(kind)
    estimators: dict[str, Callable[..., list[float]]] = {
        "standardized": standardized,
        "centered": centered,
        "leave_one_out": leave_one_out,
        "batch_standardized": batch_standardized,
    }
    if name not in estimators:
        raise ConfigError(f"unknown advantage {name!r}; use {', '.join(estimators)}")
    rewards, ids = paired("reward", reward, group)
    for i, r in enumerate(rewards):
        if math.isinf(r):
            raise RewardError(f"the reward of completion {i} is infinite")
    return floats(estimators[name](rewards, ids, **numbers))


def standardized(reward: list[float], group: list[int], ddof: int = 1, eps: float = 1e-6) -> list[float]:
    """(R_i - mean) / (std + eps) over the group of i."""
    result = [0.0] * len(reward)
    for i in compared(reward, group):
        rivals = members(reward, group, i)
        mean = sum(rivals) / len(rivals)
        variance = sum((r - mean) ** 2 for r in rivals) / (len(rivals) - ddof)
        result[i] = (reward[i] - mean) / (math.sqrt(variance) + eps)
    return result


def centered(reward: list[float], group: list[int]) -> list[float]:
    """R_i - mean over the group of i."""
    result = [0.0] * len(reward)
    for i in compared(reward, group):
        rivals = members(reward, group, i)
        result[i] = reward[i] - sum(rivals) / len(rivals)
    return result


def leave_one_out(reward: list[float], group: list[int]) -> list[float]:
    """R_i - mean over the others of the group of i."""
    result = [0.0] * len(reward)
    for i in compared(reward, group):
        others = [r for j, r in enumerate(reward) if group[j] == group[i] and j != i and not math.isnan(r)]
        result[i] = reward[i] - sum(others) / len(others)
    return result


def batch_standardized(reward: list[float], group: list[int], ddof: int = 1, eps: float = 1e-6) -> list[float]:
    """(R_i - mean over the group of i) / (std of all of these over the batch + eps)."""
    result = centered(reward, group)
    batch = [a for a, r in zip(result, reward, strict=True) if not math.isnan(r)]
    if not any(batch):
        return result
    mean = sum(batch) / len(batch)
    variance = sum((a - mean) ** 2 for a in batch) / (len(batch) - ddof)
    return [a / (math.sqrt(variance) + eps) for a in result]


def members(reward: list[float], group: list[int], i: int) -> list[float]:
    """The scorable rewards of the group of i, its own included. NaN is a completion that could not be scored."""
    return [r for r, g in zip(reward, group, strict=True) if g == group[i] and not math.isnan(r)]


def compared(reward: list[float], group: list[int]) -> list[int]:
    """The completions that have others to be compared with, and a difference that is more than float noise."""
    result: list[int] = []
    for i in range(len(reward)):
        rivals = members(reward, group, i)
        if math.isnan(reward[i]) or len(rivals) < 2:
            continue
        if max(rivals) - min(rivals) > 1e-6 * max(1.0, *(abs(r) for r in rivals)):
            result.append(i)
    return result
