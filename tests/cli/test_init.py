"""Every starter is written whole, reads as a configuration, and trains; nothing that is there is overwritten."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from strop.cli.init import RECIPES, files_of
from strop.cli.main import run
from strop.config.load import load
from strop.config.reader import split_arguments
from strop.run.store import read_rows
from tests.rewards.sandboxed import needs_bubblewrap

SMALL = (
    "--model strop:tiny --train.steps 1 --train.updates 1 --rollout.prompts 2 --rollout.completions 2 "
    "--rollout.max_tokens 16 --rollout.overlong.buffer 0 --rollout.filter none --eval.prompts 2 --eval.completions 1 "
    "--eval.every 0 --run r"
)
Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_starter_says_what_to_type_next_and_its_configuration_holds(
    recipe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["init", "mine", "--recipe", recipe]) == 0
    said = [line.strip() for line in capsys.readouterr().out.splitlines()]
    written = [Path(line.removeprefix("wrote ")) for line in said if line.startswith("wrote ")]
    assert written == [Path("mine") / name for name in files_of(recipe)]
    assert all(path.is_file() for path in written)
    assert said[said.index("Next:") + 1] == "cd mine"
    monkeypatch.chdir(tmp_path / "mine")
    (tmp_path / "mine" / "smollm2-135m").mkdir()
    (tmp_path / "mine" / "smollm2-135m" / "config.json").write_text("{}")
    commands = [re.split(r"\s{3,}", line)[0].split() for line in said if line.startswith("strop ")]
    assert ["strop", "train", "config.yaml"] in commands
    for _, command, *words in commands:
        paths, flags = split_arguments(words[2:] if command == "reward" else words)
        assert load([path for path in paths if path.endswith(".yaml")], flags).warnings == ()
        assert all(Path(path).is_file() for path in paths)


@pytest.mark.parametrize(
    "recipe", [pytest.param(each, marks=needs_bubblewrap) if each == "code" else each for each in RECIPES]
)
def test_a_starter_trains_a_step_on_the_embedded_model(
    recipe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["init", "--recipe", recipe]) == 0
    assert run(["train", "config.yaml", *SMALL.split()]) == 0
    [row] = read_rows(tmp_path / "runs" / "r" / "metrics.jsonl")
    assert (row["groups/generated"], row["rewards/unscorable"]) == (2, 0)


@pytest.mark.parametrize(("recipe", "reward"), [("math", "math"), ("jsonl", "reward.py:score")])
def test_the_reward_of_a_starter_passes_its_own_trial(
    recipe: str, reward: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["init", "--recipe", recipe]) == 0
    assert run(["reward", "test", reward, "train.jsonl"]) == 0, capsys.readouterr().out


def test_nothing_that_is_there_is_overwritten_and_nothing_is_written_beside_it(
    tmp_path: Path, capsys: Captured
) -> None:
    (tmp_path / "train.jsonl").write_text("mine")
    assert run(["init", str(tmp_path), "--recipe", "math"]) == 2
    assert "train.jsonl is there already, and is left as it is" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["train.jsonl"]
    assert (tmp_path / "train.jsonl").read_text() == "mine"


def test_without_a_recipe_it_says_which_there_are(capsys: Captured) -> None:
    assert run(["init"]) == 2
    assert "say which: --recipe NAME. Recipes are math: " in capsys.readouterr().err
    assert run(["init", "--recipe", "maths"]) == 2
    assert "there is no recipe 'maths'; did you mean math?. Recipes are" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "file").write_text("")
    assert run(["init", str(tmp_path / "file" / "in"), "--recipe", "code"]) == 2
    assert "cannot write into" in capsys.readouterr().err
