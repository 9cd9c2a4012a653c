"""A run's numbers reach its trackers under the run's own step, one row each, and no tracker stops the run."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import strop
from strop.config.load import load
from strop.errors import ConfigError
from strop.loop import run_training
from strop.run.store import read_rows
from strop.run.trackers import Trackers
from strop.watch import Watcher


class Recorder:
    """In the place of the trackers: keeps what the loop sends."""

    def __init__(self, names: Sequence[str], config: Mapping[str, Any], folder: Path, warned: Any) -> None:
        self.names, self.config, self.folder = names, config, folder
        self.rows: list[tuple[int, dict[str, Any]]] = []
        self.summaries: list[Mapping[str, Any]] = []
        MADE.append(self)

    def log(self, step: int, metrics: Mapping[str, Any]) -> None:
        self.rows.append((step, dict(metrics)))

    def finish(self, summary: Mapping[str, Any]) -> None:
        self.summaries.append(summary)


MADE: list[Recorder] = []


def settings(tmp_path: Path, **changes: Any) -> dict[str, Any]:
    return {
        "rollout": {"prompts": 4, "completions": 4, "max_tokens": 32},
        "train": {"steps": 2, "updates": 4},
        "eval": {"prompts": 4, "completions": 2, "every": 1},
        "save": {"trackers": ["tensorboard"]},
        "runs": str(tmp_path),
        "run": "r",
        **changes,
    }


def test_steps_are_those_of_the_run_however_many_updates_and_evaluations_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Report B58, https://github.com/PrimeIntellect-ai/prime-rl/pull/1668: train and eval stand on the same number."""
    monkeypatch.setattr("strop.loop.Trackers", Recorder)
    monkeypatch.setattr("strop.loop.check_installed", lambda names: None)
    run = strop.train(settings(tmp_path))
    made = MADE.pop()
    assert (made.names, made.folder, made.config["train.steps"]) == (["tensorboard"], run.folder, 2)
    assert [step for step, _ in made.rows] == [0, 1, 2, 2]
    before, first, second, after = (metrics for _, metrics in made.rows)
    assert first == read_rows(run.folder / "metrics.jsonl")[0]
    assert "eval/avg" in first and "loss" in first and "loss" in second
    assert set(before) == set(after) == {"eval/avg", "eval/pass", "eval/maj", "eval/greedy"}
    assert made.summaries == [run.summary]


class Impatient(Trackers):
    """Waits less for a tracker that hangs."""

    def finish(self, summary: Mapping[str, Any], *, wait_s: float = 0.5) -> None:
        super().finish(summary, wait_s=wait_s)


class Listener(Watcher):
    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warned(self, text: str) -> None:
        self.warnings.append(text)


@pytest.mark.parametrize(
    "code", ["raise SystemExit(3)", "import time; time.sleep(600)", "print('no answer', flush=True)"]
)
def test_a_tracker_that_dies_hangs_or_babbles_is_a_warning_and_the_run_is_whole(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Report B58: a tracker that raises warns, and training goes on."""
    monkeypatch.setattr("strop.loop.Trackers", partial(Impatient, command=lambda name: [sys.executable, "-c", code]))
    monkeypatch.setattr("strop.loop.check_installed", lambda names: None)
    watch = Listener()
    run = run_training(load(mapping=settings(tmp_path)), watch)
    assert run.summary["steps"] == 2 and len(read_rows(run.folder / "metrics.jsonl")) == 2
    assert any(text.startswith("tracker tensorboard: ") for text in watch.warnings)
    assert "tracker tensorboard lacks 4 of 4 rows; the run folder has them" in watch.warnings


def test_a_tracker_that_is_not_installed_is_refused_before_a_model_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("strop.run.trackers.find_spec", lambda name: None)
    monkeypatch.setattr("strop.loop.make_learner", lambda *_: pytest.fail("the model was loaded"))
    with pytest.raises(ConfigError, match=r"save.trackers: tensorboard is not installed; pip install 'strop\[tensorb"):
        strop.train(settings(tmp_path))
