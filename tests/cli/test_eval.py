from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from strop.cli.eval import located, targets_of
from strop.cli.main import run
from strop.config.load import load
from strop.errors import ConfigError
from tests.cli.fakes import evaluation


@pytest.fixture
def a_run(tmp_path: Path) -> Path:
    folder = tmp_path / "first"
    for step in (3, 12):
        checkpoint = folder / "checkpoints" / f"step-{step:06d}"
        checkpoint.mkdir(parents=True)
        (checkpoint / "config.json").touch()
    (folder / "checkpoints" / "step-000099").mkdir()
    (folder / "config.yaml").write_text(load(mapping={"seed": 7, "eval.prompts": 5}).to_yaml())
    return folder


def test_a_run_is_its_newest_whole_checkpoint_under_its_own_settings(a_run: Path) -> None:
    [(name, config)] = targets_of([str(a_run)]).items()
    assert name == str(a_run)
    assert config.model == str(a_run / "checkpoints" / "step-000012")
    assert (config.seed, config.eval.prompts, config.task.kind) == (7, 5, "arithmetic")


def test_a_checkpoint_of_a_run_is_measured_under_the_runs_settings(a_run: Path) -> None:
    checkpoint = a_run / "checkpoints" / "step-000003"
    [config] = targets_of([str(checkpoint), "--eval.prompts", "6"]).values()
    assert (config.model, config.seed, config.eval.prompts) == (str(checkpoint), 7, 6)


def test_a_model_is_itself(tmp_path: Path) -> None:
    assert located("strop:tiny") == ("strop:tiny", [])
    assert located(str(tmp_path)) == (str(tmp_path), [])
    file = tmp_path / "a.yaml"
    file.write_text("eval: {prompts: 4}")
    [config] = targets_of(["strop:tiny", str(file)]).values()
    assert (config.model, config.eval.prompts) == ("strop:tiny", 4)


def test_a_run_without_a_checkpoint_is_refused(a_run: Path, tmp_path: Path) -> None:
    (tmp_path / "frist" / "checkpoints").mkdir(parents=True)
    with pytest.raises(ConfigError, match="has saved no checkpoint yet; did you mean first"):
        located(str(tmp_path / "frist"))


def test_a_model_that_names_no_task_needs_one() -> None:
    with pytest.raises(ConfigError, match="names no task"):
        targets_of(["gpt2"])


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    seen: list[Any] = []

    def evaluate_model(config: Any, watch: Any) -> Any:
        seen.append((config.model, config))
        return evaluation(0.3 * len(seen))

    monkeypatch.setattr("strop.evaluate.evaluate_model", evaluate_model)
    return seen


def test_several_models_stand_side_by_side(
    a_run: Path, measured: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["eval", "strop:tiny", str(a_run)]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0].split() == ["strop:tiny", str(a_run)]
    assert "30.0% [28.0, 32.0]" in out
    assert "60.0% [58.0, 62.0]" in out
    assert [path for path, _ in measured] == ["strop:tiny", str(a_run / "checkpoints" / "step-000012")]


def test_the_same_as_json(measured: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["eval", "strop:tiny", "--json"]) == 0
    [record] = json.loads(capsys.readouterr().out)
    assert record["model"] == "strop:tiny"
    assert record["avg"] == pytest.approx(0.3)
    assert record["n"] == 256
