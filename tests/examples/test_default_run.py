"""`strop train` without arguments: where it starts, where it ends, and each of DAPO's four blades at work."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

import strop
from strop.rollout.collect import balanced
from strop.run.store import read_rows


@pytest.mark.slow
@pytest.mark.timeout(540)
@pytest.mark.parametrize("seed", [0])
def test_the_default_run_sharpens_the_policy_with_all_four_blades(seed: int, tmp_path: Path) -> None:
    run = strop.train({"runs": str(tmp_path), "run": "default", "seed": seed})
    before, after = run.summary["accuracy_before"], run.summary["accuracy_after"]
    assert 0.20 <= before["avg"] <= 0.45
    assert before["greedy"] <= 0.60
    assert all(mean < 0.70 for mean, _ in before["by"]["style"].values())
    assert after["avg"] >= 0.90
    assert run.summary["verdict"] == "improved"

    metrics, ledger = (read_rows(run.folder / f"{name}.jsonl") for name in ("metrics", "ledger"))
    assert all(balanced(row) for row in ledger)
    assert any(row["clip_ratio/high_mean"] > 0 for row in metrics)
    assert any(row["clip_ratio/low_mean"] > 0 for row in metrics)
    assert run.summary["ledger"]["all_right"] > 0
    assert run.summary["ledger"]["all_wrong"] > 0
    assert any(row["rounds"] > 1 for row in ledger)
    assert all(row["trained"] == 32 for row in ledger)
    assert any(row["overlong/penalized"] > 0 for row in metrics)
    rollouts = pq.read_table(run.folder / "rollouts" / "step-000001.parquet").to_pylist()
    assert any(row["penalty"] < 0 for row in rollouts)
    assert {row["finish"] for row in rollouts} == {"stop", "length"}
