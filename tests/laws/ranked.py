"""What each rank does in tests/laws/test_ranks.py: three updates on recorded rollouts, its gradients written down."""

from __future__ import annotations

from typing import Any

import torch

from strop.algorithms import algorithm
from strop.batch.build import build
from strop.policy.mesh import Mesh, join, whole
from strop.policy.model import Policy
from strop.policy.optim import AdamW, Optimizer
from strop.policy.step import Learner
from tests.learner import nudged, ragged_groups, tiny_llama

ROWS = ("dapo_prompt", "gspo", "grpo")

Recorded = dict[str, Any]


class PlainSGD(torch.optim.SGD):
    """In Adam's place, so that the weights show the gradient's size."""


def learner(row: str, mesh: Mesh, dtype: torch.dtype) -> Learner:
    module = tiny_llama(dtype=dtype)
    reference = nudged(tiny_llama(dtype=dtype), 0.02, seed=5).requires_grad_(False)
    for one in (module, reference):
        mesh.shard(one)
    optimizer = Optimizer(module.parameters(), AdamW(0.1, max_grad_norm=1e9))
    optimizer.adamw = PlainSGD(optimizer.masters, lr=0.1)  # type: ignore[assignment]
    return Learner(Policy(module, 0.8), algorithm(row, length=12), optimizer, 48, Policy(reference, 0.8), mesh=mesh)


def three_updates(row: str, mesh: Mesh, dtype: torch.dtype, *, masked: bool) -> Recorded:
    """Train on three recorded batches of unequal groups; -> each update's gradient, the metrics, the weights."""
    trainer = learner(row, mesh, dtype)
    gradients: list[dict[str, list[float]]] = []
    names = [name for name, _ in trainer.policy.module.named_parameters()]
    take = trainer.optimizer.step

    def step(norm: float) -> None:
        found = {n: whole(w.grad).double() for n, w in zip(names, trainer.optimizer.masters, strict=True)}
        gradients.append({name: gradient.flatten().tolist() for name, gradient in found.items()})
        take(norm)

    trainer.optimizer.step = step  # type: ignore[method-assign]
    groups = ragged_groups((4, 2, 3, 5, 1, 2, 3))
    batches = build(groups, trainer.row, updates=3, mask_truncated=masked, share=mesh.share)
    metrics = trainer.train(batches, lambda *_: None)
    weights = {n: whole(w.detach()).double().flatten().tolist() for n, w in zip(names, trainer.optimizer.masters)}
    kept = {name: [m.total, m.weight] for name, m in metrics.items() if name != "padding_share"}
    return {"gradients": gradients, "metrics": kept, "weights": weights, "tokens": [b.tokens for b in batches]}


def every_row(kind: str, dtype: str) -> dict[str, Recorded]:
    """Called in every rank."""
    torch.set_num_threads(1)
    mesh = join(sharded=kind == "fsdp")
    found = {
        f"{row}{' masked' if masked else ''}": three_updates(row, mesh, getattr(torch, dtype), masked=masked)
        for row in ROWS
        for masked in (False, True)
    }
    mesh.close()
    return found
