r"""Answers to draw: numbers, and the notations that one number has."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

RATIONALS = st.fractions(min_value=-10_000, max_value=10_000, max_denominator=500)
PROSE = st.text(st.characters(codec="utf-8", exclude_characters="\\{}#*<>"), max_size=60).filter(
    lambda text: "answer" not in text.lower() and "correct" not in text.lower()
)
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=200)
"""Any characters at all, half ones, NUL and marks of direction among them."""


def slash(number: Fraction) -> str:
    return f"{number.numerator}/{number.denominator}"


def stacked(number: Fraction) -> str:
    return rf"\frac{{{number.numerator}}}{{{number.denominator}}}"


def sign_in_front(number: Fraction) -> str:
    return ("-" if number < 0 else "") + rf"\dfrac{{{abs(number.numerator)}}}{{{number.denominator}}}"


def expanded(number: Fraction) -> str:
    return rf"\tfrac{{{number.numerator * 6}}}{{{number.denominator * 6}}}"


def mixed(number: Fraction) -> str:
    whole, rest = divmod(abs(number.numerator), number.denominator)
    sign = "-" if number < 0 else ""
    return f"{sign}{whole} {rest}/{number.denominator}" if whole and rest else slash(number)


def mixed_stacked(number: Fraction) -> str:
    whole, rest = divmod(abs(number.numerator), number.denominator)
    sign = "-" if number < 0 else ""
    return rf"{sign}{whole}\frac{{{rest}}}{{{number.denominator}}}" if whole and rest else stacked(number)


def percent(number: Fraction) -> str:
    return rf"\frac{{{number.numerator * 100}}}{{{number.denominator}}}\%"


def repeating(number: Fraction) -> str:
    r"""The decimal with what repeats under a line: 0.1\overline{6}."""
    whole, rest = divmod(abs(number.numerator), number.denominator)
    digits, seen = "", dict[int, int]()
    while rest and rest not in seen and len(digits) < 40:
        seen[rest] = len(digits)
        digits, rest = digits + str(rest * 10 // number.denominator), rest * 10 % number.denominator
    sign = "-" if number < 0 else ""
    if not rest:
        return f"{sign}{whole}.{digits}" if digits else f"{sign}{whole}"
    if rest not in seen:
        return slash(number)
    return rf"{sign}{whole}.{digits[: seen[rest]]}\overline{{{digits[seen[rest] :]}}}"


def grouped(number: Fraction) -> str:
    return f"{number.numerator:,}" if number.denominator == 1 else slash(number)


NOTATIONS = (slash, stacked, sign_in_front, expanded, mixed, mixed_stacked, repeating, grouped)
"""Ways to write one number that all mean it; `percent` means its hundredfold too."""
