"""Which mean: the mask and the groups -> one weight per token, computed once for the whole optimizer batch.

    token      1 / T               T all live tokens                       sums to 1
    prompt     1 / (P T_g)         T_g the live tokens of the prompt       sums to 1
    sequence   1 / (S L_i)         L_i the live tokens of the completion   sums to 1
    constant   1 / (S length)      length a number fixed beforehand        sums to (mean length) / length

P, S and T count what has at least one live token, in the whole optimizer batch: ranks that hold a share of it each add
up their `Counts` first. After this the loss is a plain sum, and there is no other divisor: however the batch is then
split, packed, shuffled or dealt to ranks, the sum of the parts' gradients is the batch's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from strop.errors import ConfigError
from strop.objective.segments import compact, segment_count, segment_sum
from strop.objective.streams import widest


class Counts(NamedTuple):
    """What a mean divides by, over a whole optimizer batch: live tokens of each prompt [P], and live sequences [].

    Both are sums, so the counts of a batch are the sums of those of its parts.
    """

    tokens_P: Tensor
    sequences: Tensor


def count(seq_N: Tensor, prompt_S: Tensor, prompts: int) -> Counts:
    """The counts of these tokens; `prompt_S` are indices 0..prompts-1.    [N], [S] -> [P], []"""
    length_S = _lengths(seq_N, prompt_S)
    return Counts(segment_sum(length_S, prompt_S, prompts), (length_S > 0).sum().to(length_S.dtype))


@dataclass(frozen=True, slots=True)
class TokenMean:
    """Weight of each token so that every token of the batch counts equally.    w = 1 / T    -> [N], sums to 1"""

    kind: ClassVar[str] = "token"
    reads: ClassVar[frozenset[str]] = frozenset()

    def __call__(self, seq_N: Tensor, prompt_S: Tensor, counts: Counts) -> Tensor:
        return torch.ones_like(seq_N, dtype=widest(seq_N.device)) / counts.tokens_P.sum()


@dataclass(frozen=True, slots=True)
class PromptMean:
    """Weight of each token so that every prompt counts equally.    w = 1 / (P T_g)    -> [N], sums to 1

    The mean over all tokens of a prompt's completions, then the mean over prompts: DAPO Eq. 8 read literally.
    """

    kind: ClassVar[str] = "prompt"
    reads: ClassVar[frozenset[str]] = frozenset()

    def __call__(self, seq_N: Tensor, prompt_S: Tensor, counts: Counts) -> Tensor:
        return 1 / ((counts.tokens_P > 0).sum() * counts.tokens_P[prompt_S[seq_N]])


@dataclass(frozen=True, slots=True)
class SequenceMean:
    """Weight of each token so that every completion counts equally.    w = 1 / (S L_i)    -> [N], sums to 1

    The mean over a completion's tokens, then the mean over completions: GRPO's.
    """

    kind: ClassVar[str] = "sequence"
    reads: ClassVar[frozenset[str]] = frozenset()

    def __call__(self, seq_N: Tensor, prompt_S: Tensor, counts: Counts) -> Tensor:
        return 1 / (counts.sequences * _lengths(seq_N, prompt_S)[seq_N])


@dataclass(frozen=True, slots=True)
class Constant:
    """Weight of each token with nothing of its length left in it.    w = 1 / (S length)    -> [N]

    `length` is a budget fixed beforehand, the largest completion allowed, never a batch's padded width. 0 means that
    it is still to be given: the trainer fills in rollout.max_tokens. Dr. GRPO, arXiv 2503.20783.
    """

    kind: ClassVar[str] = "constant"
    reads: ClassVar[frozenset[str]] = frozenset()
    length: int = 0

    def __post_init__(self) -> None:
        if not (self.length >= 0 and self.length % 1 == 0):
            raise ConfigError(f"aggregation constant: length is {self.length}; use a number of tokens, 1 or more")

    def __call__(self, seq_N: Tensor, prompt_S: Tensor, counts: Counts) -> Tensor:
        if self.length == 0:
            raise ConfigError("aggregation constant needs a length in tokens: give length=, usually the token budget")
        return torch.ones_like(seq_N, dtype=widest(seq_N.device)) / (counts.sequences * self.length)


def _lengths(seq_N: Tensor, prompt_S: Tensor) -> Tensor:
    """Live tokens of each sequence, as floats.    -> [S]"""
    return segment_count(seq_N, prompt_S.numel()).to(widest(seq_N.device))


Aggregation = TokenMean | PromptMean | SequenceMean | Constant


def weigh(mean: Aggregation, seq_N: Tensor, prompt_S: Tensor, counts: Counts | None = None) -> Tensor:
    """The weight of each token.    [N], [S] -> [N]

    Without `counts` the tokens are the whole optimizer batch, and `prompt_S` are any integers. With them the tokens are
    a share of it: `counts` are those of the whole batch, and `prompt_S` are indices into counts.tokens_P.
    """
    if counts is None:
        prompt_S, prompts = compact(prompt_S)
        counts = count(seq_N, prompt_S, prompts)
    return mean(seq_N, prompt_S, counts)


AGGREGATIONS: dict[str, type[Aggregation]] = {
    choice.kind: choice for choice in (TokenMean, PromptMean, SequenceMean, Constant)
}
