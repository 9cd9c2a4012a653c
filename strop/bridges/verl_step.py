"""One optimizer step of verl's own loss code on a batch of log-probs: what its FSDP engine does, without the model.

verl's `ppo_loss` is called with each micro-batch in its packed form; the losses of a rank's micro-batches add up, and
the gradients of ranks are averaged (workers/engine/fsdp/transformer_impl.py of verl 0.9.1).
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from strop.bridges.hard import LENGTHS, HardBatch

Layout = Sequence[Sequence[Sequence[int]]]
"""Rank -> micro-batch -> completions."""


def actor(loss_mode: str = "vanilla", *, loss: dict[str, Any] | None = None, **settings: Any) -> Any:
    """verl's own FSDPActorConfig; `loss` are settings of its policy_loss."""
    config = importlib.import_module("verl.workers.config")
    policy_loss = config.PolicyLossConfig(loss_mode=loss_mode, **(loss or {}))
    needed = {"rollout_n": 1, "ppo_micro_batch_size_per_gpu": 1}
    return config.FSDPActorConfig(policy_loss=policy_loss, **needed, **settings)


class Step(NamedTuple):
    """The gradient by every log-prob, [B, T], and the loss: summed over micro-batches, averaged over ranks."""

    gradient: Tensor
    loss: float


def gradient(batch: HardBatch, layout: Layout, config: Any, **given: Any) -> Tensor:
    """The gradient of the step by every log-prob.    -> [B, T]"""
    return step(batch, layout, config, **given).gradient


def step(batch: HardBatch, layout: Layout, config: Any, *, told: bool = True, column: Tensor | None = None) -> Step:
    """One optimizer step of the loss that `config` names.

    `told`: verl's loss is given the tokens and rows of the whole batch, as in its own trainers; without, it has the
    micro-batch alone, as in a loop of one's own. `column` is handed in as rollout_is_weights, [B, T].
    """
    ppo_loss = importlib.import_module("verl.workers.utils.losses").ppo_loss
    logp = batch.logp.clone().requires_grad_()
    whole = replace(batch, logp=logp)
    info: dict[str, Any] = {"dp_size": len(layout), "batch_num_tokens": None, "global_batch_size": None}
    if told:
        info |= {"batch_num_tokens": int(batch.mask.sum()), "global_batch_size": len(LENGTHS)}
    values: list[float] = []
    with torch.random.fork_rng():
        torch.manual_seed(0)
        for rows in (rows for rank in layout for rows in rank):
            loss = ppo_loss(config, *packed(whole, rows, info, column))[0]
            loss.backward()
            values.append(loss.item())
    summed = torch.zeros_like(logp) if logp.grad is None else logp.grad
    return Step(summed / len(layout), sum(values) / len(layout))


def packed(
    batch: HardBatch, rows: Sequence[int], info: dict[str, Any], column: Tensor | None
) -> tuple[dict[str, Tensor], Any]:
    """A micro-batch as verl's engine hands it to the loss: a prompt of one token, nothing padded, log-probs shifted."""
    tensors = importlib.import_module("verl.utils.tensordict_utils")
    zero = batch.logp.new_zeros(1)
    whole = {
        "response_mask": batch.mask.long(),
        "old_log_probs": batch.old_logp,
        "ref_log_prob": batch.ref_logp,
        "advantages": batch.advantage[:, None].expand_as(batch.logp),
        **({} if column is None else {"rollout_is_weights": column}),
    }
    fields = {name: [value[i, : LENGTHS[i]].contiguous() for i in rows] for name, value in whole.items()}
    fields["prompts"] = [torch.zeros(1, dtype=torch.int64) for _ in rows]
    fields["responses"] = [torch.zeros(LENGTHS[i], dtype=torch.int64) for i in rows]
    data = tensors.get_tensordict({name: nested(parts) for name, parts in fields.items()}, info)
    return {"log_probs": nested([torch.cat([batch.logp[i, : LENGTHS[i]], zero]) for i in rows])}, data


def nested(parts: Sequence[Tensor]) -> Tensor:
    """A jagged tensor of these rows, their gradients kept."""
    lengths = [part.numel() for part in parts]
    packed_jagged: Any = torch.nested.nested_tensor_from_jagged
    offsets = torch.tensor([0, *lengths]).cumsum(0)
    return packed_jagged(torch.cat(list(parts)), offsets, min_seqlen=min(lengths), max_seqlen=max(lengths))
