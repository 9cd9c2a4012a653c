"""docs/models.md: its commands work in the order they stand in, its Python too, and its numbers are the code's."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from strop.cli.main import run
from strop.config.schema import KEYS
from strop.policy.export import MERGE_BOUND
from tests.shape.source import ROOT

PAGE = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```([a-z]*)\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
COMMANDS = [line for kind, block in BLOCKS if not kind for line in block.splitlines() if line.startswith("strop ")]
PYTHON = [block for kind, block in BLOCKS if kind == "python"]
SMALL = shlex.split(
    "--train.steps 2 --rollout.prompts 4 --train.updates 1 --eval.prompts 4 --eval.completions 2 --eval.every 0"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("page")


def small(command: str) -> list[str]:
    words = shlex.split(command)[1:]
    return [*words, *(SMALL if words[0] == "train" else ())]


@pytest.mark.slow
def test_the_commands_of_the_page_work_one_after_the_other_and_its_python_then(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert [command.split()[1] for command in COMMANDS] == ["train", "eval", "train", "export", "export"]
    for command in COMMANDS:
        assert run(small(command)) == 0, command + capsys.readouterr().err
    assert len(PYTHON) == 2
    for block in PYTHON:
        namespace: dict[str, object] = {}
        capsys.readouterr()
        exec(block, namespace)  # noqa: S102  the page's own snippet
        told = capsys.readouterr().out.strip()
        if wanted := re.search(r"# (\{.*\})$", block, flags=re.MULTILINE):
            assert told == wanted[1]
        else:
            assert told.startswith("<bos>7-1=")


def test_the_page_tells_the_keys_and_the_bound_as_they_are() -> None:
    for key in ("train.lora.rank", "train.lora.alpha"):
        assert f"| `{key}` | `{KEYS[key].default:g}` |" in PAGE
    assert f"{MERGE_BOUND:.0e}".replace("e-0", "e-") in PAGE
