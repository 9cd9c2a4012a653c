"""What a row may be given beyond its own choices reaches the loss of a run: corrections, and tops of the sampler."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import strop
from strop.algorithms import KINDS, algorithm
from strop.batch.build import build
from strop.rollout.spread import packed, unpacked
from strop.run.store import read_rows
from tests.policy.test_step import sampled_groups, tiny_llama

SMALL = {"rollout": {"prompts": 4}, "train": {"steps": 2, "updates": 2}, "eval": {"prompts": 4, "completions": 2}}


def steps_of(folder: Path, objective: dict[str, Any], **changes: Any) -> list[dict[str, Any]]:
    """The metrics of two steps of two updates."""
    rollout = {**SMALL["rollout"], **changes.pop("rollout", {})}
    settings = {**SMALL, "runs": str(folder), "run": "one", "objective": objective, "rollout": rollout, **changes}
    return read_rows(strop.train(settings).folder / "metrics.jsonl")


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(KINDS["correction"]))
def test_a_run_under_a_correction_reports_it(kind: str, tmp_path: Path) -> None:
    """Sampler and trainer are one model in float32: the factors are 1 but for rounding."""
    rows = steps_of(tmp_path, {"correction": kind})
    for row in rows:
        assert row["correction"] == pytest.approx(1.0, abs=1e-3)
        assert row["correction/dropped"] == row["correction/capped"] == 0.0
        assert math.isfinite(row["loss"]) and row["grad_norm"] > 0


@pytest.mark.slow
def test_groups_of_older_weights_train_under_a_correction(tmp_path: Path) -> None:
    """Only groups of older weights have factors that are not 1."""
    carry = {"prompts": 3, "surplus": "carry", "max_staleness": 2}
    train = {"steps": 5, "updates": 1, "learning_rate": 1e-3, "warmup_steps": 0}
    rows = steps_of(tmp_path, {"correction": {"kind": "token_truncate", "cap": 10}}, rollout=carry, train=train)
    assert any(row["groups/carried_in"] for row in rows)
    assert any(row["groups/carried_in"] == 0 for row in rows)
    for row in rows:
        assert (abs(row["correction"] - 1) > 1e-4) == (row["groups/carried_in"] > 0)


@pytest.mark.slow
def test_a_top_k_divergence_trains_from_what_the_sampler_recorded(tmp_path: Path) -> None:
    trust = {"kind": "divergence", "measure": "kl", "low": 1e-6, "high": 1e-6, "topk": 8}
    settings = {"algorithm": "dppo_kl", "train": {"steps": 2, "updates": 2, "learning_rate": 3e-3, "warmup_steps": 0}}
    for row in steps_of(tmp_path, {"trust": trust}, **settings):
        assert math.isfinite(row["loss"]) and row["grad_norm"] > 0
        assert row["clip_ratio/high_mean"] + row["clip_ratio/low_mean"] > 0


def test_more_tops_than_the_vocabulary_has_end_the_run_with_one_line(tmp_path: Path) -> None:
    trust = {"kind": "divergence", "measure": "kl", "low": 0.05, "high": 0.05, "topk": 1000}
    with pytest.raises(strop.errors.ConfigError, match="topk is 1000, and the model's vocabulary has"):
        steps_of(tmp_path, {"trust": trust}, algorithm="dppo_kl")


def test_tops_pass_between_ranks_with_every_bit() -> None:
    trust = {"kind": "divergence", "measure": "kl", "low": 0.05, "high": 0.05, "topk": 5}
    row = algorithm("dppo_kl", trust=trust, length=12)
    groups = sampled_groups(tiny_llama(), 5)
    sent = [unpacked(json.loads(json.dumps(packed(group.rollouts)))) for group in groups]
    assert sent == [group.rollouts for group in groups]
    [batch] = build(groups, row)
    assert batch.sampler_top_logp_NK is not None and batch.sampler_top_logp_NK.shape == (batch.tokens, 5)
