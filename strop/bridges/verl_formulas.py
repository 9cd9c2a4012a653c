"""The formulas that a policy loss of verl could be, as `trust / mean`, and the gradient of each on the hard batch.

The hard batch with its log-ratios tripled, so that every bound binds, verl's dual clip at 3 among them.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import torch
from torch import Tensor

from strop import reference
from strop.algorithms import algorithm
from strop.bridges.against import AGREES
from strop.bridges.hard import LONGEST, HardBatch, hard_batch

SUM = "sum over tokens"
MEANS: dict[str, dict[str, Any]] = {
    "token": {"aggregation": "token"},
    "prompt": {"aggregation": "prompt"},
    "sequence": {"aggregation": "sequence"},
    f"constant({LONGEST})": {"aggregation": {"kind": "constant", "length": LONGEST}},
    "constant(1)": {"aggregation": {"kind": "constant", "length": 1}},
    SUM: {},
}
"""The means of strop's rows, and one that is none of them: weight 1 on every token."""


def clip(dual: float = math.inf) -> dict[str, Any]:
    return {"kind": "clip", "low": 0.2, "high": 0.2, "dual": dual}


def divergence(measure: str) -> dict[str, Any]:
    return {"kind": "divergence", "measure": measure, "low": 0.2, "high": 0.2, "cap": 3.0}


DUAL = "clip(0.2, 0.2, dual 3)"
CLIP = "clip(0.2, 0.2)"
OPEN = "open"
AT_ONE = "ratio 1"
FORMS: dict[str, dict[str, Any]] = {
    DUAL: {"trust": clip(dual=3.0)},
    CLIP: {"trust": clip()},
    f"sequence_token ratio, {CLIP}": {"ratio": "sequence_token", "trust": clip()},
    "gate(1, 1.05)": {"trust": "gate"},
    "divergence(tv, 0.2, cap 3) against old": {"trust": divergence("tv")},
    "divergence(kl, 0.2, cap 3) against old": {"trust": divergence("kl")},
    "truncate(1.2)": {"trust": {"kind": "truncate", "cap": 1.2}},
    "truncate(5)": {"trust": {"kind": "truncate", "cap": 5.0}},
    "geometric(0.2, 0.2)": {"trust": {"kind": "geometric", "low": 0.2, "high": 0.2}},
    OPEN: {"trust": "open"},
    f"{AT_ONE}, open": {"trust": "open"},
    f"{AT_ONE}, open, kl(0.5, k2) to old": {
        "trust": "open",
        "regularizers": {"kind": "kl", "beta": 0.5, "estimator": "k2"},
    },
}
"""Trust regions, on a token ratio against old_logp where no other is named; ratio 1 is taken at old = the policy."""


def far(*, masked: bool) -> HardBatch:
    """The hard batch with every log-ratio three times as large: ratios from below 0.1 to above 10."""
    batch = hard_batch(masked=masked)
    return replace(batch, logp=(batch.old_logp + 3 * (batch.logp - batch.old_logp)).clamp(max=-0.01))


def gradient_of(form: str, mean: str, batch: HardBatch) -> Tensor:
    """The gradient of a formula by every log-prob, the batch taken whole, from the NumPy oracle.    [B, T]"""
    if form.startswith(AT_ONE):
        batch = replace(batch, old_logp=batch.logp, ref_logp=batch.old_logp)
    row = algorithm("dapo", **FORMS[form], **MEANS[mean])
    weight = batch.mask.double().numpy() if mean == SUM else None
    streams = {name: getattr(batch, name).numpy() for name in batch.__slots__}
    return torch.from_numpy(reference.policy_loss(row, weight=weight, **streams).gradient)


@cache
def exact(form: str, mean: str) -> Tensor:
    """The same on the far batch without masked rows.    [B, T]"""
    return gradient_of(form, mean, far(masked=False))


def found(got: Tensor) -> tuple[str, str] | None:
    """The form and the mean whose gradient on the far batch this is; None where none is."""
    gaps = {(form, mean): error(got, exact(form, mean)) for form in FORMS for mean in MEANS}
    nearest = min(gaps, key=lambda pair: gaps[pair])
    return nearest if gaps[nearest] <= AGREES else None


def error(got: Tensor, right: Tensor) -> float:
    """|g - g*| / |g*|"""
    return float((got - right).norm() / right.norm())
