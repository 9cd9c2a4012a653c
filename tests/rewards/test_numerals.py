"""Numbers as they are written, exactly."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.rewards.exact import TooLarge, Unknown
from strop.rewards.notation import tokens
from strop.rewards.numerals import Tape, in_base, literal, numeral
from tests.rewards.answers import RATIONALS, mixed, mixed_stacked, repeating


def read(text: str) -> tuple[Fraction, str]:
    tape = Tape(tokens(text))
    return numeral(tape), "".join(tape.tokens[tape.place :])


@given(RATIONALS.map(abs).filter(lambda number: number.denominator > 1 and number > 1))
def test_a_mixed_number_is_its_sum(number: Fraction) -> None:
    """Report B32, https://github.com/huggingface/Math-Verify/issues/34: 2 3/4 is no 2, no 3/4 and no 3/2."""
    assert read(mixed(number)) == (number, "")
    assert read(mixed_stacked(number)) == (number, "")


@given(RATIONALS.map(abs))
def test_a_repeating_decimal_is_its_fraction(number: Fraction) -> None:
    text = repeating(number)
    assert "/" in text or read(text) == (number, "")


@given(whole=st.integers(0, 10**9), places=st.integers(0, 9), exponent=st.integers(-50, 50))
def test_decimals_and_their_exponents_are_exact(whole: int, places: int, exponent: int) -> None:
    digits = str(whole).rjust(places + 1, "0")
    text = f"{digits[: len(digits) - places]}.{digits[len(digits) - places :]}" if places else digits
    assert literal(f"{text}e{exponent}") == Fraction(whole, 10**places) * Fraction(10) ** exponent


@pytest.mark.parametrize(
    ("text", "value", "rest"),
    [
        ("12", Fraction(12), ""),
        ("1,234.5", Fraction(2469, 2), ""),
        (".5", Fraction(1, 2), ""),
        ("2 3/4 + 1", Fraction(11, 4), "+1"),
        ("2/3", Fraction(2), "/3"),
        (r"2\frac34", Fraction(11, 4), ""),
        (r"2\frac{x}{4}", Fraction(2), r"\frac{x}{4}"),
        (r"2\frac{3}{0}", Fraction(2), r"\frac{3}{0}"),
        (r"0.\overline{3}", Fraction(1, 3), ""),
        (r"3\overline{4}", Fraction(3), r"\overline{4}"),
    ],
)
def test_a_number_ends_where_it_ends(text: str, value: Fraction, rest: str) -> None:
    assert read(text) == (value, rest)


def test_a_number_beside_an_improper_fraction_reads_two_ways() -> None:
    for text in (r"2\frac{5}{3}", "2 5/3"):
        with pytest.raises(Unknown, match="two ways"):
            read(text)


@pytest.mark.parametrize("token", ["1e99999999999", "9" * 4001, "1e9999", "1e-9999"])
def test_a_number_of_too_many_digits_is_refused_before_it_is_made(token: str) -> None:
    with pytest.raises(TooLarge):
        literal(token)


def test_a_digit_is_split_off_without_losing_the_others() -> None:
    tape = Tape(["123", "x"])
    tape.split_digit()
    assert tape.tokens == ["1", "23", "x"]
    assert [tape.take(), tape.peek(), tape.peek(5)] == ["1", "23", ""]
    with pytest.raises(Unknown, match="'\\)' is missing"):
        tape.expect(")")


@given(number=st.integers(0, 10**6), base=st.integers(2, 10))
def test_digits_in_a_base_are_their_number(number: int, base: int) -> None:
    digits, rest = "", number
    while rest or not digits:
        digits, rest = str(rest % base) + digits, rest // base
    assert in_base(digits, base) == number


def test_what_is_no_numeral_of_a_base_is_none() -> None:
    assert [in_base("12", 2), in_base("1", 1), in_base("1", 37), in_base("1" * 201, 2)] == [None] * 4
    assert in_base("1A", 16) == 26
