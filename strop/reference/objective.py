"""The loss of a row, token by token, with its metrics and its gradient by hand.

value = sum over live tokens of  weight * ( correction * trust(ratio, advantage) + sum of regularizers )
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from strop.errors import ConfigError
from strop.metrics import High, Low, Mean, Metric, Sum
from strop.reference.aggregation import token_weights
from strop.reference.arrays import Batch, Floats, Grid, floats, grid, masked, same_shape, same_tops
from strop.reference.correction import factor
from strop.reference.ratio import BOUND, hand_back, ratios
from strop.reference.regularizer import kl_token
from strop.reference.trust import TRUSTS, geometric


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
    sampler_top_logp: ArrayLike | None = None,
    top_logp: ArrayLike | None = None,
    top_is_sampled: ArrayLike | None = None,
) -> Loss:
    """The row's loss over padded arrays.    all [B, T], but group [B], advantage [B] or [B, T], the tops [B, T, K]

    Raises:
        ConfigError: a stream that the row reads is not there, or its constant mean has no length.
        ValueError: an array that has not the shape of the mask; a mask that is not 0 or 1; an id that is no whole
            number; a live token whose weight is negative or not finite.
    """
    given = {"old_logp": old_logp, "sampler_logp": sampler_logp, "ref_logp": ref_logp, "masked_logp": masked_logp}
    tops = {"sampler_top_logp": sampler_top_logp, "top_logp": top_logp, "top_is_sampled": top_is_sampled}
    read = demanded(row, {**given, "entropy": entropy, **tops})
    rows, _ = masked(mask, group)
    same_shape(mask, {"logp": logp, **given, "entropy": entropy, "weight": weight})
    same_tops(mask, tops)
    batch = Batch(rows, grid(logp), read[f"{row.ratio.anchor}_logp"])
    weights = grid(token_weights(mask, group, row.aggregation)) if weight is None else shares(weight, batch)
    advantages = per_token(advantage, np.shape(mask))
    terms = [policy_term(row, batch, weights, advantages, read)]
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


def demanded(row: Any, given: dict[str, ArrayLike | None]) -> dict[str, Any]:
    """The streams that the row reads; a ConfigError naming row and stream where one was not given."""
    read: dict[str, Any] = {}
    for name in sorted(row.reads):
        value = given[name]
        if value is None:
            raise ConfigError(f"{row.name} reads {name}, which was not given: pass {name}=")
        read[name] = grid(value)
    return read


def shares(weight: ArrayLike, batch: Batch) -> Grid:
    """Weights that were given; a ValueError for one of a live token that is no share of anything."""
    found = grid(weight)
    for i, t in batch.live:
        if not 0 <= found[i][t] < math.inf:
            raise ValueError(f"weight[{i}, {t}] is {found[i][t]:g}: a live token's weight is finite and 0 or more")
    return found


def per_token(advantage: ArrayLike, shape: tuple[int, ...]) -> Grid:
    """One advantage for each token, whether they came so or one for each completion."""
    if np.shape(advantage) not in (shape, shape[:1]):
        want = f"[{shape[0]}], one per completion, or {[*shape]} like the mask"
        raise ValueError(f"advantage must be {want}, got {[*np.shape(advantage)]}")
    credit = floats(advantage)
    return grid(credit if credit.ndim == 2 else np.repeat(credit[:, None], shape[1], axis=1))


def policy_term(row: Any, batch: Batch, weight: Grid, advantage: Grid, read: dict[str, Any]) -> Term:
    """trust(ratio, advantage) at every token, times its correction."""
    ratio = ratios(row.ratio.kind, batch)
    factors, corrections = corrected(row.correction, batch, read)
    share = [[w * c for w, c in zip(ws, cs, strict=True)] for ws, cs in zip(weight, factors, strict=True)]
    if row.trust.kind == "geometric":
        held = completions(row, batch, ratio, advantage=advantage, share=share)
    else:
        held = tokens(row, batch, ratio, advantage=advantage, share=share, read=read)
    loss = [[x * c for x, c in zip(xs, cs, strict=True)] for xs, cs in zip(held.loss, factors, strict=True)]
    through_ratio = hand_back(row.ratio.kind, held.slope, ratio, batch)
    gradient = floats(held.gradient) + floats(through_ratio)
    values = [ratio[i][t] for i, t in batch.live]
    metrics: dict[str, Metric] = {
        "ratio": mean(values),
        "clip_high": Mean(len(held.high), len(values)),
        "clip_low": Mean(len(held.low), len(values)),
        "clip_ratio/high_mean": Mean(len(held.high), len(values)),
        "clip_ratio/low_mean": Mean(len(held.low), len(values)),
        "clip_ratio/high_prob": mean([math.exp(batch.anchor[i][t]) for i, t in held.high]),
        **corrections,
    }
    if values:
        metrics |= {"ratio/max": High(max(values)), "ratio/min": Low(min(values))}
    return Term(loss, gradient.tolist(), batch.zeros(), metrics)


class Held(NamedTuple):
    """Of every token the loss before its correction, and its share of the loss differentiated by ratio and by logp."""

    loss: Grid
    slope: Grid
    gradient: Grid
    high: list[tuple[int, int]]
    low: list[tuple[int, int]]


def tokens(row: Any, batch: Batch, ratio: Grid, *, advantage: Grid, share: Grid, read: dict[str, Any]) -> Held:
    """A trust region that looks at one token at a time."""
    held = Held(batch.zeros(), batch.zeros(), batch.zeros(), [], [])
    for i, t in batch.live:
        numbers = asdict(row.trust)
        if numbers.get("topk"):
            tops = zip(*(read[name][i][t] for name in ("sampler_top_logp", "top_logp", "top_is_sampled")), strict=True)
            numbers["others"] = [(mu, pi) for mu, pi, sampled in tops if not sampled]
        token = TRUSTS[row.trust.kind](ratio[i][t], advantage[i][t], batch.logp[i][t], batch.anchor[i][t], **numbers)
        held.loss[i][t] = token.loss
        held.slope[i][t] = share[i][t] * token.by_ratio
        held.gradient[i][t] = share[i][t] * token.by_logp
        held.high.extend([(i, t)] if token.high else [])
        held.low.extend([(i, t)] if token.low else [])
    return held


def completions(row: Any, batch: Batch, ratio: Grid, *, advantage: Grid, share: Grid) -> Held:
    """A trust region that looks at a completion at a time: the geometric mean."""
    held = Held(batch.zeros(), batch.zeros(), batch.zeros(), [], [])
    for i in sorted({i for i, _ in batch.live}):
        steps = batch.steps(i)
        one = geometric([ratio[i][t] for t in steps], [advantage[i][t] for t in steps], **asdict(row.trust))
        for n, t in enumerate(steps):
            held.loss[i][t] = one.loss[n]
            held.slope[i][t] = sum(share[i][u] * one.by_ratio[m][n] for m, u in enumerate(steps))
            held.high.extend([(i, t)] if one.high[n] else [])
            held.low.extend([(i, t)] if one.low[n] else [])
    return held


def corrected(correction: Any, batch: Batch, read: dict[str, Any]) -> tuple[Grid, dict[str, Metric]]:
    """What each token's policy loss is multiplied by, 1 without a correction, and the metrics of one."""
    factors = [[1.0] * len(row) for row in batch.mask]
    if correction is None:
        return factors, {}
    mismatch = Batch(batch.mask, read["old_logp"], read["sampler_logp"])
    found = {(i, t): factor(correction, mismatch, i, t) for i, t in batch.live}
    for (i, t), one in found.items():
        factors[i][t] = one.value
    return factors, {
        "correction": mean([one.value for one in found.values()]),
        "correction/dropped": mean([float(one.dropped) for one in found.values()]),
        "correction/capped": mean([float(one.capped) for one in found.values()]),
    }


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
