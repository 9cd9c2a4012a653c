"""docs/data.md: its commands and its Python work in the order they stand in, and its tables tell what is."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml

from strop.cli.main import run
from strop.cli.reward import configuration
from strop.config.load import load
from strop.config.schema_task import Mixed
from strop.tasks.checks import ANSWERS
from strop.tasks.find import find_task
from strop.tasks.mixture import Mixture
from strop.tasks.reading import SUFFIXES
from strop.tasks.rows import DEEPEST, LONGEST
from strop.tasks.shares import WINDOW
from tests.shape.source import ROOT

PAGE = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```([a-z]*)\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
TYPED = [line for kind, block in BLOCKS if not kind for line in block.splitlines()]
COMMANDS = [shlex.split(line) for line in TYPED if line.startswith(("strop ", "python "))]
[PYTHON] = [block for kind, block in BLOCKS if kind == "python"]
[YAML] = [block for kind, block in BLOCKS if kind == "yaml"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the examples and what the page's first command makes."""
    path = tmp_path_factory.mktemp("page")
    (path / "examples").symlink_to(ROOT / "examples")
    first, *_ = COMMANDS
    assert first[0] == "python"
    subprocess.run([sys.executable, *first[1:]], cwd=path, check=True)
    return path


def test_the_commands_of_the_page_read_every_row(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert len(COMMANDS) == 4
    for _, command, *words in COMMANDS[1:]:
        assert command == "reward"
        task = find_task(configuration(words).task, seed=0)
        assert len(task.known()) == 200
        task.close()


@pytest.mark.slow  # each tries a reward on a hundred rows, twice
@pytest.mark.parametrize("words", COMMANDS[1:], ids=" ".join)
def test_the_commands_of_the_page_find_nothing_wrong(
    words: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert run(words[1:]) == 0, capsys.readouterr()
    assert "on 100 rows" in capsys.readouterr().out


@pytest.mark.slow  # strop plan and strop check import torch
def test_the_commands_that_the_page_says_read_the_data_do_and_config_does_not(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    Path("bad.jsonl").write_text("{\n")
    told = re.search(r"by every command that opens the data: (.*?)\. `strop config` opens none", PAGE, re.DOTALL)
    assert told
    flags = ["--task.file", "bad.jsonl", "--task.reward", "hash", "--runs", str(folder / "runs")]
    given = {"reward test": ["hash", "bad.jsonl"], "eval": ["strop:tiny", *flags]}
    for command in re.findall(r"`strop ([a-z ]+)`", told[1]):
        assert run([*command.split(), *given.get(command, flags)]) == 4, command
        assert "strop: bad.jsonl:1: not JSON" in capsys.readouterr().err
    assert run(["config", *flags]) == 0


def test_the_python_of_the_page_prints_what_stands_beside_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(PYTHON, {})  # noqa: S102  the page's own snippet
    [wanted] = re.findall(r"  # (.*)$", PYTHON, flags=re.MULTILINE)
    first, second = out.getvalue().splitlines()
    assert first == wanted
    assert re.fullmatch(r"word_problems/verl.parquet row \d+ \{'ground_truth': '[\d,]+', 'style': 'rule'\}", second)


def test_the_mixture_of_the_page_is_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    task = find_task(load(mapping=yaml.safe_load(YAML)).task, seed=0)
    assert isinstance(task, Mixture)
    names = Counter(prompt.id.partition("/")[0] for prompt in map(task.prompt, range(9 * WINDOW)))
    assert names == {"verl.parquet": 384, "input_label.jsonl": 128, "arithmetic": 64}
    task.close()
    keys = re.search(r"An entry has the keys (.*?), and a `weight`", PAGE, re.DOTALL)
    assert keys and set(re.findall(r"`(\w+)`", keys[1])) | {"weight"} == Mixed.model_fields.keys()


def test_the_page_tells_endings_limits_and_names_of_answers_as_they_are() -> None:
    for ending, kind in SUFFIXES.items():
        assert re.search(rf"^\| `\*{re.escape(ending)}` \|.*\| `{kind}` \|$", PAGE, re.MULTILINE)
    assert LONGEST == 16 * 2**20 and "a line over 16 MiB" in PAGE
    assert f"more than {DEEPEST} levels of nesting" in PAGE
    shown = [name.replace(".ground_truth", '["ground_truth"]') for name in ANSWERS]
    assert all(f"`{name}`" in PAGE for name in shown)
