"""A whole run beside trackers: its steps are the run's own, and nothing that a tracker does costs it one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from strop.config.load import load
from strop.errors import ConfigError
from strop.loop import run_training
from strop.run import trackers
from strop.run.store import read_rows
from strop.watch import Watcher
from tests.run.test_trackers import fake

SMALL = {
    "rollout": {"prompts": 2, "completions": 4, "max_tokens": 32},
    "train": {"steps": 3, "updates": 1},
    "eval": {"prompts": 2, "completions": 2, "every": 2},
}


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tracker's place is taken by a program of these tests, so its library need not be there."""
    monkeypatch.setattr("strop.loop.check_installed", lambda names: None)


class Heard(Watcher):
    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warned(self, text: str) -> None:
        self.warnings.append(text)


def run_with(folder: Path, name: str, *names: str) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows of a small run's metrics.jsonl without its times, and its warnings."""
    heard = Heard()
    config = load(mapping={**SMALL, "runs": str(folder), "run": name, "save": {"trackers": list(names)}})
    run = run_training(config, heard)
    rows = read_rows(run.folder / "metrics.jsonl")
    return [{key: row[key] for key in row if not key.startswith("time/")} for row in rows], heard.warnings


def test_a_run_sends_its_rows_and_its_evaluations_before_and_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Report B58: steps 0 to 3, an evaluation at the number of its step, the last step's values once."""
    monkeypatch.setattr(trackers, "command_of", lambda name: fake(tmp_path))
    rows, warnings = run_with(tmp_path, "sent", "wandb")
    told = [json.loads(row) for row in (tmp_path / "told.jsonl").read_text().splitlines()]
    sent = [(row["step"], row["metrics"]) for row in told if row["call"] == "log"]
    assert [step for step, _ in sent] == [0, 1, 2, 3, 3]
    assert ["eval/avg" in metrics for _, metrics in sent] == [True, False, True, False, True]
    for row, (step, metrics) in zip(rows, sent[1:4], strict=True):
        numbers = {key: value for key, value in row.items() if value is not None and key != "step"}
        assert step == row["step"] and numbers.items() <= metrics.items()
    assert (told[0]["name"], told[0]["config"]["train.steps"]) == ("sent", 3)
    assert told[-1]["summary"]["steps"] == 3
    assert warnings == []


@pytest.mark.parametrize(("deed", "call"), [("raise", "log"), ("wait", "start"), ("leave", "log"), ("wait", "finish")])
def test_no_step_of_a_run_fails_or_waits_for_a_tracker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alone: list[dict[str, Any]], deed: str, call: str
) -> None:
    """A tracker that hangs does so for good, so a step that waited for it would never end."""
    monkeypatch.setattr(trackers, "command_of", lambda name: fake(tmp_path, deed, call))
    monkeypatch.setattr(trackers, "FINISH_S", 0.3)
    rows, warnings = run_with(tmp_path, "hurt", "wandb")
    assert rows == alone
    assert warnings and all(text.startswith("tracker wandb") for text in warnings)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return run_with(tmp_path_factory.mktemp("runs"), "alone")[0]


def test_a_tracker_that_is_not_installed_is_refused_before_a_model_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("strop.loop.check_installed", trackers.check_installed)
    monkeypatch.setattr(trackers, "find_spec", lambda name: None)
    monkeypatch.setattr("strop.loop.make_learner", lambda *_: pytest.fail("the model was loaded"))
    with pytest.raises(ConfigError, match=r"save.trackers: wandb is not installed; pip install 'strop\[wandb"):
        run_with(tmp_path, "refused", "wandb")
