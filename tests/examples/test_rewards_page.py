"""docs/rewards.md: its Python prints what it says, its settings load, its forms and names are the code's."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest
import yaml

from strop.config.load import load
from strop.rewards.builtin import BUILTIN
from strop.rewards.nursery import PRINTED
from strop.rewards.signature import GIVEN, RIGHT, TEXTS
from strop.rewards.trial import NEARLY_ALL, ROWS
from strop.rewards.trial_kinds import AS_IT_IS, FORMS
from tests.shape.source import ROOT

PAGE = (ROOT / "docs" / "rewards.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```([a-z]*)\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


def test_the_python_prints_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    [block] = [text for kind, text in BLOCKS if kind == "python"]
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        exec(block, {})  # noqa: S102  the page's own snippet
    assert shown.getvalue().splitlines() == re.findall(r"^#> (.*)$", block, flags=re.MULTILINE)


def test_the_settings_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("def score(completion): ...\ndef brevity(completion): ...\n")
    (tmp_path / "train.jsonl").write_text('{"prompt": "2+2=", "answer": "4"}\n')
    settings = [yaml.safe_load(text) for kind, text in BLOCKS if kind == "yaml"]
    assert len(settings) == 2
    for mapping in settings:
        assert load(mapping=mapping).task.reward == mapping["task"]["reward"]


def test_what_the_forms_hand_over_and_the_built_in_names_are_all_there() -> None:
    for names in GIVEN.values():
        assert all(name in PAGE for name in names)
    assert all(f"`{name}`" in PAGE for name in TEXTS | RIGHT)
    table = PAGE.partition("## Which rewards are built in?")[2]
    assert set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)))) == set(BUILTIN)


def test_its_numbers_are_the_code_s() -> None:
    assert f"{PRINTED // 1024} KiB" in PAGE
    assert f"on {ROWS} rows of the data" in PAGE
    assert len([*FORMS, AS_IT_IS]) == 7
    assert f"for {NEARLY_ALL:.0%} of the rows" in PAGE
