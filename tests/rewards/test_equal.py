r"""Two answers are the same or not whatever way they are written; the laws of an equality hold."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from strop.rewards.equal import letter_of, same, spelling
from strop.rewards.exact import Calculator, TooLarge, Undefined, Unknown, number, symbol
from strop.rewards.forms import Form, Reader
from strop.rewards.notation import tokens
from tests.rewards.answers import NOTATIONS, RATIONALS, percent

Notation = Callable[[Fraction], str]
NOTATION = st.sampled_from(NOTATIONS)
ITEMS = st.lists(st.fractions(min_value=-9, max_value=9, max_denominator=4), min_size=2, max_size=5)


def read(text: str) -> Form:
    return Reader(Calculator()).read(tokens(text))


def equal(left: str, right: str) -> bool | None:
    return same(read(left), read(right), Calculator())


@given(a=RATIONALS, b=RATIONALS, one=NOTATION, other=NOTATION)
@example(a=Fraction(11, 4), b=Fraction(2), one=NOTATIONS[4], other=NOTATIONS[0])
@example(a=Fraction(1, 2**80), b=Fraction(1, 2**81), one=NOTATIONS[0], other=NOTATIONS[1])
def test_numbers_are_equal_exactly_if_they_are_in_any_notation(
    a: Fraction, b: Fraction, one: Notation, other: Notation
) -> None:
    """Reports B29, B31 and B32, https://github.com/huggingface/Math-Verify/issues/34."""
    assert equal(one(a), other(a)) is True
    assert equal(one(a), other(b)) is (a == b)


@given(a=RATIONALS, b=RATIONALS, notation=NOTATION)
def test_a_percentage_is_its_value_and_its_number_and_nothing_else(
    a: Fraction, b: Fraction, notation: Notation
) -> None:
    assert equal(percent(a), notation(a)) is True
    assert equal(percent(a), notation(a * 100)) is True
    assert equal(percent(a), percent(b)) is (a == b)
    assert equal(percent(a), notation(b)) is (b in (a, 100 * a))


@settings(max_examples=50)
@given(items=ITEMS, order=st.randoms(use_true_random=False), notation=NOTATION)
def test_a_set_and_a_list_have_no_order_and_a_tuple_has(
    items: list[Fraction], order: object, notation: Notation
) -> None:
    shuffled = list(items)
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = ", ".join(map(notation, items)), ", ".join(map(notation, shuffled))
    assert equal(rf"\{{{one}\}}", rf"\{{{other}\}}") is True
    assert equal(rf"\{{{one}\}}", other) is True
    assert equal(f"({one})", f"({other})") is (items == shuffled)
    assert equal(f"({one})", other) is (items == shuffled)


@settings(max_examples=50)
@given(one=ITEMS, other=ITEMS)
def test_sets_are_equal_exactly_if_they_have_the_same_elements(one: list[Fraction], other: list[Fraction]) -> None:
    left, right = (r"\{" + ", ".join(map(str, items)) + r"\}" for items in (one, other))
    assert equal(left, right) is (set(one) == set(other))


@given(a=RATIONALS, b=RATIONALS, first=st.sampled_from("(["), last=st.sampled_from(")]"))
def test_an_interval_is_known_by_its_ends_and_brackets(a: Fraction, b: Fraction, first: str, last: str) -> None:
    interval = f"{first}{a},{b}{last}"
    for opening in "([":
        for closing in ")]":
            assert equal(interval, f"{opening}{a}, {b}{closing}") is ((opening, closing) == (first, last))
    assert equal(interval, f"{first}{b},{a}{last}") is (a == b)


@settings(max_examples=50)
@given(rows=st.lists(st.tuples(RATIONALS, RATIONALS), min_size=1, max_size=3), one=NOTATION, other=NOTATION)
def test_a_matrix_is_its_entries(rows: list[tuple[Fraction, Fraction]], one: Notation, other: Notation) -> None:
    def matrix(kind: str, write: Notation) -> str:
        body = r" \\ ".join(" & ".join(map(write, row)) for row in rows)
        return rf"\begin{{{kind}}}{body}\end{{{kind}}}"

    assert equal(matrix("pmatrix", one), matrix("bmatrix", other)) is True
    changed = [(rows[0][0] + 1, rows[0][1]), *rows[1:]]
    before, rows = matrix("pmatrix", one), changed
    assert equal(before, matrix("pmatrix", one)) is False


EXPRESSIONS = st.recursive(
    st.sampled_from(["x", "y", "2", r"\frac{1}{3}", r"\sqrt{2}", r"\pi", "i", "-3"]),
    lambda inner: st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(lambda t: f"({t[0]}{t[1]}{t[2]})"),
    max_leaves=6,
)
FORMS = st.one_of(
    EXPRESSIONS,
    st.lists(EXPRESSIONS, min_size=1, max_size=3).map(lambda items: r"\{" + ",".join(items) + r"\}"),
    st.lists(EXPRESSIONS, min_size=2, max_size=3).map(lambda items: "(" + ",".join(items) + ")"),
    st.tuples(EXPRESSIONS, EXPRESSIONS).map("=".join),
    st.tuples(EXPRESSIONS, EXPRESSIONS).map("<".join),
    st.sampled_from(
        [r"\text{yes}", "B", "b", "1010_2", "10", r"5\text{ cm}", r"5\text{ m}", "5", r"25\%", r"\pm 2", "x=5"]
    ),
)


@settings(max_examples=50)
@given(left=FORMS, right=FORMS)
def test_sameness_is_symmetric_and_everything_is_the_same_as_itself(left: str, right: str) -> None:
    try:
        assert equal(left, left) is True
        assert equal(left, right) is equal(right, left)
    except (TooLarge, Undefined, Unknown) as refusal:
        assert str(refusal)


@settings(max_examples=50)
@given(a=EXPRESSIONS, b=EXPRESSIONS, c=EXPRESSIONS)
def test_expressions_are_equal_whatever_way_they_are_multiplied_out(a: str, b: str, c: str) -> None:
    assert equal(rf"{a}*({b}+{c})", rf"{c}*{a}+{b}*{a}") is True
    assert equal(f"{a}+1", a) is False


@pytest.mark.parametrize(
    ("left", "right", "verdict"),
    [
        (r"5\text{ cm}", "5", True),
        (r"5\text{ cm}", r"5\text{ m}", False),
        (r"5\text{ cm}", r"5\text{ kg}", False),
        (r"5\text{ m}", r"5\text{ g}", False),
        (r"100\text{ cm}", r"1\text{ m}", True),
        (r"5\text{ apples}", r"5\text{ pears}", True),
        ("1010_2", "1010", True),
        ("1010_2", "10", False),
        ("1010_2", "1010_3", False),
        ("1010_2", "12_8", False),
        ("1010_2", r"\frac12", False),
        (r"\text{yes}", "YES", True),
        (r"\text{ab}", "ba", True),
        (r"\text{B}", "b", True),
        ("x", "y", False),
        (r"\text{yes}", "5", False),
        (r"\text{five}", "5", False),
        (r"\textbf{(B)} 12", "B", True),
        (r"\textbf{(B)} 12", "12", True),
        (r"\textbf{(B)} 12", r"\textbf{(B)} 13", False),
        (r"\textbf{(B)} 12", r"\textbf{(B)} \frac{24}{2}", True),
        (r"\textbf{(B)} x", "x", False),
        (r"\textbf{(B)} x", "B", True),
        (r"\text{(B) (C)}", "B", False),
        (r"\text{(B) (C)}", "C", False),
        (r"\text{(B) C}", "B", False),
        (r"\text{(B) or C}", "B", False),
        (r"\text{(B)} C, D", "C, D", False),
        ("x=3,y=4", "4,3", False),
        ("x=3,y=4", "3,4", True),
        ("x=3,y=4", "4=y,3=x", True),
        ("x=3,y=4", "x=4,y=3", False),
        ("x=3,y=4", "a=3,b=4", False),
        ("(x=3,y=4)", "(y=4,x=3)", True),
        ("m=3,b=4", "3,4", None),
        ("m=3,b=4", "4,3", None),
        ("m=3,b=4", "5,3", None),
        ("3=x,4=y", "4,3", False),
        ("x=3,x=4", "4,3", True),
        ("x=3,4", "4,3", True),
        (r"\textbf{(B)} 12", r"\textbf{(C)} 12", False),
        (r"\{5\}", "5", True),
        (r"\{5, 5\}", "5", True),
        ("x=5", "5", True),
        ("3x+2=5", "5", False),
        (r"(1,2)\cup(3,4)", r"(3,4)\cup(1,2)", True),
        (r"(1,2)\cup(3,4)", "(1,4)", None),
        (r"(1,2)\cup(2,3)", r"(1,2)\cup(2,3]", None),
        (r"\begin{pmatrix}1\end{pmatrix}", "1", False),
        (r"\begin{pmatrix}1\\2\end{pmatrix}", "(1,2)", None),
        (r"\sin 1", r"\cos 1", None),
        (r"\{\sin 1, 2\}", r"\{2, \sin 1\}", True),
        (r"\{\sin 1, 2\}", r"\{2, \cos 1\}", None),
        (r"\{\sin 1, 2\}", r"\{3, \cos 1\}", None),
        (r"(\sin 1, 2)", r"(\cos 1, 3)", False),
    ],
)
def test_each_kind_is_compared_by_its_rule(left: str, right: str, verdict: bool | None) -> None:
    assert equal(left, right) is verdict
    assert equal(right, left) is verdict


def test_words_are_compared_by_their_letters_and_lone_letters_without_case() -> None:
    assert spelling(" No  solution. ") == "no solution"
    assert spelling("AB", fold=False) == "AB"
    assert [letter_of(symbol("B")), letter_of(symbol("x_1")), letter_of(number(1))] == ["b", "", ""]
