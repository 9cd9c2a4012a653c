"""Faults that trainers have had, each a patch of a shipped module: what `strop check` must find.

A function of no arguments, so that a rank of the check can be told to plant it before it starts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from strop.batch import build
from strop.batch.build import Batch
from strop.batch.split import MicroBatch
from strop.metrics import Mean, Metrics
from strop.policy import step
from strop.policy.mesh import Mesh
from strop.policy.model import Policy
from strop.policy.step import Learner, Scored

Patch = Callable[[Any, str, Any], None]
"""How an attribute is replaced: setattr, or a test's monkeypatch.setattr, which takes it back."""

Weigh = Callable[[Batch, MicroBatch, int], Tensor]
"""The weights of a micro-batch's tokens: of a batch, in one of so many micro-batches."""


def reweighed(weigh: Weigh, patch: Patch) -> None:
    """Weights that are made anew for each micro-batch, inside the loop."""
    original = Learner.accumulate

    def accumulate(self: Learner, scored: Scored, tick: Any) -> Metrics:
        weight_N = scored.batch.weight_N.clone()
        for micro in scored.parts:
            weight_N[micro.index_n] = weigh(scored.batch, micro, len(scored.parts))
        return original(self, replace(scored, batch=replace(scored.batch, weight_N=weight_N)), tick)

    patch(Learner, "accumulate", accumulate)


def mean_of(batch: Batch, micro: MicroBatch) -> Tensor:
    n = micro.index_n.numel()
    return torch.full((n,), 1 / max(n, 1), dtype=torch.float64)


def mean_of_means(patch: Patch = setattr) -> None:
    """A token mean inside each micro-batch, and the mean of these."""
    reweighed(lambda batch, micro, parts: mean_of(batch, micro) / parts, patch)


def no_divisor(patch: Patch = setattr) -> None:
    """A token mean inside each micro-batch, and the sum of these: the accumulation divisor is missing."""
    reweighed(lambda batch, micro, parts: mean_of(batch, micro), patch)


def two_divisors(patch: Patch = setattr) -> None:
    """The right weights, divided by the micro-batches once more."""
    reweighed(lambda batch, micro, parts: batch.weight_N[micro.index_n] / parts, patch)


def prompt_mean_inside(patch: Patch = setattr) -> None:
    """A prompt mean over the prompts and tokens that the micro-batch happens to hold."""

    def weigh(batch: Batch, micro: MicroBatch, parts: int) -> Tensor:
        prompt_n = batch.group_S[batch.seq_N[micro.index_n]]
        _, inverse, counts = torch.unique(prompt_n, return_inverse=True, return_counts=True)
        return 1 / (counts.numel() * counts[inverse].double()) / parts

    reweighed(weigh, patch)


def padded_width(length: int) -> Callable[[Patch], None]:
    """A constant mean whose length is the widest completion of the micro-batch, in the place of `length`."""

    def plant(patch: Patch = setattr) -> None:
        def weigh(batch: Batch, micro: MicroBatch, parts: int) -> Tensor:
            right_n = batch.weight_N[micro.index_n]
            if not micro.index_n.numel():
                return right_n
            return right_n * length / int(torch.bincount(micro.row_n).max())

        reweighed(weigh, patch)

    return plant


def mask_above_only(patch: Patch = setattr) -> None:
    """Masked tokens are left out of the sum, and still counted by what divides it."""
    original = build._batch

    def batch(groups: Any, row: Any, advantage_S: Tensor, mask_truncated: bool, share: Any) -> Batch:
        right = original(groups, row, advantage_S, mask_truncated, share)
        unmasked = original(groups, row, advantage_S, False, share)
        return replace(right, weight_N=unmasked.weight_N[right.live_S[unmasked.seq_N]])

    patch(build, "_batch", batch)


def no_temperature(patch: Patch = setattr) -> None:
    """The learner scores at temperature 1 what was sampled at another."""
    original = Policy.score_at

    def score_at(self: Policy, *given: Any, **named: Any) -> Any:
        return original(replace(self, temperature=1.0), *given, **named)

    patch(Policy, "score_at", score_at)


def average_over_ranks(patch: Patch = setattr) -> None:
    """Gradients are averaged over ranks, as wrappers of the field do, and not summed."""
    original = Mesh.sum_gradients

    def sum_gradients(self: Mesh, weights: Any) -> None:
        original(self, weights)
        for weight in weights:
            if weight.grad is not None:
                weight.grad.div_(self.ranks)

    patch(Mesh, "sum_gradients", sum_gradients)


def counts_of_a_rank(patch: Patch = setattr) -> None:
    """A rank divides by the counts of its own share, not by those of the batch."""
    patch(build, "summed", lambda counts, share: counts)


def mean_of_metrics(patch: Patch = setattr) -> None:
    """Metrics are means of micro-batch means."""
    original = step.merge

    def merge(parts: Any) -> Metrics:
        flat = [
            {name: Mean(m.mean, 1.0) if isinstance(m, Mean) and m.weight else m for name, m in part.items()}
            for part in parts
        ]
        return original(part for part in flat)

    patch(step, "merge", merge)
