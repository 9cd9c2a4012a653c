"""Every command that the README tells a reader to type is one that works."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from strop.cli.main import run
from strop.config.load import load
from strop.config.reader import split_arguments
from tests.shape.source import ROOT

FENCE = re.compile(r"^```[\w-]*\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
README = (ROOT / "README.md").read_text(encoding="utf-8")


def commands() -> list[list[str]]:
    """The `strop` and `make` lines of the fenced blocks, without prompts, comments and placeholders in capitals."""
    lines = [line.strip().removeprefix("$ ") for block in FENCE.findall(README) for line in block.splitlines()]
    typed = [line for line in lines if line.startswith(("strop ", "make "))]
    return [shlex.split(line, comments=True) for line in typed]


def test_every_link_leads_to_a_file() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
    for page in pages:
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
            assert target.startswith("http") or (page.parent / target).is_file(), f"{page.name} links to {target}"


STROP = [words[1:] for words in commands() if words[0] == "strop"]
MAKE = [words[1:] for words in commands() if words[0] == "make"]


def test_the_readme_begins_with_the_two_commands_that_do_everything() -> None:
    assert ["train"] in MAKE
    assert ["test"] in MAKE


@pytest.mark.parametrize("words", MAKE, ids=" ".join)
def test_a_make_target_is_there(words: list[str]) -> None:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert {word for word in words if "=" not in word} <= set(targets)


@pytest.mark.parametrize("words", STROP, ids=" ".join)
def test_a_strop_command_works(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    command, *arguments = words
    if command in ("reward", "plan", "export"):  # tests/examples/test_readme_example.py runs them
        assert run([command, "--help"]) == 0
        return
    if command not in ("train", "eval", "check", "config"):
        assert run(words) == 0, capsys.readouterr().err
        return
    assert run([command, "--help"]) == 0
    known = [argument for argument in arguments if argument not in ("--json", "--debug")]
    paths, flags = split_arguments(known)
    files = [path for path in paths if (ROOT / path).is_file() and path.endswith(".yaml")]
    if command != "eval" and len(files) == len(paths):
        load([ROOT / path for path in files], flags)


@pytest.mark.slow
def test_the_torchrun_line_of_the_readme_trains_when_made_small(tmp_path: Path) -> None:
    [line] = [line for block in FENCE.findall(README) for line in block.splitlines() if "torchrun" in line]
    program, *words = shlex.split(line)
    torchrun = Path(sys.executable).parent / Path(program).name
    small = [*SMALL.split(), "--runs", str(tmp_path), "--run", "small"]
    done = subprocess.run([torchrun, *words, *small], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "2, each with the whole model" in done.stdout
    assert (tmp_path / "small" / "summary.json").is_file()


SMALL = "--train.steps 1 --rollout.prompts 4 --train.updates 1 --eval.prompts 8 --eval.every 0"


TRAINED = [words for words in STROP if words[0] == "train" and "mine.yaml" not in words]
"""Runs of this folder; that of the reader's own mine.yaml is in tests/examples/test_readme_example.py."""


@pytest.mark.slow
@pytest.mark.parametrize("words", TRAINED, ids=" ".join)
def test_a_run_of_the_readme_trains_when_made_small_and_its_folder_can_be_evaluated(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = [*SMALL.split(), "--runs", str(tmp_path), "--run", "small"]
    assert run([*words, *small]) == 0, capsys.readouterr().err
    assert (tmp_path / "small" / "summary.json").is_file()
    assert run(["eval", str(tmp_path / "small"), "--eval.completions", "1"]) == 0, capsys.readouterr().err
