"""The task that a configuration names, and who scores it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from strop.config.schema import Task as Settings
from strop.errors import ConfigError, DataError
from strop.tasks.arithmetic import Arithmetic
from strop.tasks.find import find_task
from strop.tasks.task import Task
from strop.types import Completion

HALF = """
def score(prompt, completion, answer):
    return 0.5
"""
NINE = Completion((5,), (-1.0,), "#9", "stop", 0)


def find(handed_over: Any = None, **settings: Any) -> Task:
    return find_task(Settings(**settings), seed=0, reward=handed_over)


def reward_file(tmp_path: Path, text: str = HALF) -> str:
    (tmp_path / "mine.py").write_text(text)
    return f"{tmp_path}/mine.py:score"


def data_file(tmp_path: Path, **columns: Any) -> str:
    rows = [{"prompt": f"{i}+1=", **columns} for i in range(10)]
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(tmp_path / "d.jsonl")


def test_a_reward_that_is_named_scores_in_place_of_the_tasks_own(tmp_path: Path) -> None:
    task = find(kind="arithmetic", reward=reward_file(tmp_path))
    prompt = task.prompt(0)
    assert task.score(prompt, [NINE, NINE]) == [0.5, 0.5]
    assert task.description == f"{Arithmetic.description}, scored by {tmp_path}/mine.py:score"
    assert prompt == Arithmetic().prompt(0)
    assert task.held_out(8) == Arithmetic().held_out(8)
    assert task.answer(prompt, NINE) == "9"


def test_a_reward_that_is_handed_over_scores_in_place_of_the_one_that_is_named(tmp_path: Path) -> None:
    def quarter(prompt: str, completion: str) -> float:
        return 0.25

    for settings in ({"kind": "arithmetic"}, {"kind": "jsonl", "file": data_file(tmp_path, answer="4")}):
        task = find(quarter, reward=reward_file(tmp_path), **settings)
        assert task.score(task.prompt(0), [NINE]) == [0.25]


@pytest.mark.parametrize("kind", ["arithmetic", "jsonl"])
def test_an_answer_beside_the_reward_votes_for_every_kind_of_task(tmp_path: Path, kind: str) -> None:
    text = HALF + "\n\ndef answer(completion):\n    return completion.strip('#') + '!'\n"
    task = find(kind=kind, file=data_file(tmp_path, answer="4"), reward=reward_file(tmp_path, text))
    assert task.answer(task.prompt(0), NINE) == "9!"
    assert task.answer(task.prompt(0), Completion((5,), (-1.0,), "#9", "length", 0)) == ""


@pytest.mark.parametrize("kind", ["arithmetic", "jsonl"])
def test_a_reward_whose_parameter_no_column_fills_is_refused_before_anything_is_sampled(
    tmp_path: Path, kind: str
) -> None:
    reward = reward_file(tmp_path, "def score(prompt, completion, gold):\n    return 1.0\n")
    with pytest.raises(ConfigError, match="has the parameter 'gold', and prompt .* has no such column; it has answer"):
        find(kind=kind, file=data_file(tmp_path, answer="4"), reward=reward)


def test_a_jsonl_task_needs_a_reward_and_a_file_that_can_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="task.reward: a jsonl task needs one"):
        find(kind="jsonl", file=data_file(tmp_path))
    with pytest.raises(DataError, match="task.file: there is no file"):
        find(kind="jsonl", file=f"{tmp_path}/none.jsonl", reward=reward_file(tmp_path))


def test_a_path_may_begin_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    data_file(tmp_path, answer="4")
    reward_file(tmp_path)
    home = {"file": "~/d.jsonl", "held_out_file": "~/d.jsonl", "reward": "~/mine.py:score"}
    with pytest.raises(DataError, match="no prompt is left to train on"):
        find(kind="jsonl", **home)
    task = find(kind="jsonl", **{**home, "held_out_file": ""})
    assert task.score(task.prompt(0), [NINE]) == [0.5]
