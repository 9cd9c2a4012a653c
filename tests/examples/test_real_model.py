"""A real 135M-parameter model, a JSONL file and a user's reward: two steps of DAPO, as the starter says."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from strop.cli.main import run
from strop.rollout.collect import balanced
from strop.run.store import read_rows


@pytest.mark.slow
@pytest.mark.timeout(540)
@pytest.mark.xdist_group("real model")
def test_two_steps_on_a_real_model(real_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(real_model.parent)
    assert run(["train", "config.yaml", "--runs", str(tmp_path), "--run", "real"]) == 0
    folder = tmp_path / "real"
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["steps"] == 2
    assert all(balanced(row) for row in read_rows(folder / "ledger.jsonl"))
    assert all(row["grad_norm"] > 0 for row in read_rows(folder / "metrics.jsonl"))
    rows = pq.read_table(folder / "rollouts" / "step-000001.parquet").to_pylist()
    assert {row["score"] for row in rows} <= {0.0, 0.1, 1.0}
    assert len({row["score"] for row in rows}) > 1
    assert all(len(row["ids"]) == len(row["sampler_logp"]) <= 20 for row in rows)
    checkpoint = folder / "checkpoints" / "step-000002"
    assert run(["eval", str(checkpoint), "--eval.prompts", "2", "--eval.completions", "1"]) == 0
