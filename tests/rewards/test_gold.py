"""The right answer of a row, under whatever name a data file has it."""

from __future__ import annotations

from typing import Any

import pytest

from strop.errors import DataError
from strop.rewards.gold import NAMES, gold, ground_truth, has_gold


def test_the_first_name_that_is_there_gives_it() -> None:
    row: dict[str, Any] = {name: name for name in NAMES} | {"reward_model": {"ground_truth": "reward_model"}}
    for name in NAMES:
        assert gold(row) == name
        del row[name]
    assert not has_gold(row)


def test_a_name_without_a_value_is_passed_over() -> None:
    assert gold({"answer": None, "solution": 0}) == 0
    assert has_gold({"answer": None, "solution": 0})
    assert not has_gold({"answer": None, "reward_model": {"style": "rule"}, "label": None})


def test_verl_looks_for_its_own_names_first() -> None:
    assert ground_truth({"answer": "a", "reward_model": {"ground_truth": "b"}}) == "b"
    assert ground_truth({"answer": "a", "ground_truth": "c", "reward_model": {"ground_truth": "b"}}) == "c"
    assert ground_truth({"answer": "a"}) == "a"


def test_a_row_without_one_says_what_it_has() -> None:
    with pytest.raises(DataError, match="it has the columns question, level; name one of them answer"):
        gold({"question": "x", "level": 1})
