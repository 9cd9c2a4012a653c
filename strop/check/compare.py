"""How far a layout's gradient and metrics lie from the oracle's, and what is allowed.

gradient error of a tensor    |g - g*| / max(|g*|, 1e-6 |all g*|), norms over the tensor; the worst tensor is named
metric error                  |m - m*| / its scale: of a mean its weight, of a loss the loss without its signs
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from strop.check.oracle import Truth
from strop.metrics import Mean, Metric, Metrics

BOUNDS = {"float64": 1e-12, "float32": 1e-5, "bfloat16": 0.1}
"""The largest error that is rounding, of gradients and of metrics alike."""
OF_THE_LAYOUT = frozenset({"padding_share"})
"""Metrics that say how a batch was laid out."""
LOSSES = ("loss", "policy_loss")


@dataclass(frozen=True, slots=True)
class Errors:
    """What is wrong with a gradient and with metrics, and where it is worst."""

    gradient_error: float
    worst_parameter: str
    metric_error: float
    worst_metric: str


@dataclass(frozen=True, slots=True)
class Line:
    """The verdict on a row under a layout: both errors are within the bound."""

    row: str
    layout: str
    dtype: str
    ranks: int
    errors: Errors
    bound: float

    @property
    def ok(self) -> bool:
        return max(self.errors.gradient_error, self.errors.metric_error) <= self.bound

    def record(self) -> dict[str, Any]:
        """The line as `strop check --json` prints it."""
        errors = asdict(self.errors)
        errors.pop("worst_metric")
        who = {"row": self.row, "layout": self.layout, "dtype": self.dtype, "ranks": self.ranks}
        return {**who, **errors, "ok": self.ok}


def errors_of(gradient: Mapping[str, Tensor], metrics: Metrics, truth: Truth) -> Errors:
    return Errors(*gradient_error(gradient, truth.gradient), *metric_error(metrics, truth))


def gradient_error(found: Mapping[str, Tensor], right: Mapping[str, Tensor]) -> tuple[float, str]:
    """The error of the worst tensor, and its name. A gradient that is not finite, or not there, is infinitely wrong."""
    if missing := sorted(right.keys() ^ found.keys()):
        return math.inf, missing[0]
    size = {name: norm(g) for name, g in right.items()}
    whole = math.hypot(*size.values())
    worst, where = -1.0, ""
    for name, g in right.items():
        gap = norm(found[name].to(g) - g)
        error = relative(gap, max(size[name], 1e-6 * whole))
        if error > worst:
            worst, where = error, name
    return worst, where


def metric_error(found: Metrics, truth: Truth) -> tuple[float, str]:
    """The error of the worst metric, and its name. One that the oracle does not know cannot be right."""
    worst, where = 0.0, ""
    for name, metric in found.items():
        if name in OF_THE_LAYOUT:
            continue
        right = truth.metrics.get(name)
        error = math.inf if right is None else difference(metric, right, truth.scale if name in LOSSES else 1.0)
        if error > worst:
            worst, where = error, name
    return worst, where


def difference(found: Metric, right: Metric, scale: float) -> float:
    """The error of one metric; of a mean, that of its sum or of its weight."""
    if not isinstance(right, Mean):
        return relative(abs(found.total - right.total), max(abs(right.total), scale))
    size = max(abs(right.total), right.weight)
    return max(relative(abs(found.total - right.total), size), relative(abs(found.weight - right.weight), right.weight))


def relative(gap: float, size: float) -> float:
    """gap / size; nothing is right only if it is nothing, and what is not finite is infinitely wrong."""
    if not math.isfinite(gap):
        return math.inf
    return gap / size if size else (math.inf if gap else 0.0)


def norm(tensor: Tensor) -> float:
    return float(torch.linalg.vector_norm(tensor.double()))
