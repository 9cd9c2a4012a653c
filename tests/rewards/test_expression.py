"""Expressions become values; what reads two ways is refused."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.rewards.exact import Calculator, TooLarge, Undefined, Unknown, rational, text_of
from strop.rewards.expression import value_of
from strop.rewards.notation import tokens
from tests.rewards.answers import ANY_TEXT, NOTATIONS, RATIONALS

ARITHMETIC = st.recursive(
    st.integers(0, 20).map(str),
    lambda inner: st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(lambda three: f"({''.join(three)})"),
    max_leaves=8,
)


def value(text: str) -> str:
    return text_of(value_of(tokens(text), Calculator()))


@given(number=RATIONALS, notation=st.sampled_from(NOTATIONS))
def test_a_number_has_its_value_in_any_notation(number: Fraction, notation: object) -> None:
    assert callable(notation)
    assert rational(value_of(tokens(notation(number)), Calculator())) == number


@given(ARITHMETIC)
def test_sums_and_products_have_the_value_that_python_gives_them(text: str) -> None:
    assert rational(value_of(tokens(text), Calculator())) == python(text)


def python(text: str) -> int:
    """The value of fully bracketed arithmetic, worked out from the inside."""
    if text.isdigit():
        return int(text)
    level = 0
    for place, sign in enumerate(text):
        level += (sign == "(") - (sign == ")")
        if level == 1 and sign in "+-*":
            left, right = python(text[1:place]), python(text[place + 1 : -1])
            return {"+": left + right, "-": left - right, "*": left * right}[sign]
    raise ValueError(text)


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        (r"\frac12", "1/2"),
        (r"\frac1{2}", "1/2"),
        (r"\frac{1}{\sqrt2}", "1/2*2^(1/2)"),
        (r"\sqrt{12}", "2*3^(1/2)"),
        (r"\sqrt[3]{54}", "3*2^(1/3)"),
        ("2^10", "1024"),
        ("2^{-3}", "1/8"),
        ("-2^2", "-4"),
        ("(-2)^2", "4"),
        ("4^{3/2}", "8"),
        ("5!", "120"),
        (r"\binom52", "10"),
        ("2(3+4)", "14"),
        ("--3", "3"),
        ("|-3|", "3"),
        ("3:2", "3/2"),
        ("1.5e3", "1500"),
        (r"2\pi", "2*pi"),
        ("x^2x", "x^(3)"),
        ("(x+1)^2", "1 + 2*x + x^(2)"),
        ("x_1+x_{12}", "x_1 + x_12"),
        ("i^2", "-1"),
        (r"\sin^2 x", "sin(x)^(2)"),
        (r"\sin 2x", "sin(2*x)"),
        (r"\log_2 8", "log_2(8)"),
        (r"\exp(2)", "e^(2)"),
        (r"2^{x}", "power(2, x)"),
    ],
)
def test_an_expression_is_read_as_mathematicians_do(text: str, spelled: str) -> None:
    assert value(text) == spelled


@pytest.mark.parametrize(
    "text",
    [
        "1/2x",
        "2^3^2",
        "2 3",
        "x 2",
        r"\sin^{-1} x",
        "(-8)^{1/3}",
        r"2\frac{5}{3}",
        "3+",
        "",
        "(1",
        "1)",
        r"\foo",
        "x!",
        "@",
    ],
)
def test_what_reads_two_ways_or_none_is_refused(text: str) -> None:
    with pytest.raises(Unknown):
        value(text)


@pytest.mark.parametrize(
    "text",
    ["9^{9^{9^{9}}}", "10^{10^8}", "501!", "((9!)!)!", r"\binom{1000}{2}", "(x+1)^{5000}", "(" * 60 + "1" + ")" * 60]
    + [r"\sqrt" * 400 + "2", "9" * 4001],
)
def test_what_has_no_end_is_refused(text: str) -> None:
    """Report B34 (a), https://github.com/areal-project/AReaL/pull/1426."""
    with pytest.raises(TooLarge):
        value(text)


def test_a_division_by_zero_has_no_value() -> None:
    for text in ("1/0", r"\frac{0}{0}", "0^{-1}", r"\frac{1}{x-x}", r"\frac{1}{\sqrt{8}-2\sqrt{2}}"):
        with pytest.raises(Undefined):
            value(text)


def test_atoms_within_atoms_stay_small() -> None:
    text = "x"
    for _ in range(8):
        text = rf"\sin(({text}+1)^{{9}})"
    assert len(value(text)) < 300


@given(ANY_TEXT)
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        value(text)
    except (Unknown, TooLarge, Undefined) as refusal:
        assert str(refusal)
