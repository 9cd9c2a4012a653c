"""What each of two ranks does in tests/policy/test_mesh.py."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.distributed as dist

from strop.errors import DataError
from strop.policy.mesh import gathered, join, whole
from tests.learner import tiny_llama


def everything() -> dict[str, Any]:
    """Called in both ranks."""
    mesh = join(sharded=True)
    value = {"rank": mesh.rank, "pi": math.pi, "text": "ä" * (1 + 5 * mesh.rank), "nan": None}
    found: dict[str, Any] = {
        "exchanged": mesh.exchange(value),
        "most": mesh.most(3 - mesh.rank),
        "total": mesh.total(torch.tensor([1.0, mesh.rank])).tolist(),
        "told": mesh.told(lambda: f"from rank {mesh.rank}"),
        "errors": [refused(mesh.together, fail) for fail in (only(0, mesh.rank), only(1, mesh.rank))],
        "first fails": refused(mesh.told, only(0, mesh.rank)),
        "gradients": summed_gradients(mesh.rank),
    }
    module = tiny_llama()
    full = {name: weight.clone() for name, weight in module.named_parameters()}
    mesh.shard(module)
    mine = sum(weight.to_local().numel() for weight in module.parameters())  # type: ignore[attr-defined]
    found["slice"] = mine / sum(weight.numel() for weight in full.values())
    found["whole again"] = all(torch.equal(weight, full[name]) for name, weight in gathered(module))
    found["is whole"] = torch.equal(whole(full["model.norm.weight"]), full["model.norm.weight"])
    mesh.close()
    found["left"] = not dist.is_initialized()
    return found


def only(rank: int, me: int) -> Any:
    def work() -> int:
        if me == rank:
            raise DataError(f"rank {rank} has no file")
        return me

    return work


def refused(call: Any, work: Any) -> str:
    try:
        call(work)
    except DataError as error:
        return str(error)
    return "nothing"


def summed_gradients(rank: int) -> list[Any]:
    """Rank 0 has a gradient for the first weight, rank 1 for the second, nobody for the third."""
    from dataclasses import replace

    from strop.policy.mesh import Mesh

    weights = [torch.zeros(2, 3), torch.zeros(4, dtype=torch.float64), torch.zeros(1)]
    weights[rank].grad = torch.full_like(weights[rank], 1.0 + rank)
    mesh = replace(Mesh(rank, 2))
    mesh.sum_gradients(weights)
    assert mesh.ranks == 2
    return [None if weight.grad is None else weight.grad.flatten().tolist() for weight in weights]
