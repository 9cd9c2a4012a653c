"""The objective on the shapes people have: [B, T] tensors and a mask, one row per completion.

Tokens are selected by the mask, never multiplied by it: whatever stands under a 0 (NaN, inf, 1e30) reaches neither
the loss, nor the metrics, nor the gradient. Axes: B completions, T padded positions.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from strop.objective.advantage import Advantage
from strop.objective.aggregation import Aggregation, Constant, weigh
from strop.objective.choices import choose
from strop.objective.given import group_doubts, mask_doubts, same_shape, settle, weight_doubts
from strop.objective.objective import Algorithm, Loss, objective
from strop.objective.streams import Streams

SHORT = {"clip_high": "clip_ratio/high_mean", "clip_low": "clip_ratio/low_mean"}


def advantages(reward: Tensor, group: Tensor, kind: str | Advantage = "standardized") -> Tensor:
    """Credit of each completion among the completions of its group.    [B], [B] -> [B], float64

    `group` is an id per completion: any integers, not necessarily adjacent. `kind` is standardized, centered,
    leave_one_out or batch_standardized, or a record with its own ddof and eps.

    Raises:
        ConfigError: an unknown kind, or one with a field that it has not.
        RewardError: an infinite reward; a NaN one only takes its completion out.
        ValueError: shapes other than [B] and [B]; an id that is no whole number.
    """
    estimator: Advantage = choose("advantage", kind)
    reward = torch.as_tensor(reward)
    group = torch.as_tensor(group, device=reward.device)
    settle(group_doubts(group))
    return estimator(reward, group)


def token_weights(
    mask: Tensor, group: Tensor, aggregation: str | Aggregation = "token", length: int | None = None
) -> Tensor:
    """Each token's share of the objective; 0 under the mask.    [B, T], [B] -> [B, T], float64

    `aggregation` is token, prompt, sequence or constant, which needs `length`. Compute once for an optimizer batch,
    from the final mask; a micro-batch takes its slice. A bool mask and integer ids need no look at their values.

    Raises:
        ConfigError: an unknown aggregation, a constant one without a length, a length that is no number of tokens.
        ValueError: shapes other than [B, T] and [B]; a mask that is not 0 or 1; an id that is no whole number.
    """
    mean: Aggregation = choose("aggregation", aggregation)
    budget = None if length is None else Constant(length)
    if isinstance(mean, Constant) and budget is not None:
        mean = budget
    keep, group = _live(mask), _groups(group, mask)
    settle([*mask_doubts(mask), *group_doubts(group)])
    weight_N = weigh(mean, _rows(keep), group)
    return torch.zeros(keep.shape, dtype=weight_N.dtype, device=keep.device).masked_scatter(keep, weight_N)


def policy_loss(
    row: Algorithm,
    *,
    logp: Tensor,
    old_logp: Tensor | None = None,
    advantage: Tensor,
    mask: Tensor,
    group: Tensor,
    weight: Tensor | None = None,
    ref_logp: Tensor | None = None,
    sampler_logp: Tensor | None = None,
    masked_logp: Tensor | None = None,
    entropy: Tensor | None = None,
    sampler_top_logp: Tensor | None = None,
    top_logp: Tensor | None = None,
    top_is_sampled: Tensor | None = None,
) -> Loss:
    """The row's loss over padded tensors: out.value to call backward on, out.metrics, out.loss_N.

    Everything is [B, T], but `group` [B], `advantage` [B] or [B, T], and the three `top` ones of a top-K divergence
    [B, T, K]: log-probs of the sampler's K most likely ids, those of the policy at the same ids, and which of these ids
    is the sampled token. With `weight` None the weights are those of the mask given; whoever splits a batch computes
    token_weights once and passes each part its slice. An all-masked batch gives exactly 0, attached to the graph. The
    metrics are the objective's, and clip_high and clip_low. Log-probs and advantages are taken as they are: NaN at a
    live token is NaN in the loss.

    Raises:
        ConfigError: a stream that the row reads is not there, or its constant mean has no length.
        ValueError: a tensor that has not the shape of the mask; a mask that is not 0 or 1; an id that is no whole
            number; a live token whose weight is negative or not finite.
    """
    keep, group = _live(mask), _groups(group, mask)
    same_shape(keep, logp=logp, old_logp=old_logp, weight=weight, ref_logp=ref_logp)
    same_shape(keep, sampler_logp=sampler_logp, masked_logp=masked_logp, entropy=entropy)
    tops = {"sampler_top_logp": sampler_top_logp, "top_logp": top_logp, "top_is_sampled": top_is_sampled}
    _same_tops(keep, tops)
    advantage = _per_token(advantage, keep)
    settle([*mask_doubts(mask), *group_doubts(group), *([] if weight is None else weight_doubts(weight, keep))])
    seq_N = _rows(keep)
    weight_N = row.weights(seq_N, group) if weight is None else weight[keep]
    given = {"old_logp": old_logp, "sampler_logp": sampler_logp, "ref_logp": ref_logp, "masked_logp": masked_logp}
    wanted = {name: value for name, value in given.items() if name in row.reads}
    optional = {f"{name}_N": value[keep] for name, value in {**wanted, "entropy": entropy}.items() if value is not None}
    optional |= {f"{name}_NK": value[keep] for name, value in tops.items() if value is not None and name in row.reads}
    out = objective(row, Streams(logp[keep], advantage[keep], weight_N, seq_N, **optional))
    return replace(out, metrics={**out.metrics, **{short: out.metrics[name] for short, name in SHORT.items()}})


def _live(mask: Tensor) -> Tensor:
    """The mask as booleans.    -> [B, T]"""
    if mask.dim() != 2:
        raise ValueError(f"mask must be [B, T], got {[*mask.shape]}")
    return mask != 0


def _rows(keep: Tensor) -> Tensor:
    """The row of each live token.    [B, T] -> [N]"""
    return keep.nonzero()[:, 0]


def _groups(group: Tensor, mask: Tensor) -> Tensor:
    group = torch.as_tensor(group, device=mask.device)
    if group.shape != mask.shape[:1]:
        raise ValueError(f"group must be [B] = [{mask.shape[0]}], one id per completion, got {[*group.shape]}")
    return group


def _per_token(advantage: Tensor, keep: Tensor) -> Tensor:
    """One advantage for each token, whether they came so or one for each completion.    -> [B, T]"""
    if advantage.shape not in (keep.shape, keep.shape[:1]):
        want = f"[{keep.shape[0]}], one per completion, or {[*keep.shape]} like the mask"
        raise ValueError(f"advantage must be {want}, got {[*advantage.shape]}")
    return advantage if advantage.dim() == 2 else advantage[:, None].expand(keep.shape)


def _same_tops(keep: Tensor, tops: dict[str, Tensor | None]) -> None:
    for name, value in tops.items():
        if value is not None and (value.dim() != 3 or value.shape[:2] != keep.shape):
            raise ValueError(f"{name} must be {[*keep.shape]} like the mask and K ids deep, got {[*value.shape]}")
