"""Exact arithmetic: the laws of a field, equality decided by value, and an end to the work."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from strop.rewards.exact import (
    ATOM,
    MAX_BITS,
    Calculator,
    TooLarge,
    Undefined,
    Unknown,
    Value,
    has_atom,
    names_in,
    number,
    rational,
    symbol,
    text_of,
)

SMALL = st.fractions(min_value=-20, max_value=20, max_denominator=12)


def leaf() -> st.SearchStrategy[Value]:
    roots = st.integers(2, 40).map(lambda n: Calculator().root(number(n), 2))
    return st.one_of(SMALL.map(number), st.sampled_from("xyi").map(symbol), roots)


def combined(parts: st.SearchStrategy[Value]) -> st.SearchStrategy[Value]:
    operations = st.sampled_from([Calculator.add, Calculator.multiply])
    return st.tuples(operations, parts, parts).map(lambda three: three[0](Calculator(), three[1], three[2]))


VALUES = st.recursive(leaf(), combined, max_leaves=5)


def equal(left: Value, right: Value) -> bool | None:
    return Calculator().equal(left, right)


@given(a=VALUES, b=VALUES, c=VALUES)
def test_sums_and_products_keep_the_laws_of_a_field(a: Value, b: Value, c: Value) -> None:
    add, times = Calculator().add, Calculator().multiply
    assert equal(add(a, b), add(b, a))
    assert equal(times(a, b), times(b, a))
    assert equal(times(a, add(b, c)), add(times(a, b), times(a, c)))
    assert equal(times(times(a, b), c), times(a, times(b, c)))
    assert equal(add(a, Calculator().negative(a)), number(0))


@given(a=VALUES, b=VALUES)
def test_what_is_divided_and_multiplied_again_is_what_it_was(a: Value, b: Value) -> None:
    assume(b.top)
    assert equal(Calculator().multiply(Calculator().divide(a, b), b), a)
    assert equal(Calculator().power(b, -2), Calculator().divide(number(1), Calculator().multiply(b, b)))


@given(a=SMALL, b=SMALL)
def test_rational_numbers_are_equal_exactly_if_they_are(a: Fraction, b: Fraction) -> None:
    assert equal(number(a), number(b)) is (a == b)
    assert rational(Calculator().add(number(a), number(b))) == a + b
    assert rational(Calculator().multiply(number(a), number(b))) == a * b


@given(n=st.integers(1, 3000), degree=st.integers(2, 5))
def test_a_root_raised_again_is_the_number(n: int, degree: int) -> None:
    assert rational(Calculator().power(Calculator().root(number(n), degree), degree)) == n


@given(terms=st.dictionaries(st.sampled_from([2, 3, 5, 6, 7, 10, 11, 30]), SMALL.filter(bool), min_size=1))
def test_different_square_roots_never_add_up_to_nothing(terms: dict[int, Fraction]) -> None:
    calculator, total = Calculator(), number(0)
    for under, factor in terms.items():
        total = calculator.add(total, calculator.multiply(number(factor), calculator.root(number(under), 2)))
    assert calculator.equal(total, number(0)) is False


def test_roots_of_negative_numbers_are_imaginary_or_negative() -> None:
    assert equal(Calculator().root(number(-4), 2), Calculator().multiply(number(2), symbol("i")))
    assert rational(Calculator().root(number(-8), 3)) == -2
    assert rational(Calculator().power(symbol("i"), 2)) == -1
    with pytest.raises(Unknown, match="even root"):
        Calculator().root(number(-8), 4)


def test_atoms_prove_equality_and_never_the_opposite() -> None:
    sine, cosine = symbol("sin(x)", ATOM), symbol("cos(x)", ATOM)
    assert equal(Calculator().add(sine, sine), Calculator().multiply(number(2), sine)) is True
    assert equal(sine, cosine) is None
    assert equal(symbol("pi"), number(Fraction(22, 7))) is False
    assert has_atom(sine.top)
    assert names_in(Calculator().multiply(symbol("x"), symbol("pi")).top) == {"x"}


@pytest.mark.parametrize(
    ("work", "error"),
    [
        (lambda calculator: calculator.divide(number(1), number(0)), Undefined),
        (lambda calculator: calculator.power(number(0), 0), Undefined),
        (lambda calculator: calculator.power(number(0), -1), Undefined),
        (lambda calculator: calculator.power(number(2), MAX_BITS + 1), TooLarge),
        (lambda calculator: calculator.power(number(2), 10**12), TooLarge),
        (lambda calculator: calculator.power(symbol("x"), 10**12), TooLarge),
        (lambda calculator: calculator.power(calculator.add(symbol("x"), number(1)), 10**5), TooLarge),
        (lambda calculator: calculator.root(number(10007 * 10009), 2), Unknown),
        (lambda calculator: calculator.root(number(2), 101), Unknown),
    ],
)
def test_what_has_no_value_or_no_end_is_refused(work: Callable[[Calculator], Value], error: type[Exception]) -> None:
    with pytest.raises(error):
        work(Calculator())


def test_powers_of_one_have_no_bound() -> None:
    assert rational(Calculator().power(number(-1), 10**30 + 1)) == -1
    assert rational(Calculator().power(number(2), MAX_BITS - 1)) == 2 ** (MAX_BITS - 1)


def test_the_work_of_one_comparison_is_bounded() -> None:
    calculator, value = Calculator(), symbol("x")
    with pytest.raises(TooLarge, match="too large to work out"):
        for place in range(10_000):
            value = calculator.add(calculator.multiply(value, value), symbol(f"x_{place}"))


@given(VALUES)
def test_equal_values_without_a_denominator_have_one_text(value: Value) -> None:
    again = Calculator().add(Calculator().multiply(number(2), value), Calculator().negative(value))
    assert text_of(again) == text_of(value)


def test_values_are_spelled_out() -> None:
    calculator = Calculator()
    root = calculator.root(number(12), 2)
    assert text_of(root) == "2*3^(1/2)"
    assert text_of(calculator.divide(symbol("x"), calculator.add(symbol("x"), number(1)))) == "(x)/(1 + x)"
    assert text_of(number(Fraction(-1, 2))) == "-1/2"
    assert text_of(number(0)) == "0"
