"""A metric is a sum with a weight: merging over micro-batches, updates and ranks is addition, never a mean of means.

Mean(total, weight)     .mean = total / weight        merged by adding both
Sum(total)              .mean = total                 merged by adding; what a loss is
Low(total), High(total) .mean = total                 extremes, merged by min and max: the one exception
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar


@dataclass(frozen=True, slots=True)
class Mean:
    """A weighted mean kept as its two sums. Nothing observed (weight 0) has mean nan."""

    total: float
    weight: float

    @property
    def mean(self) -> float:
        return self.total / self.weight if self.weight else math.nan

    def __add__(self, other: Mean) -> Mean:
        return Mean(self.total + other.total, self.weight + other.weight)


@dataclass(frozen=True, slots=True)
class Sum:
    """A plain sum: the loss of a batch is the sum of the losses of its micro-batches."""

    total: float

    @property
    def weight(self) -> float:
        return 1.0

    @property
    def mean(self) -> float:
        return self.total

    def __add__(self, other: Sum) -> Sum:
        return Sum(self.total + other.total)


@dataclass(frozen=True, slots=True)
class Low:
    """The smallest value seen."""

    total: float

    @property
    def weight(self) -> float:
        return 1.0

    @property
    def mean(self) -> float:
        return self.total

    def __add__(self, other: Low) -> Low:
        return Low(min(self.total, other.total))


@dataclass(frozen=True, slots=True)
class High:
    """The largest value seen."""

    total: float

    @property
    def weight(self) -> float:
        return 1.0

    @property
    def mean(self) -> float:
        return self.total

    def __add__(self, other: High) -> High:
        return High(max(self.total, other.total))


Metric = Mean | Sum | Low | High
Metrics = Mapping[str, Metric]

M = TypeVar("M", Mean, Sum, Low, High)


def merge(parts: Iterable[Metrics]) -> dict[str, Metric]:
    """Metrics of the whole from the metrics of its parts, name by name. A part may lack a name."""
    whole: dict[str, Metric] = {}
    for part in parts:
        for name, metric in part.items():
            whole[name] = _add(whole[name], metric) if name in whole else metric
    return whole


def packed(metrics: Metrics) -> dict[str, list[str | float]]:
    """Metrics as plain JSON values: name -> [kind, total, weight]."""
    return {name: [type(metric).__name__, metric.total, metric.weight] for name, metric in metrics.items()}


def unpacked(values: Mapping[str, Sequence[Any]]) -> dict[str, Metric]:
    """The metrics that `packed` made plain."""
    kinds = {"Sum": Sum, "Low": Low, "High": High}
    return {
        name: Mean(total, weight) if kind == "Mean" else kinds[kind](total)
        for name, (kind, total, weight) in values.items()
    }


def _add(left: Metric, right: Metric) -> Metric:
    if type(left) is not type(right):
        raise TypeError(f"cannot merge a {type(left).__name__} with a {type(right).__name__}")
    return left + right  # type: ignore[operator]
