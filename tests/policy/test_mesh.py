"""Ranks tell each other exactly what they know, sum their gradients, and fail together."""

from __future__ import annotations

import math

import pytest
import torch

from strop.errors import ConfigError
from strop.policy.mesh import ALONE, Mesh, blocks, buckets, join
from tests.learner import tiny_llama
from tests.ranks import called

LAUNCHED = {
    "RANK": "1",
    "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "2",
    "WORLD_SIZE": "2",
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": "1",
}


@pytest.mark.xdist_group("ranks")
def test_two_ranks() -> None:
    reports = called(2, "tests.policy.meshed:everything")
    for report in reports:
        assert [one["rank"] for one in report["exchanged"]] == [0, 1]
        assert [one["text"] for one in report["exchanged"]] == ["ä", "ä" * 6]
        assert all(one["pi"] == math.pi and one["nan"] is None for one in report["exchanged"])
        assert report["most"] == 3
        assert report["total"] == [2.0, 1.0]
        assert report["told"] == "from rank 0"
        assert report["errors"] == ["rank 0 has no file", "rank 1 has no file"]
        assert report["first fails"] == "rank 0 has no file"
        assert report["gradients"] == [[1.0] * 6, [2.0] * 4, None]
        assert 0.4 < report["slice"] < 0.6
        assert report["whole again"] and report["is whole"] and report["left"]


def test_one_process_is_its_own_mesh_and_sends_nothing() -> None:
    value = torch.ones(3)
    assert join(environment={}) is ALONE and ALONE.first
    assert ALONE.total(value) is value
    assert ALONE.exchange("x") == ["x"] and ALONE.most(7) == 7 and ALONE.told(lambda: 5) == 5
    weight = torch.ones(2, requires_grad=True)
    ALONE.sum_gradients([weight])
    assert weight.grad is None


def test_an_error_that_only_this_process_has_is_told_from_one_of_all() -> None:
    two = Mesh(0, 2)
    assert ALONE.shared(RuntimeError("x"))
    assert two.shared(ConfigError("x"))
    assert not two.shared(RuntimeError("x"))


@pytest.mark.parametrize("missing", ["RANK", "LOCAL_RANK", "MASTER_PORT"])
def test_a_launcher_that_leaves_out_a_variable_is_named(missing: str) -> None:
    given = {name: value for name, value in LAUNCHED.items() if name != missing}
    with pytest.raises(ConfigError, match=f"WORLD_SIZE is 2 but {missing} is not set: start the ranks with torchrun"):
        join(environment=given)


def test_one_gpu_for_several_ranks_is_refused() -> None:
    with pytest.raises(ConfigError, match="device: cuda:3 is one device, and each of 2 ranks needs its own; use auto"):
        join(device="cuda:3", environment=LAUNCHED)


def test_more_ranks_than_gpus_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(ConfigError, match="2 ranks were started here for 1 GPUs; start 1"):
        join(environment=LAUNCHED)


def test_a_bucket_holds_neighbours_of_one_dtype_up_to_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("strop.policy.mesh.BUCKET", 10)
    sizes = [(4, torch.float32), (6, torch.float32), (1, torch.float32), (99, torch.float64), (2, torch.float64)]
    gradients = [torch.zeros(size, dtype=dtype) for size, dtype in sizes]
    assert [[g.numel() for g in bucket] for bucket in buckets(gradients)] == [[4, 6], [1], [99], [2]]


def test_the_blocks_of_a_model_are_its_layers() -> None:
    module = tiny_llama()
    assert blocks(module) == list(module.model.layers)
