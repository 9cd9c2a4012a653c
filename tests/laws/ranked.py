"""What each rank does in tests/laws/test_ranks.py: the same updates alone and together, and how far they lie apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import torch
from torch import Tensor

from strop.algorithms import algorithm
from strop.batch.build import build
from strop.metrics import Metrics
from strop.policy.mesh import ALONE, Mesh, join, whole
from strop.policy.model import Policy
from strop.policy.optim import AdamW, Optimizer
from strop.policy.step import Learner
from strop.types import Group
from tests.learner import gradient_error, nudged, ragged_groups, tiny_llama

ROWS = ("dapo_prompt", "gspo", "grpo")
SIZES = {"ragged": (4, 2, 3, 5, 1, 2, 3), "fewer rows than ranks": (2, 2, 2)}


@dataclass
class Trained:
    """Three updates of plain SGD with rate 0.1."""

    gradients: list[dict[str, Tensor]]
    weights: dict[str, Tensor]
    metrics: Metrics
    tokens: list[int]


def learner(row: str, mesh: Mesh, dtype: torch.dtype) -> Learner:
    module = tiny_llama(dtype=dtype)
    reference = nudged(tiny_llama(dtype=dtype), 0.02, seed=5).requires_grad_(False)
    for one in (module, reference):
        mesh.shard(one)
    optimizer = Optimizer(module.parameters(), AdamW(0.1, max_grad_norm=1e9))
    optimizer.adamw = torch.optim.SGD(optimizer.masters, lr=0.1)  # type: ignore[assignment]
    return Learner(Policy(module, 0.8), algorithm(row, length=12), optimizer, 48, Policy(reference, 0.8), mesh=mesh)


def train(row: str, mesh: Mesh, dtype: torch.dtype, groups: Sequence[Group], *, masked: bool) -> Trained:
    trainer = learner(row, mesh, dtype)
    names = [name for name, _ in trainer.policy.module.named_parameters()]
    gradients: list[dict[str, Tensor]] = []
    take = trainer.optimizer.step

    def named(tensors: Sequence[Tensor]) -> dict[str, Tensor]:
        return {name: whole(tensor.detach()).clone() for name, tensor in zip(names, tensors, strict=True)}

    def step(norm: float) -> None:
        gradients.append(named([weight.grad for weight in trainer.optimizer.masters if weight.grad is not None]))
        take(norm)

    trainer.optimizer.step = step  # type: ignore[method-assign]
    batches = build(groups, trainer.row, updates=3, mask_truncated=masked, share=mesh.share)
    metrics = trainer.train(batches, lambda *_: None)
    return Trained(gradients, named(trainer.optimizer.masters), metrics, [batch.tokens for batch in batches])


def apart(found: Trained, right: Trained) -> dict[str, Any]:
    """The worst gradient of three updates, the largest difference of a weight, and of a metric."""
    assert found.metrics.keys() == right.metrics.keys()
    pairs = [(found.metrics[name], right.metrics[name]) for name in right.metrics if name != "padding_share"]
    return {
        "gradient": [gradient_error(g, r) for g, r in zip(found.gradients, right.gradients, strict=True)],
        "weight": max(float((found.weights[n] - w).abs().max()) for n, w in right.weights.items()),
        "metric": max(max(abs(f.total - r.total) / max(1.0, abs(r.total)), abs(f.weight - r.weight)) for f, r in pairs),
        "size": min(float(torch.cat([g.flatten() for g in r.values()]).norm()) for r in right.gradients),
        "tokens": found.tokens,
    }


def everything() -> dict[str, Any]:
    """Called in every rank."""
    torch.set_num_threads(1)
    mesh = join()
    found = {name: every_case(mesh, getattr(torch, name)) for name in ("float64", "float32")}
    found["nothing"] = nothing_to_train(mesh)
    found["bfloat16"] = narrow(mesh)
    mesh.close()
    again = join()  # a script that trains twice: nothing of the first time is left over
    found["again"] = again.exchange(again.rank)
    again.close()
    return found


def narrow(mesh: Mesh) -> dict[str, Any]:
    """bfloat16 passes over float32 slices (FSDP2), beside bfloat16 weights with float32 masters in one process."""
    groups = ragged_groups(SIZES["ragged"])
    alone = learner("dapo_prompt", ALONE, torch.bfloat16)
    module = tiny_llama(dtype=torch.bfloat16).float()
    sliced = replace(mesh, sharded=True)
    sliced.shard(module, compute=torch.bfloat16)
    optimizer = Optimizer(module.parameters(), AdamW(0.1), wide=True)
    trainer = Learner(Policy(module, 0.8), alone.row, optimizer, 48, mesh=sliced)
    flat = []
    for one in (alone, trainer):
        [batch] = build(groups, one.row, share=one.mesh.share)
        one.accumulate(one.laid_out(batch), lambda *_: None)
        flat.append(torch.cat([whole(w.grad).double().flatten() for w in one.optimizer.masters if w.grad is not None]))
    optimizer.step(1.0)
    kept = optimizer.tensors(keep=mesh.first)
    return {
        "apart": float((flat[0] - flat[1]).norm() / flat[0].norm()),
        "dtype": str(optimizer.masters[0].dtype),
        "masters": sum(name.endswith(".master") for name in kept),
        "weights": len(optimizer.masters),
    }


def every_case(mesh: Mesh, kind: torch.dtype) -> dict[str, Any]:
    """Data parallel and FSDP2, three rows, masked or not, with rows enough for all ranks or not."""
    found: dict[str, Any] = {}
    for row, (name, masked) in product(ROWS, (("ragged", False), ("ragged", True), ("fewer rows than ranks", False))):
        groups = ragged_groups(SIZES[name])
        right = train(row, ALONE, kind, groups, masked=masked)
        for sharded in (False, True):
            got = train(row, replace(mesh, sharded=sharded), kind, groups, masked=masked)
            case = f"{row}, {'fsdp' if sharded else 'data'}, {name}{', masked' if masked else ''}"
            found[case] = apart(got, right)
    return found


def nothing_to_train(mesh: Mesh) -> dict[str, Any]:
    """Each completion was cut off and is masked; then one update in which one rank has a row."""
    found: dict[str, Any] = {}
    for sharded in (False, True):
        trainer = learner("dapo", replace(mesh, sharded=sharded), torch.float64)
        before = [whole(weight.detach()).clone() for weight in trainer.optimizer.masters]
        share = trainer.mesh.share
        metrics = trainer.train(
            build(ragged_groups((1, 1, 1)), trainer.row, mask_truncated=True, share=share), lambda *_: None
        )
        after = [whole(weight.detach()) for weight in trainer.optimizer.masters]
        moved = any(not torch.equal(a, b) for a, b in zip(before, after, strict=True))
        [lonely] = build(ragged_groups((2,)), trainer.row, mask_truncated=True, share=share)
        later = trainer.train([lonely], lambda *_: None)
        found["fsdp" if sharded else "data"] = {
            "skipped": metrics["updates/skipped"].total,
            "updates": trainer.optimizer.updates,
            "moved": moved,
            "tokens": lonely.tokens,
            "norm": later["grad_norm"].mean,
        }
    return found
