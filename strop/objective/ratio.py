"""How far the policy moved: logp and the anchor's log-probs -> one ratio per token.

    token             r_t = pi(a_t) / anchor(a_t)                                            PPO, GRPO, DAPO
    sequence          s   = exp( mean_t log r_t ), its gradient spread over the sequence     GSPO        Eq. 7
    sequence_token    the value of s, the gradient of the token alone                        GSPO-token  Eq. 14
    sequence_product  w   = exp( sum_t log r_t ), the whole sequence's probability ratio     VESPO

GSPO is arXiv 2507.18071, VESPO arXiv 2602.10693. The anchor is `old`, the policy's own log-probs when the batch
was taken, or `sampler`, the numbers of the engine that wrote the tokens. Log-ratios are clamped to +-20 before exp (as
verl does): e^20 is 4.9e8, far outside every trust region, and without a clamp one token that drifted by 89 nats makes a
float32 loss infinite. A clamped log-ratio has no gradient of its own; `ratio/max` and `ratio/min` show when it happens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import Tensor

from strop.errors import ConfigError
from strop.objective.segments import segment_mean, segment_sum, segments

LOG_RATIO_BOUND = 20.0

Anchor = Literal["old", "sampler"]


def _reads(anchor: str) -> frozenset[str]:
    return frozenset({f"{anchor}_logp"})


def _check(anchor: str) -> None:
    if anchor not in ("old", "sampler"):
        raise ConfigError(f"anchor is {anchor!r}: a ratio is taken against old or sampler")


@dataclass(frozen=True, slots=True)
class TokenRatio:
    """r_n = exp(logp_n - anchor_n).    [N] -> [N]"""

    kind: ClassVar[str] = "token"
    anchor: Anchor = "old"

    def __post_init__(self) -> None:
        _check(self.anchor)

    @property
    def reads(self) -> frozenset[str]:
        return _reads(self.anchor)

    def __call__(self, logp_N: Tensor, anchor_N: Tensor, seq_N: Tensor) -> Tensor:
        return bounded_exp(logp_N - anchor_N)


@dataclass(frozen=True, slots=True)
class SequenceRatio:
    """s = exp(mean over the sequence of logp - anchor), at each of its tokens.    [N] -> [N]     GSPO Eq. 7

    The mean is over trained tokens only. The gradient of log s is the mean of the tokens' score functions.
    """

    kind: ClassVar[str] = "sequence"
    anchor: Anchor = "old"

    def __post_init__(self) -> None:
        _check(self.anchor)

    @property
    def reads(self) -> frozenset[str]:
        return _reads(self.anchor)

    def __call__(self, logp_N: Tensor, anchor_N: Tensor, seq_N: Tensor) -> Tensor:
        return bounded_exp(segment_mean(logp_N - anchor_N, seq_N, segments(seq_N)))[seq_N]


@dataclass(frozen=True, slots=True)
class SequenceTokenRatio:
    """sg(s) * pi / sg(pi): the sequence's value, the token's own gradient.    [N] -> [N]     GSPO-token Eq. 14

    Made for advantages that differ inside a sequence; with equal ones and the sequence mean it is `sequence`.
    """

    kind: ClassVar[str] = "sequence_token"
    anchor: Anchor = "old"

    def __post_init__(self) -> None:
        _check(self.anchor)

    @property
    def reads(self) -> frozenset[str]:
        return _reads(self.anchor)

    def __call__(self, logp_N: Tensor, anchor_N: Tensor, seq_N: Tensor) -> Tensor:
        log_s = segment_mean((logp_N - anchor_N).detach(), seq_N, segments(seq_N))[seq_N]
        return bounded_exp(log_s) * (logp_N - logp_N.detach()).exp()


@dataclass(frozen=True, slots=True)
class SequenceProductRatio:
    """w = exp(sum over the sequence of logp - anchor), at each of its tokens.    [N] -> [N]     arXiv 2602.10693

    The importance weight of the whole completion, without length normalisation; the sum is over trained tokens only,
    and clamped once, after it. The gradient of log w is the sum of the tokens' score functions.
    """

    kind: ClassVar[str] = "sequence_product"
    anchor: Anchor = "old"

    def __post_init__(self) -> None:
        _check(self.anchor)

    @property
    def reads(self) -> frozenset[str]:
        return _reads(self.anchor)

    def __call__(self, logp_N: Tensor, anchor_N: Tensor, seq_N: Tensor) -> Tensor:
        return bounded_exp(segment_sum(logp_N - anchor_N, seq_N, segments(seq_N)))[seq_N]


def bounded_exp(log_ratio: Tensor) -> Tensor:
    """exp of a log-ratio clamped to +-LOG_RATIO_BOUND: always finite, without gradient where it was clamped."""
    return log_ratio.clamp(-LOG_RATIO_BOUND, LOG_RATIO_BOUND).exp()


Ratio = TokenRatio | SequenceRatio | SequenceTokenRatio | SequenceProductRatio

RATIOS: dict[str, type[Ratio]] = {
    choice.kind: choice for choice in (TokenRatio, SequenceRatio, SequenceTokenRatio, SequenceProductRatio)
}
