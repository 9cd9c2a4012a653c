"""The loss of a row, token by token, with its metrics and its gradient by hand.

value = sum over live tokens of  weight * ( trust(ratio, advantage) + sum of regularizers )
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from numpy.typing import ArrayLike

from strop.errors import ConfigError
from strop.metrics import High, Low, Mean, Metric, Sum
from strop.reference.aggregation import token_weights
from strop.reference.arrays import Batch, Floats, Grid, floats, grid
from strop.reference.ratio import BOUND, hand_back, ratios
from strop.reference.regularizer import kl_token
from strop.reference.trust import TRUSTS


@dataclass(frozen=True, slots=True)
class Loss:
    """`value`, the sum of weight * `loss`; its derivatives by logp and by the entropy stream; all others are [B, T]."""

    value: float
    metrics: dict[str, Metric]
    loss: Floats
    gradient: Floats
    entropy_gradient: Floats


@dataclass(frozen=True, slots=True)
class Term:
    """One term of the loss: per token its value, and its derivatives, already weighted, by logp and by entropy."""

    loss: Grid
    gradient: Grid
    entropy_gradient: Grid
    metrics: dict[str, Metric]


def policy_loss(
    row: Any,
    *,
    logp: ArrayLike,
    old_logp: ArrayLike | None = None,
    advantage: ArrayLike,
    mask: ArrayLike,
    group: ArrayLike,
    weight: ArrayLike | None = None,
    ref_logp: ArrayLike | None = None,
    sampler_logp: ArrayLike | None = None,
    masked_logp: ArrayLike | None = None,
    entropy: ArrayLike | None = None,
) -> Loss:
    """The row's loss over padded arrays.    all [B, T], but group [B] and advantage [B] or [B, T]

    Raises:
        ConfigError: a stream that the row reads is not there, or its constant mean has no length.
    """
    given = {"old_logp": old_logp, "sampler_logp": sampler_logp, "ref_logp": ref_logp, "masked_logp": masked_logp}
    read = demanded(row, {**given, "entropy": entropy})
    batch = Batch(grid(mask), grid(logp), read[f"{row.ratio.anchor}_logp"])
    weights = grid(token_weights(mask, group, row.aggregation) if weight is None else weight)
    credit = floats(advantage)
    advantages = grid(credit) if credit.ndim == 2 else [[a] * len(batch.mask[0]) for a in credit.tolist()]
    terms = [policy_term(row, batch, weights, advantages)]
    for regularizer in row.regularizers:
        if regularizer.kind == "kl":
            terms.append(kl_term(regularizer, batch, weights, read["ref_logp"]))
        else:
            terms.append(entropy_term(regularizer, batch, weights, read["entropy"]))
    total = floats(batch.zeros()) + sum(floats(term.loss) for term in terms)
    metrics = {name: metric for term in terms for name, metric in term.metrics.items()}
    metrics["policy_loss"] = Sum(weighed(weights, terms[0].loss, batch))
    metrics["loss"] = Sum(sum(weighed(weights, term.loss, batch) for term in terms))
    metrics["prob"] = mean([math.exp(batch.logp[i][t]) for i, t in batch.live])
    if entropy is not None:
        entropies = grid(entropy)
        metrics["entropy"] = mean([entropies[i][t] for i, t in batch.live])
    gradient = floats(batch.zeros()) + sum(floats(term.gradient) for term in terms)
    entropy_gradient = floats(batch.zeros()) + sum(floats(term.entropy_gradient) for term in terms)
    return Loss(metrics["loss"].total, metrics, total, gradient, entropy_gradient)


def demanded(row: Any, given: dict[str, ArrayLike | None]) -> dict[str, Grid]:
    """The streams that the row reads; a ConfigError naming row and stream where one was not given."""
    read: dict[str, Grid] = {}
    for name in sorted(row.reads):
        value = given[name]
        if value is None:
            raise ConfigError(f"{row.name} reads {name}, which was not given: pass {name}=")
        read[name] = grid(value)
    return read


def policy_term(row: Any, batch: Batch, weight: Grid, advantage: Grid) -> Term:
    """trust(ratio, advantage) at every token."""
    ratio = ratios(row.ratio.kind, batch)
    loss, slope, gradient = batch.zeros(), batch.zeros(), batch.zeros()
    high: list[tuple[int, int]] = []
    low: list[tuple[int, int]] = []
    for i, t in batch.live:
        trust = TRUSTS[row.trust.kind]
        token = trust(ratio[i][t], advantage[i][t], batch.logp[i][t], batch.anchor[i][t], **asdict(row.trust))
        loss[i][t] = token.loss
        slope[i][t] = weight[i][t] * token.by_ratio
        gradient[i][t] = weight[i][t] * token.by_logp
        high += [(i, t)] if token.high else []
        low += [(i, t)] if token.low else []
    through_ratio = hand_back(row.ratio.kind, slope, ratio, batch)
    for i, t in batch.live:
        gradient[i][t] += through_ratio[i][t]
    values = [ratio[i][t] for i, t in batch.live]
    metrics: dict[str, Metric] = {
        "ratio": mean(values),
        "clip_high": Mean(len(high), len(values)),
        "clip_low": Mean(len(low), len(values)),
        "clip_ratio/high_mean": Mean(len(high), len(values)),
        "clip_ratio/low_mean": Mean(len(low), len(values)),
        "clip_ratio/high_prob": mean([math.exp(batch.anchor[i][t]) for i, t in high]),
    }
    if values:
        metrics |= {"ratio/max": High(max(values)), "ratio/min": Low(min(values))}
    return Term(loss, gradient, batch.zeros(), metrics)


def kl_term(kl: Any, batch: Batch, weight: Grid, ref: Grid) -> Term:
    """beta * the KL estimate at every token."""
    loss, gradient = batch.zeros(), batch.zeros()
    values: list[float] = []
    for i, t in batch.live:
        value, by_logp = kl_token(batch.logp[i][t], ref[i][t], batch.anchor[i][t], kl.estimator)
        loss[i][t] = kl.beta * value
        gradient[i][t] = weight[i][t] * kl.beta * by_logp
        values.append(value)
    clamped = sum(1 for i, t in batch.live if abs(batch.logp[i][t] - ref[i][t]) > BOUND)
    return Term(loss, gradient, batch.zeros(), {"kl": mean(values), "kl/clamped": Sum(clamped)})


def entropy_term(bonus: Any, batch: Batch, weight: Grid, entropy: Grid) -> Term:
    """-beta * the policy's entropy at every token: a bonus lowers the loss."""
    loss, by_entropy = batch.zeros(), batch.zeros()
    for i, t in batch.live:
        loss[i][t] = -bonus.beta * entropy[i][t]
        by_entropy[i][t] = -bonus.beta * weight[i][t]
    return Term(loss, batch.zeros(), by_entropy, {})


def weighed(weight: Grid, loss: Grid, batch: Batch) -> float:
    return sum((weight[i][t] * loss[i][t] for i, t in batch.live), start=0.0)


def mean(values: list[float]) -> Mean:
    return Mean(sum(values, start=0.0), len(values))
