"""Tasks that cannot be are refused before a file is opened; keys without effect are pointed out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import datasets.config
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from strop.config.check_task import idle_keys, task_problems
from strop.config.load import load
from strop.config.schema import KEYS
from strop.config.schema_task import Task
from strop.errors import ConfigError
from strop.tasks.reading import Source, kind_of
from strop.tasks.rows import Row


def first(**settings: Any) -> str:
    """The first problem, as "key: text"; "" if there is none."""
    return next((f"{key}: {text}" for key, text in task_problems(Task.model_validate(settings), "a/b")), "")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("train.jsonl", "test.parquet", "r.py", "data.txt", "odd[1].jsonl"):
        (tmp_path / name).touch()
    (tmp_path / "folder").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, "task.kind: model a/b names no task of its own: give --task.file PROMPTS.jsonl"),
        (
            {"file": "data.txt"},
            "task.kind: the ending of data.txt does not say it; .jsonl, .json, .parquet, .csv and a folder do; set "
            "task.kind to jsonl, parquet, csv or dataset if it is one",
        ),
        ({"file": "train.tsv"}, "task.kind: the ending of train.tsv does not say it"),
        (
            {"file": "train.jsonl.gz"},
            "task.kind: the ending of train.jsonl.gz does not say it; .jsonl, .json, .parquet, .csv and a folder do; "
            "unpack it",
        ),
        *(
            ({**settings, key: pattern}, f"task.{key}: {pattern} is a pattern; name the folder of the files")
            for pattern in ("folder/*.parquet", "folder/*", "folder/part-?.jsonl", "f*/[ab].csv")
            for key, settings in (
                ("file", {}),
                ("file", {"kind": "parquet"}),
                ("held_out_file", {"file": "train.jsonl"}),
            )
        ),
        ({"file": "org/name"}, "task.kind: the ending of org/name does not say it"),
        ({"kind": "jsonl"}, "task.file: is empty, and task.kind jsonl reads its prompts from there"),
        (
            {"kind": "csv", "file": "train.jsonl"},
            "task.kind: csv, but train.jsonl is of kind jsonl: leave task.kind",
        ),
        ({"kind": "jsonl", "file": "folder"}, "task.kind: jsonl, but folder is of kind dataset"),
        (
            {"kind": "jsonl", "file": "trian.jsonl"},
            "task.file: there is no file trian.jsonl; did you mean train",
        ),
        ({"kind": "dataset", "file": "./foldr"}, "task.file: there is no folder foldr; did you mean folder?"),
        (
            {"kind": "jsonl", "file": "train.jsonl", "held_out_file": "no.csv"},
            "task.held_out_file: there is no file no.csv",
        ),
        ({"kind": "mixture"}, "task.mix: is empty, and task.kind mixture draws from it"),
        ({"kind": "mixture", "mix": [{}]}, "task.mix: entry 1, kind: is missing, and there is no file"),
        ({"kind": "mixture", "mix": [{"kind": "mixture"}]}, "task.mix: entry 1, kind: a mixture holds no mixture"),
        (
            {"kind": "mixture", "mix": [{"kind": "arithmetic"}, {"kind": "jsonl", "file": "no.jsonl"}]},
            "task.mix: entry 2, file: there is no file no.jsonl",
        ),
        (
            {"kind": "mixture", "mix": [{"kind": "arithmetic", "reward": "mth"}]},
            "task.mix: entry 1, reward: 'mth' is not of the form",
        ),
        (
            {"kind": "mixture", "mix": [{"kind": "arithmetic", "data": {"long_prompts": "drop"}}]},
            "task.mix: entry 1, data.long_prompts: is one for all entries",
        ),
        ({"kind": "reasoning_gym"}, "task.name: is empty, and task.kind reasoning_gym makes the problems of that name"),
        ({"kind": "verifiers"}, "task.name: is empty"),
    ],
)
def test_what_cannot_be_is_named_with_its_key(here: Path, settings: dict[str, Any], expected: str) -> None:
    assert first(**settings).startswith(expected)


@pytest.mark.parametrize("name", ["data.txt", "train.tsv", "train.jsonl.gz", "folder/part.tsv"])
def test_a_file_that_is_there_is_not_told_to_be_meant(here: Path, name: str) -> None:
    (here / name).touch()
    (here / "folder" / "part.csv").touch()
    assert "the ending of" in first(file=name) and "did you mean" not in first(file=name)
    assert "did you mean data.txt?" in first(file="dat.txt")


def test_a_folder_of_files_is_what_a_pattern_is_told_to_become(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The advice holds: the folder's files are read as one dataset."""
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(here / "cache"))
    rows = [{"prompt": f"{i}+1=", "answer": str(i + 1)} for i in range(6)]
    for part in range(2):
        pq.write_table(pa.Table.from_pylist(rows[3 * part : 3 * part + 3]), here / "folder" / f"part-{part}.parquet")
    assert first(file="folder/*.parquet").endswith("name the folder of the files: it is read as one dataset")
    assert first(file="folder", held_out_file="folder", reward="math") == ""
    found = [row.values for row in Source("folder", kind_of("folder")).rows() if isinstance(row, Row)]
    assert found == rows


@pytest.mark.parametrize(
    "settings",
    [
        {"kind": "arithmetic"},
        {"kind": "arithmetic", "file": "folder/*.csv"},
        {"file": "odd[1].jsonl", "reward": "math"},
        {"kind": "jsonl", "file": "train.jsonl", "held_out_file": "test.parquet", "reward": "math"},
        {"kind": "jsonl", "file": "data.txt", "reward": "r.py:score"},
        {"kind": "dataset", "file": "folder", "reward": "package.module.score"},
        {"kind": "dataset", "file": "openai/gsm8k@main", "reward": ["math", {"use": "r.py:f", "weight": -0.5}]},
        {"kind": "reasoning_gym", "name": "chain_sum"},
        {"kind": "mixture", "mix": [{"kind": "arithmetic"}, {"file": "train.jsonl", "reward": "math"}]},
    ],
)
def test_what_can_be_is_let_through(here: Path, settings: dict[str, Any]) -> None:
    assert first(**settings) == ""


@pytest.mark.parametrize(
    ("reward", "expected"),
    [
        ("mth", "'mth' is not of the form FILE.py:FUNCTION or MODULE.FUNCTION, or one of math, boxed"),
        ("mth", "did you mean math?"),
        ("no.py:f", "there is no file no.py"),
        ("q.py:f", "there is no file q.py; did you mean r.py?"),
        (["math", "nope"], "entry 2: 'nope' is not of the form"),
        (
            [{"use": "math", "wieght": 1.0}],
            "no key wieght: a reward has use, weight, name; did you mean weight?",
        ),
        ([{"weight": 1.0}], "use must be text: file.py:function, module.function or a built-in"),
        ([{"use": "math", "weight": "heavy"}], "weight must be a number, is 'heavy'"),
        ([{"use": "math", "weight": True}], "weight must be a number, is True"),
        ([{"use": "math", "weight": float("nan")}], "weight must be a number, is nan"),
        ([{"use": "math", "name": 3}], "name must be text, is 3"),
    ],
)
def test_a_reward_that_cannot_be_is_named(here: Path, reward: Any, expected: str) -> None:
    text = first(kind="arithmetic", reward=reward)
    assert text.startswith("task.reward: ")
    assert expected in text


def test_a_list_or_the_ending_of_a_file_says_the_kind_of_the_task_whatever_the_model_brings(here: Path) -> None:
    config = load(mapping={"task.file": "train.jsonl", "task.reward": "math"})
    assert (config.task.kind, config.sources["task.kind"]) == ("jsonl", "python")
    with pytest.raises(ConfigError, match=re.escape("task.kind: the ending of data.txt does not say it")):
        load(mapping={"task.file": "data.txt", "task.reward": "math"})
    assert load().task.kind == "arithmetic"
    assert load(mapping={"task.mix": [{"kind": "arithmetic"}]}).task.kind == "mixture"
    assert load(mapping={"task.mix": []}).task.kind == "arithmetic"
    assert load(mapping={"task.kind": "arithmetic"}).task.kind == "arithmetic"


@pytest.mark.parametrize(
    ("settings", "key", "why"),
    [
        ({"task.kind": "arithmetic", "task.data.columns": {"prompt": "q"}}, "task.data.columns", "makes its own"),
        ({"task.kind": "arithmetic", "task.max_bad": 3}, "task.max_bad", "makes its own problems"),
        (
            {"task.file": "train.jsonl", "task.data.split": "test"},
            "task.data.split",
            "task.kind jsonl does not read it",
        ),
        ({"task.file": "train.jsonl", "task.name": "x"}, "task.name", "task.kind jsonl does not read it"),
        (
            {"task.kind": "jsonl", "task.file": "train.jsonl", "task.mix": [{"kind": "arithmetic"}]},
            "task.mix",
            "does not read it",
        ),
        ({"task.file": "folder", "task.data.settings": {"a": 1}}, "task.data.settings", "does not read it"),
        (
            {"task.kind": "mixture", "task.mix": [{"kind": "arithmetic"}], "task.file": "train.jsonl"},
            "task.file",
            "task.kind mixture reads it in each entry of task.mix",
        ),
        ({"task.kind": "reasoning_gym", "task.name": "x", "task.max_bad": 1}, "task.max_bad", "does not read it"),
    ],
)
def test_a_key_that_the_kind_does_not_read_is_a_warning(
    here: Path, settings: dict[str, Any], key: str, why: str
) -> None:
    [warning] = load(mapping={"task.reward": "math", **settings}).warnings
    assert warning.startswith(f"{key} has no effect: ")
    assert why in warning


def test_no_key_has_no_effect_at_its_default(here: Path) -> None:
    assert load(mapping={"task.file": "train.jsonl", "task.reward": "math"}).warnings == ()


def test_every_key_that_is_said_to_have_no_effect_is_a_key() -> None:
    for kind in ("arithmetic", "jsonl", "parquet", "csv", "dataset", "mixture", "reasoning_gym", "verifiers"):
        assert {key for key, _ in idle_keys(Task(kind=kind))} <= KEYS.keys()  # type: ignore[arg-type]
