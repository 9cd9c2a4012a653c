"""What a move may earn: ratio, advantage -> loss per token, and which tokens the trust region held back.

                loss                                            gradient is -k * A * grad logp, k =
    open        -r A                                            r
    clip        -min(r A, clamp(r, 1 - low, 1 + high) A)        r, 0 where A > 0, r > 1 + high or A < 0, r < 1 - low
     and dual   at most -dual A where A < 0                     and 0 where A < 0, r > dual
    divergence  -A sg(M min(r, cap)) (1 + logp - sg(logp))      M min(r, cap)
    truncate    -A sg(min(r, cap)) logp                         min(r, cap)
    gate        -A (4 / tau) sigmoid(tau (r - 1))               4 r s (1 - s), s the sigmoid
    gamma       -A sg(phi(r)) logp                              phi(r) = r^k exp(lambda (1 - r))
    geometric   -A exp(mean_t clipped log r_t)                  that / L at tokens inside the bounds, 0 at the others

sg is stop-gradient, M the divergence mask, L the length of the completion. `high_N` and `low_N` mark the tokens whose
gradient was removed or capped because the ratio was too high, or too low. They know the advantage's sign: a ratio above
1 + high with a negative advantage is still trained, so it is in neither. A gate and a gamma kernel cut nothing off: a
gate marks no token, a gamma kernel those that get less than half of what they get at ratio 1. For a single update on
fresh log-probs r is 1 and nothing is held back.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import torch
from torch import Tensor

from strop.errors import ConfigError
from strop.objective.divergence import BINARY, TOP, top_buckets
from strop.objective.segments import segment_mean, segments
from strop.objective.streams import TOP_STREAMS, Streams


class Trusted(NamedTuple):
    """Loss per token, and masks of the tokens held back because their ratio was too high or too low.    all [N]"""

    loss_N: Tensor
    high_N: Tensor
    low_N: Tensor


@dataclass(frozen=True, slots=True)
class Clip:
    """PPO's surrogate with separate bounds, and an optional cap on what a negative advantage may cost.

    DAPO Eq. 8 (arXiv 2503.14476), clip-higher: for A > 0 only 1 + high binds, for A < 0 only 1 - low. `dual` is the
    largest ratio a negative advantage is trained at (arXiv 1912.09729); inf, the papers' form, means no such cap.
    """

    kind: ClassVar[str] = "clip"
    reads: ClassVar[frozenset[str]] = frozenset()
    low: float = 0.2
    high: float = 0.28
    dual: float = math.inf

    def __post_init__(self) -> None:
        if not 0 <= self.low <= 1:
            raise ConfigError(f"trust clip: low is {self.low}; the lower bound is 1 - low, so use 0 to 1")
        if not self.high >= 0:
            raise ConfigError(f"trust clip: high is {self.high}; the upper bound is 1 + high, so use 0 or more")
        if not self.dual > 1:
            raise ConfigError(f"trust clip: dual is {self.dual}; it caps a ratio, so use more than 1, or inf for none")

    def __call__(
        self, streams: Streams, ratio_N: Tensor, advantage_N: Tensor, logp_N: Tensor, anchor_N: Tensor
    ) -> Trusted:
        high_N = (advantage_N > 0) & (ratio_N > 1 + self.high)
        low_N = (advantage_N < 0) & (ratio_N < 1 - self.low)
        dual_N = (advantage_N < 0) & (ratio_N > self.dual)
        allowed_N = torch.where(high_N, 1 + self.high, torch.where(low_N, 1 - self.low, ratio_N))
        allowed_N = torch.where(dual_N, self.dual, allowed_N)
        return Trusted(-allowed_N * advantage_N, high_N | dual_N, low_N)


@dataclass(frozen=True, slots=True)
class Divergence:
    """DPPO: a token is dropped when its distribution, not its ratio, moved too far, and was moving further.

    M = 0 where A > 0, r > 1, D > high, or A < 0, r < 1, D > low; else 1. A move back towards the anchor is never
    dropped. D is D(anchor || policy) at the token's position: with `topk` 0 over (p, 1 - p) of the sampled token,
    else over the sampler's topk most likely tokens, the sampled one, and all others (divergence.py). `cap` bounds the
    weight; inf is the paper's first form. arXiv 2602.04879 Eq. 12, 15-16.
    """

    kind: ClassVar[str] = "divergence"
    measure: Literal["tv", "kl"]
    low: float
    high: float
    cap: float = math.inf
    topk: int = 0

    def __post_init__(self) -> None:
        if self.measure not in BINARY:
            raise ConfigError(f"trust divergence: measure is {self.measure!r}; use tv or kl")
        if not (self.low >= 0 and self.high >= 0):
            raise ConfigError(
                f"trust divergence: low {self.low} and high {self.high} bound a distance, so use 0 or more"
            )
        if not self.cap > 0:
            raise ConfigError(f"trust divergence: cap is {self.cap}; it bounds a weight, so use more than 0, or inf")
        if self.topk < 0:
            raise ConfigError(f"trust divergence: topk is {self.topk}; use 0 for binary, or a number of tokens")

    @property
    def reads(self) -> frozenset[str]:
        return frozenset(TOP_STREAMS if self.topk else ())

    def __call__(
        self, streams: Streams, ratio_N: Tensor, advantage_N: Tensor, logp_N: Tensor, anchor_N: Tensor
    ) -> Trusted:
        if self.topk:
            moved_N = TOP[self.measure](*top_buckets(streams, anchor_N, logp_N.detach(), self.topk))
        else:
            moved_N = BINARY[self.measure](anchor_N, logp_N.detach())
        high_N = (advantage_N > 0) & (ratio_N > 1) & (moved_N > self.high)
        low_N = (advantage_N < 0) & (ratio_N < 1) & (moved_N > self.low)
        weight_N = ratio_N.detach().clamp(max=self.cap).masked_fill(high_N | low_N, 0.0)
        return Trusted(-advantage_N * weight_N * (1 + logp_N - logp_N.detach()), high_N, low_N)


@dataclass(frozen=True, slots=True)
class Truncate:
    """CISPO: every token is trained, with a detached weight of at most `cap` (absolute, not 1 + cap); no lower bound.

    MiniMax-M1 Eq. 4-5 (arXiv 2506.13585) and ScaleRL (arXiv 2510.13786 section 4). `high_N` marks capped tokens.
    """

    kind: ClassVar[str] = "truncate"
    reads: ClassVar[frozenset[str]] = frozenset()
    cap: float = 5.0

    def __post_init__(self) -> None:
        if not self.cap > 0:
            raise ConfigError(
                f"trust truncate: cap is {self.cap}; it is the largest weight, so use more than 0, or inf"
            )

    def __call__(
        self, streams: Streams, ratio_N: Tensor, advantage_N: Tensor, logp_N: Tensor, anchor_N: Tensor
    ) -> Trusted:
        high_N = (advantage_N != 0) & (ratio_N > self.cap)
        weight_N = ratio_N.detach().clamp(max=self.cap)
        return Trusted(-advantage_N * weight_N * logp_N, high_N, torch.zeros_like(high_N))


@dataclass(frozen=True, slots=True)
class Gate:
    """SAPO: a sigmoid fades a token's gradient as its ratio leaves 1, on both sides; nothing is cut off.

    `positive` and `negative` are the temperatures tau for A > 0 and for the rest. arXiv 2511.20347.
    """

    kind: ClassVar[str] = "gate"
    reads: ClassVar[frozenset[str]] = frozenset()
    positive: float = 1.0
    negative: float = 1.05

    def __post_init__(self) -> None:
        if not (0 < self.positive < math.inf and 0 < self.negative < math.inf):
            raise ConfigError(
                f"trust gate: temperatures {self.positive} and {self.negative} must be above 0 and finite"
            )

    def __call__(
        self, streams: Streams, ratio_N: Tensor, advantage_N: Tensor, logp_N: Tensor, anchor_N: Tensor
    ) -> Trusted:
        tau_N = torch.full_like(ratio_N, self.negative).masked_fill(advantage_N > 0, self.positive)
        none_N = torch.zeros_like(advantage_N, dtype=torch.bool)
        return Trusted(-advantage_N * 4 / tau_N * torch.sigmoid(tau_N * (ratio_N - 1)), none_N, none_N)


@dataclass(frozen=True, slots=True)
class Gamma:
    """VESPO: every token is trained, with a detached weight phi(r) that falls off on both sides of its peak.

        phi(r) = r^k exp(lambda (1 - r))    1 at r = 1, largest at r = k / lambda

    k and lambda by the sign of the advantage (0 counts as positive). Made for the ratio of a whole completion: as it
    stands, phi is at most 1.21 for a gain, reached at r = 2/3, and 1.24 for a loss, at r = 3/2.
    `high_N` and `low_N` mark tokens with phi(r) < 1/2, above and below r = 1. arXiv 2602.10693 section 3.4.
    """

    kind: ClassVar[str] = "gamma"
    reads: ClassVar[frozenset[str]] = frozenset()
    k_positive: float = 2.0
    lambda_positive: float = 3.0
    k_negative: float = 3.0
    lambda_negative: float = 2.0

    def __post_init__(self) -> None:
        if not (0 <= self.k_positive < math.inf and 0 <= self.k_negative < math.inf):
            raise ConfigError(f"trust gamma: k {self.k_positive} and {self.k_negative} must be 0 or more and finite")
        if not (0 < self.lambda_positive < math.inf and 0 < self.lambda_negative < math.inf):
            raise ConfigError(
                f"trust gamma: lambda {self.lambda_positive} and {self.lambda_negative} must be above 0 and finite"
            )

    def __call__(
        self, streams: Streams, ratio_N: Tensor, advantage_N: Tensor, logp_N: Tensor, anchor_N: Tensor
    ) -> Trusted:
        r_N = ratio_N.detach()
        negative_N = advantage_N < 0
        k_N = torch.full_like(r_N, self.k_positive).masked_fill(negative_N, self.k_negative)
        lambda_N = torch.full_like(r_N, self.lambda_positive).masked_fill(negative_N, self.lambda_negative)
        phi_N = (k_N * r_N.log() + lambda_N * (1 - r_N)).exp()
        held_N = (advantage_N != 0) & (phi_N < 0.5)
        return Trusted(-advantage_N * phi_N * logp_N, held_N & (r_N > 1), held_N & (r_N < 1))


@dataclass(frozen=True, slots=True)
class Geometric:
    """GMPO: one ratio per completion, the geometric mean of token ratios that were clipped one by one before.

        -A exp( mean over the completion of min(log r, high) where A > 0, max(log r, -low) where A < 0 )

    `low` and `high` are bounds of the log-ratio. A clipped token has no gradient of its own, but its bound stays in the
    mean of the others. arXiv 2507.20673.
    """

    kind: ClassVar[str] = "geometric"
    reads: ClassVar[frozenset[str]] = frozenset()
    low: float = 0.4
    high: float = 0.4

    def __post_init__(self) -> None:
        if not (self.low >= 0 and self.high >= 0):
            raise ConfigError(f"trust geometric: low {self.low} and high {self.high} bound log-ratios: use 0 or more")

    def __call__(
        self, streams: Streams, ratio_N: Tensor, advantage_N: Tensor, logp_N: Tensor, anchor_N: Tensor
    ) -> Trusted:
        log_N, seq_N = ratio_N.log(), streams.seq_N
        high_N = (advantage_N > 0) & (log_N > self.high)
        low_N = (advantage_N < 0) & (log_N < -self.low)
        allowed_N = log_N.masked_fill(high_N, self.high).masked_fill(low_N, -self.low)
        mean_N = segment_mean(allowed_N, seq_N, segments(seq_N))[seq_N]
        return Trusted(-advantage_N * mean_N.exp(), high_N, low_N)


@dataclass(frozen=True, slots=True)
class Open:
    """No trust region: importance-weighted policy gradient, -r A. With r = 1 it is REINFORCE."""

    kind: ClassVar[str] = "open"
    reads: ClassVar[frozenset[str]] = frozenset()

    def __call__(
        self, streams: Streams, ratio_N: Tensor, advantage_N: Tensor, logp_N: Tensor, anchor_N: Tensor
    ) -> Trusted:
        none_N = torch.zeros_like(advantage_N, dtype=torch.bool)
        return Trusted(-ratio_N * advantage_N, none_N, none_N)


Trust = Clip | Divergence | Truncate | Gate | Gamma | Geometric | Open

TRUSTS: dict[str, type[Trust]] = {
    choice.kind: choice for choice in (Clip, Divergence, Truncate, Gate, Gamma, Geometric, Open)
}
