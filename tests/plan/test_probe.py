"""Two steps of the run itself, and what follows from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from strop.config.load import load
from strop.errors import NotEnoughSignal
from strop.plan.algebra import algebra
from strop.plan.probe import Clock, Probe, estimate, probe

SMALL: dict[str, Any] = {
    "model": "strop:tiny",
    "rollout": {"prompts": 2, "completions": 4, "filter": "none"},
    "train": {"steps": 100, "updates": 1},
    "eval": {"prompts": 50, "completions": 7, "every": 10},
    "save": {"every": 50, "trackers": ["wandb"]},
}
FOUND = Probe(setup_s=5, step_s=(3.0, 2.0), sampled_s=(2.0, 1.0), generated=(20, 20), save_s=1.5, peak=1, rollouts=1)


def test_the_time_is_steps_evaluations_and_checkpoints_at_the_pace_of_both_steps() -> None:
    """100 steps; 11 evaluations of 400 completions, 10 to 20 of them a second; 2 checkpoints."""
    time = estimate(FOUND, algebra(load(mapping=SMALL), 22), 100)
    assert time.low == pytest.approx(5 + 100 * 2 + 4400 / 20 + 2 * 1.5)
    assert time.high == pytest.approx(5 + 100 * 3 + 4400 / 10 + 2 * 1.5)
    assert (time.steps, time.saves, time.setup) == (250, 3, 5)
    assert time.low < time.steps + time.evaluations + time.saves + time.setup < time.high


@pytest.mark.slow
def test_a_probe_is_two_steps_of_the_run_and_leaves_nothing(tmp_path: Path) -> None:
    found = probe(load(mapping={**SMALL, "runs": str(tmp_path)}))
    assert len(found.step_s) == len(found.sampled_s) == 2
    assert all(step >= sampled > 0 for step, sampled in zip(found.step_s, found.sampled_s, strict=True))
    assert found.generated == (8, 8)
    assert found.peak > 150 * 2**20 and found.rollouts > 1000 and found.save_s > 0 and found.setup_s > 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_what_the_run_would_raise_is_raised_with_its_own_words(tmp_path: Path) -> None:
    (tmp_path / "reward.py").write_text("def none(prompt, completion, **columns): return 0.0\n")
    changes = {"rollout": {"prompts": 2, "completions": 4, "max_draws": 4}, "task.reward": f"{tmp_path}/reward.py:none"}
    with pytest.raises(NotEnoughSignal, match="^in the two steps of the probe: drew 4 groups"):
        probe(load(mapping={**SMALL, **changes, "runs": str(tmp_path / "runs")}))


def test_the_clock_gives_each_phase_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([0.0, 4.0, 9.0, 10.0, 30.0, 33.0])
    monkeypatch.setattr("strop.plan.probe.time.perf_counter", lambda: next(ticks))
    clock = Clock()
    for phase, done in (("check prompts", 1), ("evaluate", 0), ("sample", 1), ("save", 0), ("save", 1)):
        clock.progress(phase, done, 1)
    assert dict(clock.seconds) == {"setup": 9.0, "evaluate": 1.0, "sample": 20.0, "save": 3.0}
