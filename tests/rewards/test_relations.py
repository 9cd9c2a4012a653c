r"""Equations and inequalities: the same up to a factor, and what they are as a plain answer."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.rewards.exact import Calculator
from strop.rewards.forms import Reader, Relation
from strop.rewards.notation import tokens
from strop.rewards.relations import all_of, any_of, as_interval, name_of, same_relation, unwrapped
from strop.rewards.spoken import spoken

NUMBERS = st.integers(-9, 9)
FACTORS = st.fractions(min_value=Fraction(1, 5), max_value=5, max_denominator=5)


def relation(text: str) -> Relation:
    form = Reader(Calculator()).read(tokens(text))
    assert isinstance(form, Relation)
    return form


def same(left: str, right: str) -> bool | None:
    return same_relation(relation(left), relation(right), Calculator(), lambda one, two: spoken(one) == spoken(two))


def line(a: int, b: int, c: int, factor: Fraction, sign: str) -> str:
    f = rf"\frac{{{factor.numerator}}}{{{factor.denominator}}}"
    return f"{f}({a})x+{f}({b})y {sign} {f}({c})"


@given(one=st.tuples(NUMBERS, NUMBERS, NUMBERS), two=st.tuples(NUMBERS, NUMBERS, NUMBERS), factor=FACTORS)
def test_lines_are_the_same_exactly_if_they_are_proportional(
    one: tuple[int, int, int], two: tuple[int, int, int], factor: Fraction
) -> None:
    """Report B32, https://github.com/huggingface/Math-Verify/issues/34: unlike equations are not the same."""
    (a, b, c), (d, e, f) = one, two
    if (a, b) == (0, 0) or (d, e) == (0, 0):
        return
    proportional = a * e == b * d and a * f == c * d and b * f == c * e
    assert same(line(a, b, c, factor, "="), line(d, e, f, Fraction(1), "=")) is proportional
    assert same(line(a, b, c, factor, "="), line(-a, -b, -c, Fraction(1), "=")) is True


@given(a=NUMBERS.filter(bool), b=NUMBERS, c=NUMBERS, factor=FACTORS, sign=st.sampled_from(["<", r"\le"]))
def test_an_inequality_may_be_multiplied_by_a_positive_number_only(
    a: int, b: int, c: int, factor: Fraction, sign: str
) -> None:
    turned = {"<": ">", r"\le": r"\ge"}[sign]
    plain, negative = line(a, b, c, Fraction(1), sign), line(-a, -b, -c, Fraction(1), sign)
    assert same(plain, line(a, b, c, factor, sign)) is True
    assert same(plain, line(-a, -b, -c, factor, turned)) is True
    assert same(plain, negative) is False
    assert same(plain, line(a, b, c, Fraction(1), {"<": r"\le", r"\le": "<"}[sign])) is False


@pytest.mark.parametrize(
    ("left", "right", "verdict"),
    [
        ("y=2x+1", "2x-y+1=0", True),
        ("xy=1", r"y=\frac{1}{x}", True),
        (r"\sqrt{2}x=2y", r"x=\sqrt{2}y", True),
        ("x^2+y^2=9", "y^2=9-x^2", True),
        (r"\sqrt{2}x<2y", r"x<\sqrt{2}y", True),
        (r"\sqrt{2}x<2y", r"x>\sqrt{2}y", False),
        (r"(\sqrt{2}-2)x<y", r"(\sqrt{2}-2)x<y", True),
        ("ix<y", "-x<iy", False),
        ("x^2=4", "x=2", False),
        ("x=5", "y=5", False),
        ("x=5", "x=5", True),
        (r"A=5", r"\text{Area}=5", True),
        (r"\text{Area}=5", r"\text{Perimeter}=5", False),
        ("x=2+3=5", "x=5", True),
        ("1<x<2", "2>x>1", True),
        ("1<x<2", "1<x<3", False),
        ("1<x<2", "1<x", False),
        (r"x\ne 3", r"3\ne x", True),
        (r"x\ne 3", "x=3", False),
        ("x<3", "x=3", False),
        (r"\sin x=y", r"\cos x=z", None),
        (r"\sin x<y", r"\cos x<y", None),
    ],
)
def test_two_relations_are_the_same_different_or_not_told(left: str, right: str, verdict: bool | None) -> None:
    assert same(left, right) is verdict
    assert same(right, left) is verdict


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("x=5", "5"),
        ("5=x", "5"),
        ("f(x)=x+1", "1 + x"),
        ("2+3=5", "5"),
        ("x=2+3=5", "5"),
        ("(x,y)=(1,2)", "(1, 2)"),
        ("(x+1)^2=x^2+2x+1", "1 + 2*x + x^(2)"),
        ("3x+2=5", None),
        ("2+2=5", None),
        ("x<5", None),
        ("xy=5", None),
    ],
)
def test_an_equation_that_says_what_something_is_stands_for_it(text: str, plain: str | None) -> None:
    found = unwrapped(relation(text), Calculator())
    assert (spoken(found) if found else None) == plain


@pytest.mark.parametrize(
    ("text", "interval"),
    [
        ("x<5", "(-1*oo, 5)"),
        (r"x\ge 2", "[2, oo)"),
        (r"2\le x", "[2, oo)"),
        (r"1<x\le 2", "(1, 2]"),
        (r"2\ge x>1", "(1, 2]"),
        ("x+y<3", None),
        ("1<x>2", None),
        ("x<y", None),
        ("x=5", None),
    ],
)
def test_a_bounded_variable_is_an_interval(text: str, interval: str | None) -> None:
    found = as_interval(relation(text), Calculator())
    assert (spoken(found) if found else None) == interval


def test_an_equation_names_what_it_says_something_of() -> None:
    assert [name_of(relation(text)) for text in ("x=5", "5=x", "f(x)=x+1", "x=2+3=5")] == ["x", "x", "f(x)", "x"]
    assert [name_of(relation(text)) for text in ("x<5", "2+3=5", "3x=5")] == ["", "", ""]


def test_one_false_decides_all_and_one_true_decides_any() -> None:
    assert [all_of([True, None, False]), all_of([True, None]), all_of([True]), all_of([])] == [False, None, True, True]
    assert [any_of([True, None, False]), any_of([False, None]), any_of([False]), any_of([])] == [
        True,
        None,
        False,
        False,
    ]
