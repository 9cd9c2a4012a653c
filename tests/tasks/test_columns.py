"""Other people's names of columns: moved, reached into, or named as missing."""

from __future__ import annotations

import re
from typing import Any

import pytest

from strop.errors import ConfigError
from strop.tasks.columns import check_columns, renamed
from strop.tasks.rows import Row

VERL = {"prompt": "a", "reward_model": {"style": "rule", "ground_truth": "4"}, "level": 3, "note": None}


RENAMED = {"prompt": "a", "answer": "b"}


def under(columns: dict[str, str], **values: Any) -> Any:
    found = renamed(Row("d.jsonl:3", values), columns)
    return found.values if isinstance(found, Row) else str(found)


@pytest.mark.parametrize(
    ("columns", "values", "expected"),
    [
        ({}, {"prompt": "a"}, {"prompt": "a"}),
        (
            {"prompt": "input", "answer": "label"},
            {"input": "a", "label": "b", "c": 1},
            {"c": 1, "prompt": "a", "answer": "b"},
        ),
        ({"prompt": "answer", "answer": "prompt"}, {"prompt": "a", "answer": "b"}, {"prompt": "b", "answer": "a"}),
        ({"answer": "label"}, {"prompt": "a", "answer": "worked out", "label": "b"}, {"prompt": "a", "answer": "b"}),
        ({"answer": "label"}, {"prompt": "a", "answer": "worked out"}, {"prompt": "a"}),
        ({"answer": "a.b"}, {"a.b": 1}, {"answer": 1}),
        ({"answer": "reward_model.ground_truth"}, VERL, {**VERL, "answer": "4"}),
    ],
)
def test_a_plain_name_moves_its_column_and_a_dotted_one_reaches_into_mappings(
    columns: dict[str, str], values: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert under(columns, **values) == expected


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("reward_model.gold", "reward_model has no 'gold', only style, ground_truth"),
        ("reward_modl.gold", "the row has no 'reward_modl', only prompt, reward_model, level, note"),
        ("reward_model.style.deeper", "reward_model.style is a text, no mapping"),
        ("level.x", "level is a number, no mapping"),
        ("note.x", "note is null, no mapping"),
    ],
)
def test_a_column_that_a_dotted_name_cannot_reach_is_named_with_where_its_path_ends(path: str, reason: str) -> None:
    assert under({"answer": path}, **VERL) == f"d.jsonl:3: column '{path}': cannot be reached: {reason}"


def test_a_column_that_no_row_has_is_named_with_the_nearest() -> None:
    text = "task.data.columns: no row of d.jsonl has the column 'lable' that answer is to be; it has input, label; "
    with pytest.raises(ConfigError, match=re.escape(text + "did you mean label?")):
        check_columns({"answer": "lable"}, ["input", "label"], "d.jsonl")
    assert check_columns({"prompt": "inptu"}, ["input"], "d.jsonl") == ()


def test_a_column_of_the_file_that_gives_way_to_another_is_told() -> None:
    names = ["prompt", "answer", "label"]
    [told] = check_columns({"answer": "label"}, names, "d.jsonl")
    assert told == "task.data.columns: the column 'answer' of d.jsonl is left out: 'label' takes its place"
    assert check_columns({"prompt": "answer", "answer": "prompt"}, names, "d.jsonl") == ()
    assert check_columns({"solution": "label"}, names, "d.jsonl") == ()
