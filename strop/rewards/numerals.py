r"""The number that a run of tokens writes: 12.5, 1.5e3, 1,234, 0.1\overline{6}, 2\frac34, 2 3/4."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from strop.rewards.exact import MAX_BITS, TooLarge, Unknown, bits

LONGEST_LITERAL = 4_000
REPEATS = (r"\overline", r"\bar", r"\dot")


class Tape:
    """Tokens and the place in them; "" stands behind the last one."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self.tokens, self.place = list(tokens), 0

    def peek(self, ahead: int = 0) -> str:
        place = self.place + ahead
        return self.tokens[place] if place < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.place += 1
        return token

    def expect(self, token: str) -> None:
        if self.take() != token:
            raise Unknown(f"{token!r} is missing")

    def split_digit(self) -> None:
        r"""Make the first digit of a whole number a token of its own: TeX reads \frac12 as a half."""
        token = self.peek()
        if len(token) > 1 and token.isdigit():
            self.tokens[self.place : self.place + 1] = [token[0], token[1:]]


def numeral(tape: Tape) -> Fraction:
    """The number that stands here, with what repeats in it or the fraction that makes it a mixed number.

    Raises:
        TooLarge: it has too many digits.
        Unknown: a fraction follows that makes no mixed number.
    """
    token = tape.take()
    whole = literal(token.replace(",", "")) + repeating(tape, token)
    if not token.isdigit():
        return whole
    start = tape.place
    top, bottom = slashed(tape) if tape.peek(1) == "/" else stacked(tape)
    if not (top.isdigit() and bottom.isdigit()) or int(bottom) == 0:
        tape.place = start
        return whole
    if int(top) >= int(bottom):
        raise Unknown("a number beside an improper fraction reads two ways")
    return whole + Fraction(int(top), int(bottom))


def literal(token: str) -> Fraction:
    """The number of one token.

    Raises:
        TooLarge: it has too many digits, or too large an exponent.
    """
    exponent = re.split("[eE]", token)[-1] if re.search("[eE]", token) else "0"
    if len(token) > LONGEST_LITERAL or len(exponent) > 5:
        raise TooLarge("a number is too large to work out")
    value = Fraction(token)
    if bits(value) > MAX_BITS:
        raise TooLarge("a number is too large to work out")
    return value


def repeating(tape: Tape, token: str) -> Fraction:
    r"""What \overline{3} adds to the 0.1 before it; 0 where nothing repeats."""
    point = tape.peek() == "." and "." not in token
    if tape.peek(int(point)) not in REPEATS or not (point or "." in token):
        return Fraction(0)
    tape.place += 1 + point
    digits = argument(tape)
    if not re.fullmatch("[0-9]{1,50}", digits):
        raise Unknown("what repeats is no number")
    places = len(token.partition(".")[2])
    return Fraction(int(digits), (10 ** len(digits) - 1) * 10**places)


def slashed(tape: Tape) -> tuple[str, str]:
    """Numerator and denominator of the 3/4 that stands here."""
    top, _, bottom = tape.take(), tape.take(), tape.take()
    return top, bottom


def stacked(tape: Tape) -> tuple[str, str]:
    r"""Numerator and denominator of the \frac{3}{4} that stands here; empty if it has no plain numbers."""
    if tape.peek() != r"\frac":
        return "", ""
    tape.take()
    return argument(tape), argument(tape)


def argument(tape: Tape) -> str:
    """The one token of an argument, or "" if it has more."""
    if tape.peek() != "{":
        tape.split_digit()
        return tape.take()
    if tape.peek(2) != "}":
        return ""
    tape.place += 3
    return tape.peek(-2)


def in_base(digits: str, base: int) -> int | None:
    """The number that the digits write in a base of at most 36, or None if they write none."""
    if not 2 <= base <= 36 or len(digits) > 200 or not re.fullmatch("[0-9A-Za-z]+", digits):
        return None
    try:
        return int(digits, base)
    except ValueError:
        return None
