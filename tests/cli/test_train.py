from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from strop.cli.main import run
from strop.cli.screen import Screen


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    seen: list[Any] = []

    def run_training(config: Any, watch: Any, **_: Any) -> SimpleNamespace:
        seen.append((config, watch))
        return SimpleNamespace(interrupted=config.seed == 130)

    monkeypatch.setattr("strop.loop.run_training", run_training)
    return seen


def test_no_argument_trains_the_embedded_policy_on_its_own_task(runs: list[Any]) -> None:
    assert run(["train"]) == 0
    [(config, watch)] = runs
    assert (config.model, config.task.kind, config.algorithm) == ("strop:tiny", "arithmetic", "dapo")
    assert isinstance(watch, Screen)


def test_files_and_flags_reach_the_run(runs: list[Any], tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("seed: 3\nrollout: {prompts: 6}")
    assert run(["train", "--train.steps", "2", str(file), "--rollout.prompts=4", "--run", "mine"]) == 0
    [(config, _)] = runs
    assert (config.seed, config.rollout.prompts, config.train.steps, config.run) == (3, 4, 2, "mine")


def test_an_interrupted_run_leaves_with_130(runs: list[Any]) -> None:
    assert run(["train", "--seed", "130"]) == 130


def test_a_taken_name_is_refused_before_anything_runs(
    runs: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine").mkdir()
    assert run(["train", "--runs", str(tmp_path), "--run", "mine"]) == 2
    assert "choose another name with --run NAME" in capsys.readouterr().err
    assert runs == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_ctrl_c_ends_a_real_run_at_a_whole_step_with_what_was_learned_saved(tmp_path: Path) -> None:
    flags = "--run mine --train.steps 500 --rollout.prompts 2 --train.updates 1 --eval.prompts 2 --eval.completions 1"
    program = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    program += "from strop.cli.main import main; main()"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(
        [sys.executable, "-c", program, "train", *flags.split()],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("step   1/500"):
                process.send_signal(signal.SIGINT)
                break
        rest = process.stdout.read()
    assert process.returncode == 130, rest
    summary = json.loads((tmp_path / "runs" / "mine" / "summary.json").read_text())
    assert summary["verdict"] == "interrupted"
    assert f"runs/mine/checkpoints/step-{summary['steps']:06d}" in rest
    assert "Traceback" not in rest
