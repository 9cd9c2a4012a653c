"""An answer is right, wrong, or not told, and the judgement says why and by whom."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.errors import DataError
from strop.rewards.verdict import LONGEST, Judgement, compare, judge, logged, nobody, voted
from tests.rewards.answers import ANY_TEXT, NOTATIONS, RATIONALS


def asked(gold: str, answer: str) -> Judgement:
    return Judgement(True, f"asked about {gold} and {answer}", "math-verify")


@pytest.mark.parametrize(
    ("gold", "answer", "judgement"),
    [
        ("0.75", r"\frac{3}{4}", (True, "equal", "exact")),
        ("0.75", r"\frac{6}{9}", (False, "not equal", "exact")),
        (r"\frac{1}{2}", r"\dfrac{1}{2}", (True, "written alike", "exact")),
        ("5", "", (False, "there is no answer", "exact")),
        ("1", r"\frac{1}{0}", (False, "a division by zero", "exact")),
        ("1", "9^{9^{9^{9}}}", (False, "an exponent is too large to work out", "nobody")),
        ("9^{9^{9^{9}}}", "1", (False, "an exponent is too large to work out", "nobody")),
        ("1", "1" * (LONGEST + 1), (False, "the answer is too long to read", "nobody")),
        (r"\sin 1", r"\cos 1", (True, r"asked about \sin 1 and \cos 1", "math-verify")),
        ("5", r"5\text{ or more}", (False, "the answer is prose that is not read", "exact")),
        ("5", "5 units and 3 more of them", (False, "the answer is prose that is not read", "exact")),
        ("5", "I am not sure", (False, "the answer is prose that is not read", "exact")),
        ("5", r"\text{The answer is } 5", (True, "equal", "exact")),
        ("1", "@", (True, "asked about 1 and @", "math-verify")),
    ],
)
def test_a_judgement_says_why_and_by_whom(gold: str, answer: str, judgement: tuple[bool, str, str]) -> None:
    assert judge(gold, answer, asked) == judgement


def test_without_anyone_to_ask_what_cannot_be_told_is_no_right_answer() -> None:
    assert judge(r"\sin 1", r"\cos 1") == nobody("", "")
    assert judge(r"\sin 1", r"\sin 1").right
    assert logged("x", nobody("", "")) == {"score": 0.0, "answered": 1.0, "undecided": 1.0}
    assert logged("", judge("1", "")) == {"score": 0.0, "answered": 0.0, "undecided": 0.0}


@given(number=RATIONALS, other=RATIONALS, notation=st.sampled_from(NOTATIONS))
def test_a_right_answer_may_be_a_number_of_any_type(number: Fraction, other: Fraction, notation: Any) -> None:
    for gold in (number, str(number), [str(number)]):
        assert judge(gold, notation(number)).right
        assert judge(gold, notation(other)).right is (number == other)
    assert judge(number.numerator, notation(Fraction(number.numerator))).right
    assert judge(Decimal("2.50"), "5/2").right
    assert judge(0.1, r"\frac{1}{10}").right


@pytest.mark.parametrize(
    "gold",
    [
        None,
        True,
        float("nan"),
        float("inf"),
        10**5000,
        Decimal("nan"),
        {"a": 1},
        ["1", "2"],
        [],
        "",
        "  ",
        r"\boxed{5",
        "#### ",
    ],
    ids=lambda gold: type(gold).__name__,
)
def test_a_right_answer_that_is_none_is_an_error_and_never_a_wrong_answer(gold: Any) -> None:
    with pytest.raises(DataError, match="the right answer"):
        judge(gold, "5")


@pytest.mark.parametrize(
    ("gold", "answer", "right"),
    [
        ("12,345", "12345", True),
        ("12,345", "12, 345", True),
        ("12345", "12, 345", False),
        ("100,200", "200,100", True),
        ("5", "5 m", True),
        ("5m", "5 m", True),
        (r"5\text{ m}", "5 m", True),
        (r"5\text{ g}", "5 m", False),
        ("5", "5m", False),
        ("5", "5 x", False),
    ],
)
def test_what_reads_two_ways_is_right_if_one_of_them_is(gold: str, answer: str, right: bool) -> None:
    assert judge(gold, answer).right is right


@given(ANY_TEXT.filter(lambda text: text.strip() != ""))
def test_every_text_is_the_same_as_itself(text: str) -> None:
    assert compare(text, text).right


@given(gold=ANY_TEXT, answer=ANY_TEXT)
def test_no_text_breaks_a_judgement(gold: str, answer: str) -> None:
    judgement = compare(gold, answer)
    assert judgement.reason
    assert isinstance(voted(answer), str)


def test_a_megabyte_is_judged_as_it_is_written() -> None:
    long = "x+" * 500_000
    assert compare(long, long).right
    assert not compare(long, long + "1").right


def test_votes_are_alike_for_equal_answers_and_short() -> None:
    assert voted("0.5") == voted(r"\frac12") == voted("1/2") == "1/2"
    assert voted("") == ""
    assert voted("@ @") == "@@"
    assert len(voted("9" * 1_900)) == 64
    assert voted("9" * 1_900) != voted("9" * 1_899)
    assert len(voted("\ud800" * 5_000)) == 64
