"""The task that a configuration names, and who scores it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import pytest

from strop.config.schema import Task as Settings
from strop.config.schema_task import Data
from strop.errors import ConfigError, DataError
from strop.rewards.scorer import Part
from strop.tasks.arithmetic import Arithmetic
from strop.tasks.find import find_task, reward_parts
from strop.tasks.read_dataset import _quiet
from strop.tasks.task import Task
from strop.types import Completion
from tests.tasks.fakes import write_csv, write_jsonl, write_parquet

HALF = """
def score(prompt, completion, answer):
    return 0.5
"""
NINE = Completion((5,), (-1.0,), "#9", "stop", 0)
CUT = Completion((5,), (-1.0,), "#9", "length", 0)
ROWS = [{"prompt": f"{i}+1=", "answer": "4"} for i in range(10)]


OPEN: list[Task] = []


@pytest.fixture(autouse=True)
def close() -> Iterator[None]:
    yield
    while OPEN:
        OPEN.pop().close()


def find(handed_over: Any = None, **settings: Any) -> Task:
    OPEN.append(find_task(Settings(**settings), seed=0, reward=handed_over))
    return OPEN[-1]


def scores(task: Task, *completions: Completion) -> list[float]:
    return [verdict.score for verdict in task.score(task.prompt(0), completions)]


def votes(task: Task, *completions: Completion) -> list[str]:
    return [verdict.answer for verdict in task.score(task.prompt(0), completions)]


def reward_file(tmp_path: Path, text: str = HALF) -> str:
    (tmp_path / "mine.py").write_text(text)
    return f"{tmp_path}/mine.py:score"


def data_file(tmp_path: Path) -> str:
    return str(write_jsonl(tmp_path / "d.jsonl", ROWS))


def test_a_reward_that_is_named_scores_in_place_of_the_tasks_own(tmp_path: Path) -> None:
    task = find(kind="arithmetic", reward=reward_file(tmp_path))
    assert scores(task, NINE, NINE) == [0.5, 0.5]
    assert task.description == f"{Arithmetic.description}, scored by {tmp_path}/mine.py:score"
    assert task.prompt(0) == Arithmetic().prompt(0)
    assert task.held_out(8) == Arithmetic().held_out(8)
    assert votes(task, NINE, CUT) == ["9", ""]


def test_a_reward_that_is_handed_over_scores_in_place_of_the_one_that_is_named(tmp_path: Path) -> None:
    def quarter(prompt: str, completion: str) -> float:
        return 0.25

    for settings in ({"kind": "arithmetic"}, {"kind": "jsonl", "file": data_file(tmp_path)}):
        assert scores(find(quarter, reward=reward_file(tmp_path), **settings), NINE) == [0.25]


@pytest.mark.parametrize("kind", ["arithmetic", "jsonl"])
def test_an_answer_beside_the_reward_votes_for_every_kind_of_task(tmp_path: Path, kind: str) -> None:
    text = HALF + "\n\ndef answer(completion):\n    return completion.strip('#') + '!'\n"
    task = find(kind=kind, file=data_file(tmp_path), reward=reward_file(tmp_path, text))
    assert votes(task, NINE, CUT) == ["9!", ""]


@pytest.mark.parametrize("kind", ["arithmetic", "jsonl"])
def test_a_reward_whose_parameter_no_column_fills_is_refused_before_anything_is_sampled(
    tmp_path: Path, kind: str
) -> None:
    reward = reward_file(tmp_path, "def score(prompt, completion, gold):\n    return 1.0\n")
    with pytest.raises(ConfigError, match="has the parameter 'gold', and prompt .* has no such column; it has answer"):
        find(kind=kind, file=data_file(tmp_path), reward=reward)


def test_a_task_of_a_file_needs_a_reward_and_a_file_that_can_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="task.reward: a task of kind jsonl needs one"):
        find(kind="jsonl", file=data_file(tmp_path))
    with pytest.raises(DataError, match="task.file: there is no file"):
        find(kind="jsonl", file=f"{tmp_path}/none.jsonl", reward=reward_file(tmp_path))


def test_a_path_may_begin_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    data_file(tmp_path)
    reward_file(tmp_path)
    home = {"file": "~/d.jsonl", "held_out_file": "~/d.jsonl", "reward": "~/mine.py:score"}
    with pytest.raises(DataError, match="no prompt is left to train on"):
        find(kind="jsonl", **home)
    assert scores(find(kind="jsonl", **{**home, "held_out_file": ""}), NINE) == [0.5]


@pytest.mark.parametrize("name, write", [("d.jsonl", write_jsonl), ("d.parquet", write_parquet), ("d.csv", write_csv)])
def test_the_ending_of_a_file_says_its_kind_and_every_kind_gives_the_same_prompts(
    tmp_path: Path, name: str, write: Any
) -> None:
    task = find(file=str(write(tmp_path / name, ROWS)), reward=reward_file(tmp_path))
    expected = find(file=data_file(tmp_path), reward=reward_file(tmp_path))
    shown = [[(p.id, p.content, p.columns) for p in map(each.prompt, range(18))] for each in (task, expected)]
    assert shown[0] == shown[1]
    assert scores(task, NINE) == [0.5]


@pytest.mark.parametrize("given", ["split", "folder"])
def test_held_out_prompts_of_a_dataset_are_those_of_a_split_or_of_another_dataset(tmp_path: Path, given: str) -> None:
    with _quiet():
        train, test = (datasets.Dataset.from_list(rows) for rows in (ROWS, ROWS[:3]))
        datasets.DatasetDict(train=train, test=test).save_to_disk(str(tmp_path / "both"))
        datasets.DatasetDict(train=test).save_to_disk(str(tmp_path / "other"))
    how = {"held_out_file": f"{tmp_path}/other"} if given == "folder" else {"data": Data(held_out_split="test")}
    task = find(file=f"{tmp_path}/both", reward=reward_file(tmp_path), **how)
    assert [prompt.content for prompt in task.held_out(9)] == ["0+1=", "1+1=", "2+1="]
    assert len(task.known()) == 10


def test_a_held_out_split_that_is_not_there_is_named_by_its_own_key(tmp_path: Path) -> None:
    with _quiet():
        datasets.DatasetDict(train=datasets.Dataset.from_list(ROWS)).save_to_disk(str(tmp_path / "d"))
    with pytest.raises(ConfigError, match="^task.data.held_out_split: .* has no split 'test'; it has train"):
        find(file=f"{tmp_path}/d", reward=reward_file(tmp_path), data=Data(held_out_split="test"))


def test_a_reward_is_one_text_or_a_list_of_texts_and_mappings() -> None:
    assert reward_parts("") == []
    assert reward_parts("math") == [Part("math")]
    both = reward_parts(["math", {"use": "my.py:f", "weight": 0.5, "name": "style"}])
    assert both == [Part("math"), Part("my.py:f", 0.5, "style")]


def test_a_scorer_is_closed_if_the_data_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []
    monkeypatch.setattr("strop.rewards.scorer.Scorer.close", lambda self: closed.append(self.name))
    (tmp_path / "bad.jsonl").write_text("{}\n")
    with pytest.raises(DataError):
        find(file=str(tmp_path / "bad.jsonl"), reward=reward_file(tmp_path))
    assert closed == [f"{tmp_path}/mine.py:score"]


@pytest.mark.parametrize(
    ("reward", "column"),
    [
        ("def score(completion, answer):\n    return 1.0\n", "answer"),
        ("def score(completion, label):\n    return 1.0\n", "label"),
        ("def score(completion, **columns):\n    return 1.0\n", "answer"),
        ("def score(data_source, solution_str, ground_truth):\n    return 1.0\n", "answer"),
        ("def score(completion, level):\n    return 1.0\n", ""),
        ("def score(completion):\n    return 1.0\n", ""),
    ],
)
def test_an_answer_may_be_missing_only_where_no_reward_reads_it(tmp_path: Path, reward: str, column: str) -> None:
    rows = [{**row, "level": 1, "label": "x"} for row in ROWS] + [{"prompt": "a", "level": 1}]
    settings = {"file": str(write_jsonl(tmp_path / "d.jsonl", rows)), "reward": reward_file(tmp_path, reward)}
    if column:
        with pytest.raises(DataError, match=f"d.jsonl:11: column '{column}': is missing"):
            find(**settings)
    else:
        task = find(**settings)
        assert len(task.known()) == 11
