"""What strop plan says of a real 135M-parameter model's memory, beside what its runs take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from strop.config.load import load
from tests.plan.test_memory import planned_over_measured


@pytest.mark.slow
@pytest.mark.timeout(540)
@pytest.mark.xdist_group("real model")
@pytest.mark.parametrize(
    "change",
    [
        pytest.param({}, id="whole"),
        pytest.param({"train.lora": {"rank": 8, "alpha": 32.0, "targets": []}}, id="adapters", marks=pytest.mark.soak),
        pytest.param({"algorithm": "grpo"}, id="with a reference", marks=pytest.mark.soak),
    ],
)
def test_a_real_models_run_takes_what_the_plan_says_within_a_fifth(
    real_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    monkeypatch.chdir(real_model.parent)
    config = load([real_model.parent / "config.yaml"]).dump()
    task = {name: str(real_model.parent / config["task"][name]) for name in ("file", "reward")}
    config |= {"model": str(real_model), "device": "cpu", "runs": str(tmp_path), "task": {**config["task"], **task}}
    for key, value in change.items():
        section, _, name = key.rpartition(".")
        (config[section] if section else config)[name] = value
    assert 1 / 1.2 < planned_over_measured(config) < 1.2
