"""The nearer to the length that the row asks for, the higher the score."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.errors import DataError
from strop.rewards import length
from strop.rewards.find import find_reward
from tests.rewards.answers import ANY_TEXT


@given(words=st.integers(0, 300), target=st.integers(1, 100))
def test_the_score_falls_by_the_share_that_is_missing_or_too_much(words: int, target: int) -> None:
    found = length.score("word " * words, target_length=target)
    assert found == {"score": pytest.approx(max(0.0, 1 - abs(words - target) / target)), "words": words}


@given(ANY_TEXT)
def test_the_score_of_any_text_is_between_0_and_1(text: str) -> None:
    assert 0.0 <= length.score(text, target_length="7.5")["score"] <= 1.0


@pytest.mark.parametrize("target", [0, -1, "ten", None, float("nan"), float("inf"), [5], 10**400])
def test_a_target_that_is_no_length_is_an_error(target: Any) -> None:
    with pytest.raises(DataError, match="target_length is .*: it must be a number of words above 0"):
        length.score("a b", target_length=target)


def test_a_row_without_the_column_is_found_before_the_run() -> None:
    reward = find_reward("length")
    assert reward.voted is None
    assert reward.signature.missing({"answer": "5"}) == ["target_length"]
