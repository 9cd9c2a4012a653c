"""Equal answers are spoken alike, so that maj@k counts them as one."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.rewards.exact import Calculator
from strop.rewards.forms import Reader
from strop.rewards.notation import tokens
from strop.rewards.spoken import spoken
from tests.rewards.answers import NOTATIONS, RATIONALS


def say(text: str) -> str:
    return spoken(Reader(Calculator()).read(tokens(text)))


@given(a=RATIONALS, b=RATIONALS)
def test_a_number_is_spoken_alike_in_all_notations_and_two_numbers_are_not(a: Fraction, b: Fraction) -> None:
    said = {say(notation(a)) for notation in NOTATIONS}
    assert len(said) == 1
    assert (say(NOTATIONS[0](b)) in said) is (a == b)


@given(items=st.lists(RATIONALS, min_size=2, max_size=4))
def test_a_set_is_spoken_alike_in_any_order(items: list[Fraction]) -> None:
    there, back = (", ".join(map(str, each)) for each in (items, items[::-1]))
    assert say(rf"\{{{there}\}}") == say(rf"\{{{back}\}}") == say(back)
    assert (say(f"({there})") == say(f"({back})")) is (items == items[::-1])


@pytest.mark.parametrize(
    ("written", "alike"),
    [
        ("x=5", "5"),
        ("5", r"5\text{ cm}"),
        ("B", r"\textbf{(B)}"),
        ("B", r"\textbf{(B)} 12"),
        (r"\text{Yes}", "yes"),
        (r"\{5\}", "5"),
        ("1<x<2", "(1,2)"),
        (r"\begin{pmatrix}1\\2\end{pmatrix}", r"\begin{bmatrix}1.0\\2\end{bmatrix}"),
        (r"(1,2)\cup(3,4)", r"(3,4)\cup(1,2)"),
        ("2x+1<y", "1+2x<y"),
        (r"\sqrt{8}", r"2\sqrt{2}"),
        ("y=4,x=3", "(3,4)"),
    ],
)
def test_answers_that_are_the_same_are_spoken_alike(written: str, alike: str) -> None:
    assert say(written) == say(alike)


@pytest.mark.parametrize(
    ("written", "different"), [("x=3,y=4", "x=4,y=3"), (r"\text{(A) (B)}", "A"), (r"\text{(A) (B)}", r"\text{(A) (C)}")]
)
def test_answers_that_differ_are_spoken_apart(written: str, different: str) -> None:
    assert say(written) != say(different)
