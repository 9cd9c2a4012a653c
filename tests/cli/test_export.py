"""strop export: a run to a folder that others open, the card filled from the run's files, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

import strop
from strop.cli.main import run
from strop.policy.model import load, load_tokenizer

SMALL: dict[str, Any] = {
    "rollout": {"prompts": 4, "completions": 4, "max_tokens": 32},
    "train": {"steps": 2, "learning_rate": 1e-2, "warmup_steps": 0, "lora": {"rank": 2}},
    "eval": {"prompts": 4, "completions": 2, "every": 1},
    "save": {"every": 1, "keep": 2},
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two steps that trained adapters."""
    return strop.train({**SMALL, "runs": str(tmp_path_factory.mktemp("runs") / "alice"), "run": "r"}).folder


def greedy(module: Any, tokenizer: Any) -> str:
    ids = tokenizer("....4+7-2............=", return_tensors="pt")
    return tokenizer.decode(module.generate(**ids, max_new_tokens=40, do_sample=False)[0])


def test_an_exported_run_gives_the_greedy_text_of_its_newest_checkpoint(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", str(trained), str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "its adapters merged" in said and "step-000002" in said and "moved a logit by at most" in said
    checkpoint = str(trained / "checkpoints" / "step-000002")
    ours = greedy(load(checkpoint, dtype="float32", device="cpu"), load_tokenizer(checkpoint))
    theirs = AutoModelForCausalLM.from_pretrained(tmp_path / "out"), AutoTokenizer.from_pretrained(tmp_path / "out")
    assert greedy(*theirs) == ours
    assert (tmp_path / "out" / "curves.png").read_bytes() == (trained / "plots" / "curves.png").read_bytes()
    for file in (tmp_path / "out").iterdir():
        assert b"alice" not in file.read_bytes(), file
    assert not list(tmp_path.glob(".tmp-*"))


def test_the_card_is_filled_from_the_runs_files(trained: Path, tmp_path: Path) -> None:
    assert run(["export", str(trained), str(tmp_path / "out"), "--adapter"]) == 0
    card = (tmp_path / "out" / "README.md").read_text()
    summary = json.loads((trained / "summary.json").read_text())
    for key, found in (("before", summary["accuracy_before"]), ("after", summary["accuracy_after"])):
        assert f"{found['avg']:.1%} [{100 * found['low']:.1f}, {100 * found['high']:.1f}]" in card, key
    assert f"| generated | {summary['ledger']['generated']} |" in card
    assert f"| trained | {summary['ledger']['trained']} |" in card
    assert "| base model | `strop:tiny` |" in card and "| trained for | 2 steps |" in card
    assert "low-rank adapters: this folder, over the base model, rank 2, alpha 32.0" in card
    assert "| `train.learning_rate` | `0.01` |" in card and "| `transformers` | `" in card


def test_an_earlier_step_is_exported_with_the_accuracy_of_that_step(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", str(trained), str(tmp_path / "out"), "--step", "1", "--json", "--adapter"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["kind"] == "adapter" and told["checkpoint"].endswith("step-000001")
    assert set(told["files"]) == {path.name for path in (tmp_path / "out").iterdir()}
    card = (tmp_path / "out" / "README.md").read_text()
    rows = [json.loads(line) for line in (trained / "evaluations.jsonl").read_text().splitlines()]
    [mine] = [row for row in rows if row["step"] == 1]
    assert f"{mine['avg']:.1%} [{100 * mine['low']:.1f}" in card and "| trained for | 1 step |" in card
    checkpoint = trained / "checkpoints" / "step-000001"
    mine, theirs = (load_file(folder / "adapter_model.safetensors") for folder in (tmp_path / "out", checkpoint))
    assert all((mine[name] == theirs[name]).all() for name in theirs)


def test_a_checkpoints_folder_is_enough_inside_a_run_and_outside(trained: Path, tmp_path: Path) -> None:
    checkpoint = trained / "checkpoints" / "step-000002"
    assert run(["export", str(checkpoint), str(tmp_path / "inside"), "--adapter"]) == 0
    assert "strop:tiny" in (tmp_path / "inside" / "README.md").read_text()
    (tmp_path / "outside").mkdir()
    assert run(["export", str(shutil.copytree(checkpoint, tmp_path / "alone")), str(tmp_path / "outside")]) == 0
    card = (tmp_path / "outside" / "README.md").read_text()
    assert "This step was not evaluated." in card and "curves.png" not in card


@pytest.mark.parametrize(
    "words, says",
    [
        (["RUN", "FULL"], "DIR: FULL is there already and not empty; name a new folder"),
        (["RUN", "FULL/file"], "DIR: FULL/file is there already"),
        (["RUN", "NEW/deep/er"], "DIR: there is no folder NEW/deep to write er into"),
        (["NEW", "OUT"], "RUN: there is no folder NEW"),
        (["FULL", "OUT"], "RUN: FULL holds no model"),
        (["RUN", "OUT", "--step", "7"], "step-000007 holds no model; it keeps steps 1, 2"),
        (["RUN/checkpoints/step-000001", "OUT", "--step", "1"], "--step: RUN/checkpoints/step-000001 is no run"),
    ],
)
def test_what_cannot_be_exported_is_one_line_and_nothing_is_written(
    words: list[str], says: str, trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    places = {"RUN": trained, "FULL": tmp_path / "full", "NEW": tmp_path / "new", "OUT": tmp_path / "out"}

    def placed(text: str) -> str:
        for name, path in places.items():
            text = text.replace(name, str(path)) if name + ":" not in text else text
        return text

    def said(text: str) -> str:
        head, colon, rest = text.partition(": ")
        return f"{head}{colon}{placed(rest)}" if colon and head in ("DIR", "RUN", "--step") else text

    before = sorted(tmp_path.rglob("*"))
    assert run(["export", *map(placed, words)]) == 2
    error = capsys.readouterr().err
    assert said(says) in error and error.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_a_run_that_saved_nothing_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "r" / "checkpoints").mkdir(parents=True)
    assert run(["export", str(tmp_path / "r"), str(tmp_path / "out")]) == 2
    assert "has saved no checkpoint yet" in capsys.readouterr().err


def test_an_export_that_fails_leaves_nothing(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device", "x")

    monkeypatch.setattr("strop.policy.export.write", full)
    assert run(["export", str(trained), str(tmp_path / "out")]) == 3
    assert not list(tmp_path.iterdir())
