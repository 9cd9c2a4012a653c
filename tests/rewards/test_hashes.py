"""The reward `hash` reads what follows the last ####, on both sides."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.rewards import hashes
from strop.rewards.find import find_reward
from tests.rewards.answers import PROSE


@given(number=st.integers(-(10**6), 10**6), other=st.integers(-(10**6), 10**6), prose=PROSE)
def test_the_number_behind_the_last_mark_counts_whatever_stands_before_it(number: int, other: int, prose: str) -> None:
    gold = f"She has 3 + 4 = <<3+4=7>>7 apples.\n#### {number:,}"
    assert hashes.score(f"{prose}\n#### {number}", answer=gold)["score"] == 1.0
    assert hashes.score(f"#### {number}\n{prose}\n#### {other}", answer=gold)["score"] == float(number == other)


@pytest.mark.parametrize(
    ("completion", "score"),
    [
        ("#### 1234", 1.0),
        ("####1,234.", 1.0),
        ("#### $1,234.00", 1.0),
        ("#### **1234**", 1.0),
        ("#### 1234 apples", 1.0),
        ("#### 1,23", 0.0),
        ("#### 1234\n#### 1", 0.0),
        ("#### ", 0.0),
        (r"\boxed{1234}", 0.0),
        ("The answer is 1234", 0.0),
        ("### 1234", 0.0),
    ],
)
def test_gsm8k_answers_score_as_they_should(completion: str, score: float) -> None:
    assert hashes.score(completion, answer="12 * 100 + 34 = 1234\n#### 1,234")["score"] == score


def test_it_is_found_by_its_name_and_votes_by_value() -> None:
    reward = find_reward("hash")
    assert reward.function is hashes.score
    assert reward.voted is hashes.answer
    assert hashes.answer("#### 1,234") == hashes.answer("#### 1234.0") == "1234"
    assert hashes.answer("1234") == ""
