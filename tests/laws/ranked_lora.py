"""What each rank does in tests/laws/test_lora.py: updates of adapters alone and together, and how they differ."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import torch
from torch import Tensor

from strop.algorithms import algorithm
from strop.batch.build import build
from strop.policy.lora import Lora, add, trained
from strop.policy.mesh import ALONE, Mesh, join, whole
from strop.policy.model import Policy
from strop.policy.optim import AdamW, Optimizer
from strop.policy.step import Learner
from tests.learner import gradient_error, ragged_groups, tiny_llama

ROWS = ("dapo_prompt", "gspo", "grpo")


def adapted(dtype: torch.dtype = torch.float64) -> Any:
    """The tiny Llama with adapters, none of whose weights is 0: the same in every process."""
    module = tiny_llama(dtype=dtype)
    add(module, Lora(4, 8.0), base="base")
    for number, weight in enumerate(trained(module)):
        noise = torch.randn(weight.shape, generator=torch.Generator().manual_seed(number), dtype=torch.float64)
        weight.data.add_((noise / 5).to(weight.dtype))
    return module


def learner(row: str, mesh: Mesh = ALONE, dtype: torch.dtype = torch.float64) -> Learner:
    """A learner of adapters by plain SGD with rate 0.1; its reference is the same module with them off."""
    module = adapted(dtype)
    mesh.shard(module)
    optimizer = Optimizer(module.parameters(), AdamW(0.1, max_grad_norm=1e9))
    optimizer.adamw = torch.optim.SGD(optimizer.masters, lr=0.1)  # type: ignore[assignment]
    reference = Policy(module, 0.8, bare=True)
    return Learner(Policy(module, 0.8), algorithm(row, length=12), optimizer, 48, reference, mesh=mesh)


def updated(row: str, mesh: Mesh, dtype: torch.dtype) -> dict[str, Any]:
    """Three updates: the gradient of each, all weights after them, and whether the frozen ones stayed."""
    one = learner(row, mesh, dtype)
    module = one.policy.module
    before = {name: whole(weight.detach()).clone() for name, weight in module.named_parameters()}
    names = [name for name, weight in module.named_parameters() if weight.requires_grad]
    gradients: list[dict[str, Tensor]] = []
    take = one.optimizer.step

    def step(norm: float) -> None:
        grads = [whole(weight.grad).clone() for weight in one.optimizer.masters if weight.grad is not None]
        gradients.append(dict(zip(names, grads, strict=True)))
        take(norm)

    one.optimizer.step = step  # type: ignore[method-assign]
    metrics = one.train(build(ragged_groups((4, 2, 3, 5, 1, 2, 3)), one.row, updates=3, share=mesh.share), tick)
    after = {name: whole(weight.detach()) for name, weight in module.named_parameters()}
    frozen = all(torch.equal(after[name], before[name]) for name in after if name not in names)
    return {"gradients": gradients, "after": after, "metrics": metrics, "frozen": frozen, "names": names}


def tick(phase: str, done: int, total: int) -> None:
    """Nobody watches."""


def apart(found: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    pairs = [(found["metrics"][name], right["metrics"][name]) for name in right["metrics"] if name != "padding_share"]
    return {
        "gradient": max(gradient_error(f, r) for f, r in zip(found["gradients"], right["gradients"], strict=True)),
        "whole gradient": float((flat(found) - flat(right)).norm() / flat(right).norm()),
        "weight": max(float((found["after"][n].double() - w.double()).abs().max()) for n, w in right["after"].items()),
        "metric": max(abs(f.total - r.total) / max(1.0, abs(r.total)) for f, r in pairs),
        "frozen": found["frozen"],
        "dtypes": sorted({str(weight.dtype) for weight in found["after"].values()}),
    }


def flat(one: dict[str, Any]) -> Tensor:
    """The gradient of the first update in one piece."""
    return torch.cat([gradient.double().flatten() for gradient in one["gradients"][0].values()])


def everything() -> dict[str, Any]:
    """Called in every rank."""
    torch.set_num_threads(1)
    mesh = join()
    found: dict[str, Any] = {}
    for row, sharded in product(ROWS, (False, True)):
        right = updated(row, ALONE, torch.float64)
        kind = "fsdp" if sharded else "data"
        found[f"{row}, {kind}"] = apart(updated(row, replace(mesh, sharded=sharded), torch.float64), right)
    right = updated("grpo", ALONE, torch.bfloat16)
    found["bfloat16 base"] = apart(updated("grpo", replace(mesh, sharded=True), torch.bfloat16), right)
    mesh.close()
    return found
