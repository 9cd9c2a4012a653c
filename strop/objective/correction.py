"""An answer to a sampler whose log-probs are not the trainer's: a constant for each token, times the trust's loss.

The engine that wrote a completion gives its tokens log-probs of its own, mu, and they are not quite the trainer's:
other kernels, another precision, or weights of some steps ago. Where the ratio is taken against the policy's own old
log-probs, rho_t = pi_old / mu is the part of the importance weight that is missing.

                         a token is multiplied by
    token_truncate       min(rho_t, cap)                                          TIS
    sequence_truncate    min(product of rho over the completion, cap)             sequence TIS
    token_mask           rho_t where it is in [low, high], else 0                 IcePop, token MIS
    sequence_mask        0 where the completion is outside [low, high], else the product, rho_t, or 1     MIS, rejection

The factor is a constant in theta. It changes no count, no weight and no advantage: a token that is multiplied by 0 is
still one of the tokens that the mean divides by. Regularizers are not multiplied. Logs are clamped to +-20, once, after
any sum. Sources: https://fengyao.notion.site/off-policy-rl (TIS), https://richardli.xyz/rl-collapse (sequences and
rejection), arXiv 2510.18855 (IcePop).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import torch
from torch import Tensor

from strop.errors import ConfigError
from strop.objective.ratio import bounded_exp
from strop.objective.segments import segment_mean, segment_sum, segments
from strop.objective.streams import Streams, widened

READS = frozenset({"old_logp", "sampler_logp"})


class Corrected(NamedTuple):
    """The factor of each token, and masks of the tokens that were dropped (factor 0) or capped.    all [N]"""

    factor_N: Tensor
    dropped_N: Tensor
    capped_N: Tensor


@dataclass(frozen=True, slots=True)
class TokenTruncate:
    """min(rho_t, cap), token by token: truncated importance sampling.    -> [N]

    Low variance, biased. cap 2 is that of the note it comes from and verl's default; TRL's is 3.
    """

    kind: ClassVar[str] = "token_truncate"
    reads: ClassVar[frozenset[str]] = READS
    cap: float = 2.0

    def __post_init__(self) -> None:
        _check_cap(self.kind, self.cap)

    def __call__(self, streams: Streams) -> Corrected:
        return _capped(token_rho(mismatch(streams), streams.seq_N), self.cap)


@dataclass(frozen=True, slots=True)
class SequenceTruncate:
    """min(product of rho over the completion, cap), on each of its tokens.    -> [N]

    The importance weight of the whole completion, which is unbiased without the cap. cap 2 is verl's default.
    """

    kind: ClassVar[str] = "sequence_truncate"
    reads: ClassVar[frozenset[str]] = READS
    cap: float = 2.0

    def __post_init__(self) -> None:
        _check_cap(self.kind, self.cap)

    def __call__(self, streams: Streams) -> Corrected:
        return _capped(product_rho(mismatch(streams), streams.seq_N), self.cap)


@dataclass(frozen=True, slots=True)
class TokenMask:
    """rho_t where it is in [low, high], else 0: IcePop.    -> [N]     arXiv 2510.18855

    0.5 and 5 are the bounds of verl's and NeMo's settings of that name.
    """

    kind: ClassVar[str] = "token_mask"
    reads: ClassVar[frozenset[str]] = READS
    low: float = 0.5
    high: float = 5.0

    def __post_init__(self) -> None:
        _check_bounds(self.kind, self.low, self.high)

    def __call__(self, streams: Streams) -> Corrected:
        rho_N = token_rho(mismatch(streams), streams.seq_N)
        return _masked(rho_N, (rho_N >= self.low) & (rho_N <= self.high))


@dataclass(frozen=True, slots=True)
class SequenceMask:
    """0 on every token of a completion outside [low, high], else `times`: masked importance sampling, rejection.

    mean     product | geometric        what is compared with the bounds: the product of rho, or its geometric mean
    times    product | token | one      what the tokens of a kept completion are multiplied by

    As it stands it is TRL's sequence_mask (the product decides and weighs, no lower bound, 3 above). NeMo's and
    OpenRLHF's seq-mask-tis is {mean: geometric, times: token}, bounds of NeMo's recipe 0.999 and 1.002. verl's
    rejection alone is {times: one}.
    """

    kind: ClassVar[str] = "sequence_mask"
    reads: ClassVar[frozenset[str]] = READS
    low: float = 0.0
    high: float = 3.0
    mean: Literal["product", "geometric"] = "product"
    times: Literal["product", "token", "one"] = "product"

    def __post_init__(self) -> None:
        _check_bounds(self.kind, self.low, self.high)
        if self.mean not in MEANS:
            raise ConfigError(f"correction sequence_mask: mean is {self.mean!r}; use {' or '.join(MEANS)}")
        if self.times not in TIMES:
            raise ConfigError(f"correction sequence_mask: times is {self.times!r}; use {', '.join(TIMES)}")

    def __call__(self, streams: Streams) -> Corrected:
        gap_N, seq_N = mismatch(streams), streams.seq_N
        decides_N = MEANS[self.mean](gap_N, seq_N)
        return _masked(TIMES[self.times](gap_N, seq_N), (decides_N >= self.low) & (decides_N <= self.high))


def mismatch(streams: Streams) -> Tensor:
    """log rho = old_logp - sampler_logp of each token, in nats.    -> [N]"""
    return widened(streams.read("old_logp").detach()) - widened(streams.read("sampler_logp").detach())


def token_rho(gap_N: Tensor, seq_N: Tensor) -> Tensor:
    """exp of each token's own log-ratio.    [N] -> [N]"""
    return bounded_exp(gap_N)


def product_rho(gap_N: Tensor, seq_N: Tensor) -> Tensor:
    """The product of rho over the completion, on each of its tokens.    [N], [N] -> [N]"""
    return bounded_exp(segment_sum(gap_N, seq_N, segments(seq_N)))[seq_N]


def geometric_rho(gap_N: Tensor, seq_N: Tensor) -> Tensor:
    """The geometric mean of rho over the completion, on each of its tokens.    [N], [N] -> [N]"""
    return bounded_exp(segment_mean(gap_N, seq_N, segments(seq_N)))[seq_N]


def no_rho(gap_N: Tensor, seq_N: Tensor) -> Tensor:
    """1 on every token: rejection without a weight.    [N] -> [N]"""
    return torch.ones_like(gap_N)


def _capped(rho_N: Tensor, cap: float) -> Corrected:
    return Corrected(rho_N.clamp(max=cap), torch.zeros_like(rho_N, dtype=torch.bool), rho_N > cap)


def _masked(rho_N: Tensor, kept_N: Tensor) -> Corrected:
    return Corrected(rho_N.masked_fill(~kept_N, 0.0), ~kept_N, torch.zeros_like(kept_N))


def _check_cap(kind: str, cap: float) -> None:
    if not cap > 0:
        raise ConfigError(f"correction {kind}: cap is {cap}; it is the largest weight, so use more than 0, or inf")


def _check_bounds(kind: str, low: float, high: float) -> None:
    if not 0 <= low <= high or high == 0:
        raise ConfigError(f"correction {kind}: low {low} and high {high} bound a ratio: use 0 <= low <= high, high > 0")


MEANS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"product": product_rho, "geometric": geometric_rho}
TIMES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"product": product_rho, "token": token_rho, "one": no_rho}

Correction = TokenTruncate | SequenceTruncate | TokenMask | SequenceMask

CORRECTIONS: dict[str, type[Correction]] = {
    choice.kind: choice for choice in (TokenTruncate, SequenceTruncate, TokenMask, SequenceMask)
}
