r"""The reward `boxed` reads boxes alone, and needs nothing installed."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given

from strop.errors import DataError
from strop.rewards import boxed
from strop.rewards.find import find_reward
from tests.rewards.answers import NOTATIONS, PROSE, RATIONALS


@given(number=RATIONALS, prose=PROSE)
def test_a_box_with_the_right_value_scores_one_and_without_a_box_nothing_does(number: object, prose: str) -> None:
    for notation in NOTATIONS:
        text = notation(number)  # type: ignore[arg-type]
        assert boxed.score(rf"{prose} \boxed{{{text}}}", answer=str(number))["score"] == 1.0
        assert boxed.score(f"The answer is {text}", answer=str(number)) == {
            "score": 0.0,
            "answered": 0.0,
            "undecided": 0.0,
        }


def test_what_cannot_be_proven_scores_nothing_and_is_counted() -> None:
    assert boxed.score(r"\boxed{\cos 1}", answer=r"\sin 1") == {"score": 0.0, "answered": 1.0, "undecided": 1.0}


def test_a_row_without_a_right_answer_is_an_error() -> None:
    with pytest.raises(DataError, match="no right answer"):
        boxed.score(r"\boxed{1}", question="1 = ?")


def test_it_is_found_by_its_name_and_votes_by_value() -> None:
    reward = find_reward("boxed")
    assert reward.function is boxed.score
    assert reward.voted is boxed.answer
    assert boxed.answer(r"\boxed{0.5}") == boxed.answer(r"\boxed{\frac12}") == "1/2"
    assert boxed.answer("The answer is 5") == ""


def test_it_scores_where_math_verify_is_not_installed() -> None:
    program = (
        "import sys; sys.modules['math_verify'] = None; from strop.rewards.boxed import score; "
        r"print(score(r'\boxed{\frac12}', answer='0.5')['score'], "
        "sum(name in sys.modules for name in ('sympy', 'torch', 'numpy')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1.0", "0"]
