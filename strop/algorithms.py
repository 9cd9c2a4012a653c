"""ROWS: the table of algorithms. A row is five choices with their numbers; a new algorithm is a new line, not new code.

    row = algorithm("dapo")                                       a row of the table
    row = algorithm("dapo", aggregation="prompt")                 with another mean
    row = algorithm("dapo", trust={"kind": "clip", "high": 0.3}, regularizers=[{"kind": "kl", "beta": 0.01}])

A choice is given as a name, as its record, or as the plain dict a YAML file holds; a name that does not exist is a
ConfigError with the nearest that does.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from strop.errors import ConfigError
from strop.objective.advantage import BatchStandardized, Centered, LeaveOneOut, Standardized
from strop.objective.aggregation import Constant, PromptMean, SequenceMean, TokenMean
from strop.objective.choices import KINDS, choose, choose_correction, choose_regularizers, instead
from strop.objective.objective import Algorithm
from strop.objective.ratio import SequenceProductRatio, SequenceRatio, SequenceTokenRatio, TokenRatio
from strop.objective.regularizer import Kl
from strop.objective.trust import Clip, Divergence, Gamma, Gate, Geometric, Open, Truncate

__all__ = ["KINDS", "ROWS", "Algorithm", "algorithm", "filled"]

_ROWS = (
    Algorithm(
        name="dapo",
        summary="GRPO with clip-higher, no KL, and a mean over all tokens of the batch",
        advantage=Standardized(ddof=1, eps=1e-6),
        ratio=TokenRatio(),
        trust=Clip(low=0.2, high=0.28),
        aggregation=TokenMean(),
        regularizers=(),
        source="DAPO, arXiv 2503.14476, Eq. 8-9; verl's recipe",
        deviations=(
            "the mean is over all tokens of the optimizer batch, as today's reference code does; "
            "Eq. 8 read literally is dapo_prompt",
            "eps 1e-6 and ddof 1 as in verl; the paper gives neither",
            "no dual clip, as in the paper; verl's script adds one at 10",
        ),
    ),
    Algorithm(
        name="dapo_prompt",
        summary="DAPO with Eq. 8 read literally: a token mean inside each prompt's group, then the mean over prompts",
        advantage=Standardized(ddof=1, eps=1e-6),
        ratio=TokenRatio(),
        trust=Clip(low=0.2, high=0.28),
        aggregation=PromptMean(),
        regularizers=(),
        source="DAPO, arXiv 2503.14476, Eq. 8-9; ScaleRL, arXiv 2510.13786, A.2 reads it so",
        deviations=("eps 1e-6 and ddof 1 as in verl; the paper gives neither",),
    ),
    Algorithm(
        name="grpo",
        summary="group z-scores, symmetric clip, a mean per completion, and a KL to the reference",
        advantage=Standardized(ddof=1, eps=1e-6),
        ratio=TokenRatio(),
        trust=Clip(low=0.2, high=0.2),
        aggregation=SequenceMean(),
        regularizers=(Kl(beta=0.04, estimator="k3"),),
        source="DeepSeekMath, arXiv 2402.03300, Eq. 3-4 and section 4.2",
        deviations=(
            "clip 0.2 is PPO's convention; the paper does not give it",
            "eps 1e-6 and ddof 1; the paper gives neither",
        ),
    ),
    Algorithm(
        name="dr_grpo",
        summary="GRPO without its two biases: no division by the group's deviation, none by the completion's length",
        advantage=Centered(),
        ratio=TokenRatio(),
        trust=Clip(low=0.2, high=0.2),
        aggregation=Constant(),
        regularizers=(),
        source="Understanding R1-Zero-like training, arXiv 2503.20783",
        deviations=(
            "token sums are divided by a fixed length, the token budget, as in the authors' code; the formula has none",
        ),
    ),
    Algorithm(
        name="gspo",
        summary="one length-normalised ratio per completion, clipped as a whole",
        advantage=Standardized(ddof=1, eps=1e-6),
        ratio=SequenceRatio(),
        trust=Clip(low=3e-4, high=4e-4),
        aggregation=SequenceMean(),
        regularizers=(),
        source="GSPO, arXiv 2507.18071, Eq. 5-7 and section 5.1",
        deviations=(
            "no KL: the paper leaves it out for brevity",
            "eps 1e-6 and ddof 1; the paper gives neither",
        ),
    ),
    Algorithm(
        name="gspo_token",
        summary="GSPO's ratio with the gradient of each token, so that advantages may differ inside a completion",
        advantage=Standardized(ddof=1, eps=1e-6),
        ratio=SequenceTokenRatio(),
        trust=Clip(low=3e-4, high=4e-4),
        aggregation=SequenceMean(),
        regularizers=(),
        source="GSPO, arXiv 2507.18071, Eq. 13-14",
        deviations=(
            "no KL: the paper leaves it out for brevity",
            "eps 1e-6 and ddof 1; the paper gives neither",
        ),
    ),
    Algorithm(
        name="dppo_tv",
        summary="no ratio clip: a token is dropped when its probability moved more than 0.2 away from the sampler's",
        advantage=Centered(),
        ratio=TokenRatio(anchor="sampler"),
        trust=Divergence(measure="tv", low=0.2, high=0.2),
        aggregation=Constant(),
        regularizers=(),
        source="DPPO, arXiv 2602.04879, Eq. 12 with binary TV",
        deviations=(
            "no cap on the ratio; the paper's scaling runs cap it at 5",
            "token sums are divided by a fixed length, the token budget, as in the authors' script",
        ),
    ),
    Algorithm(
        name="dppo_kl",
        summary="no ratio clip: a token is dropped when its binary KL to the sampler passed 0.05 on the way out",
        advantage=Centered(),
        ratio=TokenRatio(anchor="sampler"),
        trust=Divergence(measure="kl", low=0.05, high=0.05),
        aggregation=Constant(),
        regularizers=(),
        source="DPPO, arXiv 2602.04879, Eq. 12 with binary KL",
        deviations=(
            "no cap on the ratio; the paper's scaling runs cap it at 5",
            "token sums are divided by a fixed length, the token budget, as in the authors' script",
        ),
    ),
    Algorithm(
        name="cispo",
        summary="every token is trained; its importance weight is detached and capped",
        advantage=Standardized(ddof=1, eps=1e-6),
        ratio=TokenRatio(),
        trust=Truncate(cap=5.0),
        aggregation=TokenMean(),
        regularizers=(),
        source="MiniMax-M1, arXiv 2506.13585, Eq. 4-5",
        deviations=(
            "the cap is absolute, 5; the paper does not publish its own",
            "the mean is over all tokens of the optimizer batch; Eq. 4 read literally is aggregation: prompt",
            "eps 1e-6 and ddof 1; the paper gives neither",
        ),
    ),
    Algorithm(
        name="scalerl",
        summary="CISPO against the sampler, advantages scaled over the batch, every prompt counted equally",
        advantage=BatchStandardized(ddof=1, eps=1e-6),
        ratio=TokenRatio(anchor="sampler"),
        trust=Truncate(cap=5.0),
        aggregation=PromptMean(),
        regularizers=(),
        source="ScaleRL, arXiv 2510.13786, sections 3-4",
        deviations=(
            "cap 5: the paper finds 4, 5 and 8 alike",
            "the deviation is over all groups of a step, the weights over those of one update: "
            "with train.updates above 1 these are not the same batch",
            "eps 1e-6 and ddof 1; the paper gives neither",
            "prompts are not retired at a pass rate of 0.9",
        ),
    ),
    Algorithm(
        name="sapo",
        summary="a sigmoid gate in the place of the clip: far tokens fade, none is cut off",
        advantage=Standardized(ddof=1, eps=1e-6),
        ratio=TokenRatio(),
        trust=Gate(positive=1.0, negative=1.05),
        aggregation=SequenceMean(),
        regularizers=(),
        source="SAPO, arXiv 2511.20347",
        deviations=("eps 1e-6 and ddof 1 in the group's z-score",),
    ),
    Algorithm(
        name="luspo",
        summary="GSPO without its division by length: a completion counts as often as it has tokens",
        advantage=Standardized(ddof=1, eps=1e-6),
        ratio=SequenceRatio(),
        trust=Clip(low=2e-3, high=2.5e-3),
        aggregation=Constant(length=1),
        regularizers=(),
        source="LUSPO, arXiv 2602.05261; clip bounds of its section 5.1, as TRL's documentation gives them",
        deviations=(
            "no code of its own: the paper multiplies a completion's loss by its length and averages over completions, "
            "which is weight 1 / S on each of its tokens",
            "eps 1e-6 and ddof 1 in the group's z-score",
        ),
    ),
    Algorithm(
        name="vespo",
        summary="the whole completion's probability ratio, through a smooth kernel that fades what drifted either way",
        advantage=Standardized(ddof=1, eps=1e-6),
        ratio=SequenceProductRatio(),
        trust=Gamma(k_positive=2.0, lambda_positive=3.0, k_negative=3.0, lambda_negative=2.0),
        aggregation=TokenMean(),
        regularizers=(),
        source="VESPO, arXiv 2602.10693, section 3.4; the authors' code and script",
        deviations=(
            "the ratio is taken against the policy's own old log-probs, as in the authors' code; the paper's W is "
            "against the sampler: ratio {kind: sequence_product, anchor: sampler}",
            "a mismatch correction multiplies the loss as in every row; the authors' code and TRL's multiply it into W",
            "log W is clamped to +-20 once, after the sum; the authors' code also clamps every token's log-ratio",
            "eps 1e-6 and ddof 1 in the group's z-score",
        ),
    ),
    Algorithm(
        name="gmpo",
        summary="the geometric mean of a completion's token ratios, each clipped before in log space",
        advantage=Standardized(ddof=1, eps=1e-6),
        ratio=TokenRatio(),
        trust=Geometric(low=0.4, high=0.4),
        aggregation=SequenceMean(),
        regularizers=(),
        source="GMPO, arXiv 2507.20673; the authors' code; bounds exp(-0.4) and exp(0.4)",
        deviations=(
            "the mean over completions is over those with a live token, of the whole optimizer batch",
            "advantages that differ inside a completion clip token by token; verl averages them first",
            "no KL; add one with regularizers",
            "eps 1e-6 and ddof 1 in the group's z-score; the authors' code has 1e-8",
        ),
    ),
    Algorithm(
        name="rloo",
        summary="REINFORCE with the mean of the other completions as its baseline, token sums per completion",
        advantage=LeaveOneOut(),
        ratio=TokenRatio(),
        trust=Open(),
        aggregation=Constant(length=1),
        regularizers=(),
        source="Back to basics, arXiv 2402.14740",
        deviations=(
            "the importance ratio is per token, so that more than one update per batch stays correct to first order",
            "no KL in the reward; add one to the loss with regularizers",
        ),
    ),
)

ROWS: Mapping[str, Algorithm] = types.MappingProxyType({row.name: row for row in _ROWS})
"""The table: name -> row."""


def algorithm(
    name: str,
    *,
    advantage: Any = "",
    ratio: Any = "",
    trust: Any = "",
    correction: Any = "",
    aggregation: Any = "",
    regularizers: Any = "",
    length: int | None = None,
) -> Algorithm:
    """A row of the table, with the choices given in the place of its own.

    A choice is a name ("prompt"), a record (Clip(low=0.2, high=0.3)) or a dict ({"kind": "clip", "high": 0.3});
    "" keeps the row's. `regularizers` takes one or a sequence of them, "none" or [] for none; `correction` takes "none"
    too, which is what every row has. `length`, in tokens, is the divisor of the constant mean and means nothing to the
    others.

    Raises:
        ConfigError: a row, kind or field that does not exist, with the nearest that does; a number out of its bounds;
            a correction beside a ratio against the sampler, a top-K divergence beside one that is not.
    """
    if name not in ROWS:
        raise ConfigError(f"unknown algorithm {name!r}{instead(name, ROWS)}")
    given = {"advantage": advantage, "ratio": ratio, "trust": trust, "aggregation": aggregation}
    changes = {choice: choose(choice, value) for choice, value in given.items() if not _kept(value)}
    if not _kept(correction):
        changes["correction"] = choose_correction(correction)
    if not _kept(regularizers):
        changes["regularizers"] = choose_regularizers(regularizers)
    row = replace(ROWS[name], **changes)
    return row if length is None else _with_length(row, length)


def filled(row: Algorithm, length: int) -> Algorithm:
    """The row with `length` tokens as the divisor of a constant mean that has none yet; any other row unchanged."""
    return _with_length(row, length) if row.aggregation == Constant() else row


def _with_length(row: Algorithm, length: int) -> Algorithm:
    mean = Constant(length)
    return replace(row, aggregation=mean) if isinstance(row.aggregation, Constant) else row


def _kept(value: object) -> bool:
    return value is None or (isinstance(value, str) and value == "")
