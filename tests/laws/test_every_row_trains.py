"""Every row trains: ten steps at a quarter of the default size leave a finite loss and no worse an accuracy."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import strop
from strop.algorithms import ROWS
from strop.rollout.collect import balanced
from strop.run.store import read_rows


@pytest.mark.parametrize("name", list(ROWS))
def test_ten_steps_at_a_quarter_of_the_size(name: str, tmp_path: Path) -> None:
    run = strop.train(
        {
            "algorithm": name,
            "runs": str(tmp_path),
            "run": name,
            "rollout": {"prompts": 8},
            "train": {"steps": 10},
            "eval": {"prompts": 64, "completions": 8, "every": 0},
        }
    )
    rows = read_rows(run.folder / "metrics.jsonl")
    assert len(rows) == 10
    assert all(math.isfinite(row["loss"]) and row["grad_norm"] > 0 for row in rows)
    assert all(balanced(row) for row in read_rows(run.folder / "ledger.jsonl"))
    assert run.summary["gain"]["high"] > 0, f"{name} ended below where it began: {run.summary['gain']}"
