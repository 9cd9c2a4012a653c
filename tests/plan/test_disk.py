"""What is reckoned of the disk, beside what a run leaves there."""

from __future__ import annotations

from pathlib import Path

import pytest

from strop.config.load import load
from strop.loop import run_training
from strop.plan.algebra import algebra
from strop.plan.disk import Disk, disk
from strop.plan.memory import Found, reckon
from strop.plan.program import Program
from strop.watch import Watcher

FOUND = Found(Program(0, 0), 0, 22, gpu=False)


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@pytest.mark.slow
@pytest.mark.parametrize("change", [{}, {"train.dtype": "bfloat16"}, {"train.lora.rank": 4}], ids=str)
def test_a_checkpoint_is_as_large_as_reckoned_and_rollouts_are_no_larger(
    tmp_path: Path, change: dict[str, int]
) -> None:
    config = load(
        mapping={
            "model": "strop:tiny",
            "runs": str(tmp_path),
            "run": "r",
            "rollout": {"prompts": 4, "completions": 8, "filter": "none"},
            "train.steps": 2,
            "train.updates": 1,
            "eval": {"prompts": 2, "completions": 1, "every": 0},
            "save.every": 1,
            **change,
        }
    )
    counts = algebra(config, 22)
    reckoned = disk(config, counts, reckon(config, counts, FOUND).weights, 10**12)
    run_training(config, Watcher())
    [*_, newest] = sorted((tmp_path / "r" / "checkpoints").iterdir())
    assert size(newest) == pytest.approx(reckoned.checkpoint, rel=0.05)
    assert reckoned.checkpoints == 2
    written = size(tmp_path / "r" / "rollouts") / 2
    assert written < reckoned.rollouts + 8000 < 4 * written + 16000


def test_what_is_needed_is_checkpoints_and_rollouts_and_fits_if_so_much_is_free() -> None:
    assert Disk(100, 3, 10, 5, free=350).fits
    assert not Disk(100, 3, 10, 5, free=349).fits
