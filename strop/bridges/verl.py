"""strop's rows as policy losses of verl: pure functions with the signature that verl's registry takes.

    strop.bridges.verl.register()                  every row; then actor.policy_loss.loss_mode=strop_dapo
    loss = strop.bridges.verl.policy_loss("dapo")  or one of them, as a function

verl calls a loss with one micro-batch, and tells it three numbers of the whole optimizer batch: its live tokens, its
rows, and the ranks that the gradient will be averaged over. They are what strop's counts hold, so these means are the
batch's under every micro-batch size, dynamic micro-batch and number of ranks:

    the row's mean   loss_agg_mode             a token's weight
    token            token-mean                1 / batch_num_tokens
    sequence         seq-mean-token-mean       1 / (global_batch_size * tokens of its row)
    constant         seq-mean-token-sum-norm   1 / (global_batch_size * loss_scale_factor), which must be set
    prompt           token-sum                 what the caller hands in: verl tells no loss which rows are one prompt

`loss_agg_mode` has to be the one beside the row's mean, because verl takes its KL and entropy terms by it.
global_batch_size is the configured number of rows: a batch with wholly masked rows is trained smaller by their share,
where strop counts live rows. `column=True` takes each token's weight from the caller for any row, exact there too.
Read in verl 0.9.1: trainer/ppo/core_algos.py, workers/utils/losses.py, workers/engine/fsdp/transformer_impl.py.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from strop.algorithms import ROWS, Algorithm, algorithm, filled
from strop.bridges.peers import demand
from strop.errors import ConfigError
from strop.objective.aggregation import Counts
from strop.objective.objective import Loss, objective
from strop.objective.padded import token_weights
from strop.objective.regularizer import EntropyBonus, Kl
from strop.objective.streams import Streams, widest

MODES = {"token": "token-mean", "sequence": "seq-mean-token-mean", "constant": "seq-mean-token-sum-norm"}
COLUMN_MODE = "token-sum"
KL_TYPES = {"k2": ("mse", "k2"), "k3": ("low_var_kl", "k3")}
COUNTS = ("batch_num_tokens", "global_batch_size")
ADDED = frozenset({"ref_logp", "entropy"})
"""The streams of terms that verl adds itself, beside the policy loss."""

PolicyLoss = Callable[..., tuple[Tensor, dict[str, float]]]


def policy_loss(row: str | Algorithm, *, column: bool = False, bypass: bool = False) -> PolicyLoss:
    """The row as a policy loss of verl: micro-batch [B, T] -> (loss, metrics), to be given to `register_policy_loss`.

    With `column` (always for a prompt mean) rollout_is_weights holds each token's weight, as `weights` makes them;
    without, it holds importance weights that multiply the loss. With `bypass` old_log_prob holds the sampler's
    log-probs, as under algorithm.rollout_correction.bypass_mode of verl's V1 trainer: rows anchored on the sampler
    need it. A KL or entropy term is left to verl, whose config must ask for the row's own.

    Raises:
        ConfigError: an unknown row, or one that reads what verl hands to no loss. When called: a config under which
            the loss would be another one, in one line that says what to set.
    """
    chosen = algorithm(row) if isinstance(row, str) else row
    column = column or chosen.aggregation.kind == "prompt"
    _demand_streams(chosen, bypass)

    def loss(  # noqa: PLR0917 - the signature is verl's
        old_log_prob: Tensor,
        log_prob: Tensor,
        advantages: Tensor,
        response_mask: Tensor,
        loss_agg_mode: str = "token-mean",
        config: Any = None,
        rollout_is_weights: Tensor | None = None,
    ) -> tuple[Tensor, dict[str, float]]:
        """The row's loss of a micro-batch, as verl sums them, and three of its metrics."""
        info = _info(chosen, config, column)
        _demand_terms(chosen, config, column)
        agreed = _with_mode(chosen, COLUMN_MODE if column else loss_agg_mode, loss_agg_mode, info)
        keep = _live(response_mask, log_prob, old_log_prob, advantages, rollout_is_weights)
        seq_N = keep.nonzero()[:, 0]
        weight_N = _column(agreed, rollout_is_weights, keep) if column else _weights(agreed, seq_N, keep, info)
        if rollout_is_weights is not None and not column:
            weight_N = weight_N * rollout_is_weights[keep]
        anchor: dict[str, Any] = {f"{agreed.anchor}_logp_N": old_log_prob[keep]}
        out = objective(agreed, Streams(log_prob[keep], advantages[keep], weight_N, seq_N, **anchor))
        return out.value * info["dp_size"], _metrics(out)

    loss.__name__ = f"strop_{chosen.name}"
    return loss


def register(*, column: bool = False, bypass: bool = False) -> list[str]:
    """Register every row of strop with the installed verl, and return their names there: strop_dapo, strop_grpo, ...

    A row that verl cannot feed is registered too: choosing it says why in one line.
    """
    demand("verl")
    add = importlib.import_module("verl.trainer.ppo.core_algos").register_policy_loss
    names: list[str] = []
    for name in ROWS:
        names.append(f"strop_{name}")
        add(names[-1])(_or_refusal(name, column, bypass))
    return names


def weights(row: str | Algorithm, response_mask: Tensor, uid: Sequence[Any], length: int | None = None) -> Tensor:
    """Each token's weight under the row's mean: the column for one optimizer batch.    [B, T], [B] -> [B, T], float32

    `response_mask` is the final one of the whole optimizer batch, on all ranks together; `uid` is verl's id of each
    row's prompt. verl's importance weights, if any, are to be multiplied in by the caller.
    """
    chosen = algorithm(row) if isinstance(row, str) else row
    ids = {one: number for number, one in enumerate(dict.fromkeys(uid))}
    group = torch.tensor([ids[one] for one in uid], dtype=torch.int64)
    return token_weights(response_mask, group, chosen.aggregation, length).float()


def _or_refusal(name: str, column: bool, bypass: bool) -> PolicyLoss:
    try:
        return policy_loss(name, column=column, bypass=bypass)
    except ConfigError as error:
        text = str(error)

    def refusal(*_: Any, **__: Any) -> tuple[Tensor, dict[str, float]]:
        raise ConfigError(text)

    return refusal


def _demand_streams(row: Algorithm, bypass: bool) -> None:
    """ConfigError where the row reads a stream that verl does not hand to a policy loss."""
    missing = sorted(row.reads - ADDED - {"old_logp", "sampler_logp"})
    if missing:
        raise ConfigError(f"{row.name} reads {', '.join(missing)}, which verl hands to no policy loss")
    if row.anchor == "sampler" and not bypass:
        raise ConfigError(
            f"{row.name} takes its ratio against the sampler, and verl scores old_log_probs again: set "
            "algorithm.rollout_correction.bypass_mode=True (V1 trainer), and bypass=True here"
        )
    if row.anchor == "old" and bypass:
        raise ConfigError(
            f"{row.name} takes its ratio against old log-probs, which bypass_mode replaces by the sampler's: take "
            "bypass=True away, or give the row's ratio anchor: sampler"
        )
    if row.reads >= {"old_logp", "sampler_logp"}:
        raise ConfigError(
            f"{row.name} reads both old_logp and sampler_logp, and verl hands a loss one of them: leave the "
            "correction to verl's algorithm.rollout_correction"
        )


def _info(row: Algorithm, config: Any, column: bool) -> Mapping[str, Any]:
    """verl's numbers of the whole optimizer batch; a ConfigError where one that is needed is not there."""
    info = getattr(config, "global_batch_info", None) or {}
    needed = ("dp_size",) if column else ("dp_size", *COUNTS)
    missing = [name for name in needed if info.get(name) is None]
    if missing:
        raise ConfigError(
            f"strop_{row.name}: config.global_batch_info lacks {', '.join(missing)}; without them a mean would be that "
            "of the micro-batch"
        )
    return info


def _demand_terms(row: Algorithm, config: Any, column: bool) -> None:
    """ConfigError where the terms that verl adds to the policy loss are not the row's."""
    kl = next((one for one in row.regularizers if isinstance(one, Kl)), None)
    entropy = next((one for one in row.regularizers if isinstance(one, EntropyBonus)), None)
    if column and (kl or entropy or config.use_kl_loss or config.entropy_coeff):
        raise ConfigError(
            f"strop_{row.name} by a column of weights: verl would add its KL and entropy terms by {COLUMN_MODE}, as "
            "sums over tokens; set use_kl_loss=False and entropy_coeff=0, and the row's regularizers to none"
        )
    if kl:
        types = KL_TYPES.get(kl.estimator, ())
        if not (config.use_kl_loss and config.kl_loss_coef == kl.beta and config.kl_loss_type in types):
            named = " or ".join(types) or f"(verl has no {kl.estimator}: give the row k2 or k3)"
            raise ConfigError(
                f"strop_{row.name} has a KL term, which verl adds: set use_kl_loss=True, kl_loss_coef={kl.beta:g}, "
                f"kl_loss_type={named}"
            )
    if entropy and config.entropy_coeff != entropy.beta:
        raise ConfigError(f"strop_{row.name} has an entropy term, which verl adds: set entropy_coeff={entropy.beta:g}")


def _with_mode(row: Algorithm, wanted: str, given: str, info: Mapping[str, Any]) -> Algorithm:
    """The row without the terms that verl adds, its constant mean filled in; ConfigError for another loss_agg_mode."""
    mean, factor = row.aggregation, info.get("loss_scale_factor")
    length = getattr(mean, "length", 0)
    if wanted != COLUMN_MODE:
        wanted = "seq-mean-token-sum" if length == 1 and factor is None else MODES[mean.kind]
    if given != wanted:
        raise ConfigError(
            f"strop_{row.name} takes the {mean.kind} mean: set loss_agg_mode={wanted}, is {given}; verl takes its KL "
            "and entropy terms by it"
        )
    if mean.kind == "constant" and wanted == MODES["constant"] and (factor is None or length not in (0, factor)):
        needed = f"{length}" if length else "the largest response length"
        raise ConfigError(f"strop_{row.name}: set loss_scale_factor={needed}, is {factor}: None is the padded width")
    return filled(replace(row, regularizers=()), int(factor or 1))


def _live(mask: Tensor, log_prob: Tensor, *others: Tensor | None) -> Tensor:
    """The mask as booleans [B, T]; ValueError for shapes that differ, and for a mask that is not 0 and 1."""
    for tensor in (log_prob, *others):
        if tensor is not None and tensor.shape != mask.shape:
            raise ValueError(f"response_mask is {[*mask.shape]}, and a tensor beside it {[*tensor.shape]}")
    keep = mask != 0
    if mask.dim() != 2 or not bool((mask[keep] == 1).all()):
        raise ValueError(f"response_mask must be [B, T] of 0 and 1, got {[*mask.shape]} with {mask.dtype}")
    return keep


def _weights(row: Algorithm, seq_N: Tensor, keep: Tensor, info: Mapping[str, Any]) -> Tensor:
    """Weights by the counts of the whole optimizer batch; no prompt is told apart, so all are one."""
    wide = widest(keep.device)
    tokens, rows = (torch.tensor(info[name], dtype=wide, device=keep.device) for name in COUNTS)
    prompt_S = torch.zeros(keep.shape[0], dtype=torch.int64, device=keep.device)
    return row.weights(seq_N, prompt_S, Counts(tokens[None], rows))


def _column(row: Algorithm, column: Tensor | None, keep: Tensor) -> Tensor:
    """The weights handed in; a ConfigError where there are none, or where they cannot be weights."""
    if column is None:
        raise ConfigError(
            f"strop_{row.name} takes the {row.aggregation.kind} mean from the caller: put strop.bridges.verl.weights "
            "into the batch as rollout_is_weights"
        )
    weight_N = column[keep]
    total = float(weight_N.sum())
    if row.aggregation.kind != "constant" and not 0 <= total <= 1 + 1e-3:
        raise ConfigError(
            f"strop_{row.name}: rollout_is_weights sum to {total:g} over a micro-batch; token weights sum to at most 1 "
            "over the whole batch, so these are importance weights"
        )
    return weight_N


def _metrics(out: Loss) -> dict[str, float]:
    """Token means of this micro-batch, 0 without a token. verl then averages them over micro-batches."""
    names = {"clip_high": "clip_ratio/high_mean", "clip_low": "clip_ratio/low_mean", "ratio": "ratio"}
    means = {name: out.metrics[metric].mean for name, metric in names.items()}
    return {f"actor/{name}": 0.0 if math.isnan(mean) else mean for name, mean in means.items()}
