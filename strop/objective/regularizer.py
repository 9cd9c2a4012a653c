"""What else the loss asks for: a KL to a reference, an entropy bonus. Each is one number per token, like the policy's.

KL estimators on the sampled token, d = logp - ref (clamped to +-20, so that one drifted token stays finite):
    k1   d                     k2   d^2 / 2                k3   exp(-d) - 1 + d
    unbiased   r k3, with the gradient through the token ratio r too           DeepSeek-V3.2

k1 and k3 have the KL as their mean, but a loss needs the right gradient. Differentiated in a loss (sample fixed):
    k1  0          k2  grad KL(pi || ref)          k3  grad KL(ref || pi)          unbiased  grad KL(pi || ref) at r = 1
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import torch
from torch import Tensor

from strop.errors import ConfigError
from strop.objective.ratio import bounded_exp
from strop.objective.streams import Streams, widened

KL_BOUND = 20.0

NO_K1 = " (k1 is refused: in a loss its gradient has mean zero, so the reference would do nothing)"


class Penalty(NamedTuple):
    """A regularizer's loss per token, and what it measured: name -> per-token values to be averaged, or counted."""

    loss_N: Tensor
    means: dict[str, Tensor]
    counts: dict[str, Tensor]


@dataclass(frozen=True, slots=True)
class Kl:
    """beta * KL estimate to the frozen reference.    -> [N]     GRPO Eq. 4, arXiv 2402.03300 (k3)

    The clamp removes the gradient of tokens beyond it; `kl/clamped` counts them. k1 is refused: its gradient in a
    loss has mean zero, so the reference would not act at all.
    """

    kind: ClassVar[str] = "kl"
    reads: ClassVar[frozenset[str]] = frozenset({"ref_logp"})
    beta: float
    estimator: Literal["k2", "k3", "unbiased"] = "k3"

    def __post_init__(self) -> None:
        if self.estimator not in KL_LOSSES:
            raise ConfigError(f"regularizer kl: estimator is {self.estimator!r}; use k2, k3 or unbiased{NO_K1}")
        if not 0 <= self.beta < math.inf:
            raise ConfigError(f"regularizer kl: beta is {self.beta}; use 0 or more")

    def __call__(self, streams: Streams, logp_N: Tensor, anchor_N: Tensor) -> Penalty:
        gap_N = logp_N - widened(streams.read("ref_logp").detach())
        value_N = KL_LOSSES[self.estimator](gap_N.clamp(-KL_BOUND, KL_BOUND), logp_N - anchor_N)
        return Penalty(self.beta * value_N, {"kl": value_N}, {"kl/clamped": gap_N.abs() > KL_BOUND})


@dataclass(frozen=True, slots=True)
class EntropyBonus:
    """-beta * entropy of the policy at the token, with its gradient: more entropy is less loss.    -> [N]"""

    kind: ClassVar[str] = "entropy"
    reads: ClassVar[frozenset[str]] = frozenset({"entropy"})
    beta: float

    def __post_init__(self) -> None:
        if not math.isfinite(self.beta):
            raise ConfigError(f"regularizer entropy: beta is {self.beta}; use a finite number")

    def __call__(self, streams: Streams, logp_N: Tensor, anchor_N: Tensor) -> Penalty:
        return Penalty(-self.beta * widened(streams.read("entropy")), {}, {})


def kl(logp: Tensor, ref_logp: Tensor, estimator: str = "k3") -> Tensor:
    """KL(policy || reference) estimated on each sampled token, in nats.    any shape -> the same shape, nothing reduced

    `estimator` is k1, k2, k3, or unbiased: the value of k3 with the gradient of r k3 at r = 1. The log-ratio is
    clamped to +-20, where the gradient ends. http://joschu.net/blog/kl-approx.html

    Raises:
        ConfigError: any other estimator.
        ValueError: two shapes: a [B] beside a [B, 1] would be broadcast to [B, B].
    """
    if estimator not in KL_VALUES:
        raise ConfigError(f"kl: estimator is {estimator!r}; use {', '.join(KL_VALUES)}")
    if logp.shape != ref_logp.shape:
        raise ValueError(f"kl needs logp and ref_logp of one shape, got {[*logp.shape]} and {[*ref_logp.shape]}")
    logp = widened(logp)
    gap = (logp - widened(ref_logp)).clamp(-KL_BOUND, KL_BOUND)
    return KL_VALUES[estimator](gap, logp - logp.detach())


def _k1(gap: Tensor, log_ratio: Tensor) -> Tensor:
    return gap


def _k2(gap: Tensor, log_ratio: Tensor) -> Tensor:
    return gap.square() / 2


def _k3(gap: Tensor, log_ratio: Tensor) -> Tensor:
    return torch.expm1(-gap) + gap


def _unbiased(gap: Tensor, log_ratio: Tensor) -> Tensor:
    return bounded_exp(log_ratio) * _k3(gap, log_ratio)


KL_LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"k2": _k2, "k3": _k3, "unbiased": _unbiased}
KL_VALUES = {"k1": _k1, **KL_LOSSES}

Regularizer = Kl | EntropyBonus

REGULARIZERS: dict[str, type[Regularizer]] = {choice.kind: choice for choice in (Kl, EntropyBonus)}
