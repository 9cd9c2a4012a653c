r"""Exact numbers and expressions: quotients of polynomials with rational coefficients, within a bound on the work.

    polynomial   {monomial: coefficient}      3x^2 + 1/2        {((x, 2),): 3, (): 1/2}
    monomial     ((generator, exponent), ...) sorted
    generator    (PRIME, 2)   a prime under a root: sqrt(12) = 2 * 3^(1/2), its exponent in (0, 1)
                 (NAME, "x")  a variable, pi, e, i (i^2 = -1), oo (infinity)
                 (ATOM, "sin(x)")  anything else, known by its text alone

Products of fractional powers of primes are linearly independent over the rationals (Besicovitch 1940), pi and e satisfy
no polynomial met here, and variables are free: so two expressions without atoms are equal exactly if the difference of
their cross products is empty. With atoms that proves equality only.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

PRIME, NAME, ATOM = 0, 1, 2
Generator = tuple[int, int | str]
Monomial = tuple[tuple[Generator, Fraction], ...]
Polynomial = dict[Monomial, Fraction]

MAX_BITS = 14_000
"""Bits of a numerator or denominator: below the 4,300 digits that Python turns into text."""
MAX_WORK = 20_000
"""Products of terms in one comparison, larger numbers counting for more."""
MAX_EXPONENT = 1_000_000
LARGEST_PRIME = 10_000
"""Largest divisor tried when an integer is taken apart under a root."""
CONSTANTS = frozenset(["pi", "e", "i", "oo"])
IMAGINARY: Generator = (NAME, "i")


class Unknown(Exception):
    """Neither equality nor inequality can be shown here; the text says why."""


class TooLarge(Exception):
    """A number or expression beyond the bounds."""


class Undefined(Exception):
    """The expression has no value: a division by zero."""


class Value(NamedTuple):
    """top / bottom; `bottom` is 1, or has several terms."""

    top: Polynomial
    bottom: Polynomial


ONE: Polynomial = {(): Fraction(1)}


def number(value: Fraction | int) -> Value:
    """The value of a rational number."""
    value = Fraction(value)
    return Value({(): value} if value else {}, ONE)


def symbol(name: str, kind: int = NAME) -> Value:
    """The value of a variable, or with kind ATOM of something known by its text alone."""
    return Value({(((kind, name), Fraction(1)),): Fraction(1)}, ONE)


def rational(value: Value) -> Fraction | None:
    """The rational number that a value is, or None."""
    if value.bottom != ONE or any(value.top):
        return None
    return value.top.get((), Fraction(0))


class Calculator:
    """Arithmetic on values that gives up once MAX_WORK is spent.

    Raises:
        TooLarge: a number or the work is beyond the bounds.
        Undefined: a division by zero.
        Unknown: a root of what cannot be taken apart.
    """

    def __init__(self) -> None:
        self.spent = 0

    def spend(self, work: int) -> None:
        self.spent += work
        if self.spent > MAX_WORK:
            raise TooLarge("the expression is too large to work out")

    def add(self, left: Value, right: Value) -> Value:
        if left.bottom == right.bottom:
            return self.quotient(self.sum(left.top, right.top), left.bottom)
        top = self.sum(self.product(left.top, right.bottom), self.product(right.top, left.bottom))
        return self.quotient(top, self.product(left.bottom, right.bottom))

    def negative(self, value: Value) -> Value:
        return Value({monomial: -factor for monomial, factor in value.top.items()}, value.bottom)

    def multiply(self, left: Value, right: Value) -> Value:
        return self.quotient(self.product(left.top, right.top), self.product(left.bottom, right.bottom))

    def divide(self, left: Value, right: Value) -> Value:
        return self.quotient(self.product(left.top, right.bottom), self.product(left.bottom, right.top))

    def power(self, base: Value, exponent: int) -> Value:
        """base^exponent by squaring; 0^0 is undefined."""
        if exponent <= 0 and not base.top:
            raise Undefined("a power of zero that has no value")
        if abs(exponent) > MAX_EXPONENT:
            known = rational(base)
            if known is None or abs(known) != 1:
                raise TooLarge("an exponent is too large to work out")
            exponent = exponent % 2
        known = rational(base)
        if known is not None and bits(known) * abs(exponent) > MAX_BITS + abs(exponent):
            raise TooLarge("a power is too large to work out")
        if exponent < 0:
            base, exponent = self.divide(number(1), base), -exponent
        result, square = number(1), base
        while exponent:
            if exponent & 1:
                result = self.multiply(result, square)
            exponent >>= 1
            if exponent:
                square = self.multiply(square, square)
        return result

    def root(self, value: Value, degree: int) -> Value:
        r"""The real root, or of a negative number under a square root i times it; of an expression, an atom."""
        if not 1 <= degree <= 100:
            raise Unknown("a root of an unusual degree")
        known = rational(value)
        if degree == 1:
            return value
        if known is None:
            return symbol(f"root{degree}({text_of(value)})", ATOM)
        if known < 0 and degree > 2 and degree % 2 == 0:
            raise Unknown("an even root of a negative number")
        result = number(0) if known == 0 else number(1)
        for prime, exponent in factors(abs(known), self):
            result = self.multiply(result, prime_power(prime, Fraction(exponent, degree)))
        if known < 0:
            result = self.negative(result) if degree % 2 else self.multiply(result, symbol("i"))
        return result

    def equal(self, left: Value, right: Value) -> bool | None:
        """Whether two values are equal; None where that cannot be told."""
        difference = self.difference(left, right)
        if not difference:
            return True
        return None if has_atom(difference) else False

    def difference(self, left: Value, right: Value) -> Polynomial:
        """The numerator of left - right."""
        return self.add(left, self.negative(right)).top

    def sum(self, left: Polynomial, right: Polynomial) -> Polynomial:
        self.spend(1 + min(len(left), len(right)))
        total = dict(left)
        for monomial, factor in right.items():
            put(total, monomial, factor)
        return total

    def product(self, left: Polynomial, right: Polynomial) -> Polynomial:
        if left == ONE:
            return right
        if right == ONE:
            return left
        self.spend(len(left) * len(right))
        total: Polynomial = {}
        for one, factor in left.items():
            for other, second in right.items():
                scale, monomial = joined(one, other)
                value = factor * second * scale
                self.spend(bits(value) // 256)
                put(total, monomial, value)
        return total

    def quotient(self, top: Polynomial, bottom: Polynomial) -> Value:
        if not bottom:
            raise Undefined("a division by zero")
        if len(bottom) > 1 or not top:
            return Value(top, bottom if top else ONE)
        ((monomial, factor),) = bottom.items()
        inverse = tuple((generator, -exponent) for generator, exponent in monomial)
        scale, inverse = joined((), inverse)
        return Value(self.product(top, {inverse: scale / factor}), ONE)


def put(total: Polynomial, monomial: Monomial, value: Fraction) -> None:
    """Add a term to a polynomial; terms that vanish are not kept."""
    if bits(value) > MAX_BITS:
        raise TooLarge("a number is too large to work out")
    value += total.get(monomial, 0)
    if value:
        total[monomial] = value
    else:
        total.pop(monomial, None)


def joined(left: Monomial, right: Monomial) -> tuple[Fraction, Monomial]:
    """The product of two monomials as a rational factor and a monomial, whole powers of primes and of i taken out."""
    if not left and not right:
        return Fraction(1), ()
    exponents = dict(left)
    for generator, exponent in right:
        exponents[generator] = exponents.get(generator, Fraction(0)) + exponent
    scale = Fraction(1)
    for generator, exponent in list(exponents.items()):
        if generator[0] == PRIME:
            taken = math.floor(exponent)
            scale *= Fraction(int(generator[1])) ** taken
            exponents[generator] = exponent - taken
        elif generator == IMAGINARY:
            scale *= 1 if exponent % 4 < 2 else -1
            exponents[generator] = exponent % 2
        elif abs(exponent) > MAX_EXPONENT:
            raise TooLarge("an exponent is too large to work out")
    return scale, tuple(sorted(pair for pair in exponents.items() if pair[1]))


def prime_power(prime: int, exponent: Fraction) -> Value:
    scale, monomial = joined((), (((PRIME, prime), exponent),))
    return Value({monomial: scale}, ONE)


def factors(value: Fraction, calculator: Calculator) -> list[tuple[int, int]]:
    """Primes and their exponents in a positive rational number.

    Raises:
        Unknown: what is left after the small primes is no prime for sure.
    """
    found = [(prime, exponent) for prime, exponent in factors_of(value.numerator, calculator)]
    return found + [(prime, -exponent) for prime, exponent in factors_of(value.denominator, calculator)]


def factors_of(value: int, calculator: Calculator) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    prime = 2
    while prime * prime <= value and prime <= LARGEST_PRIME:
        exponent = 0
        while value % prime == 0:
            value, exponent = value // prime, exponent + 1
        if exponent:
            found.append((prime, exponent))
        prime += 1 if prime == 2 else 2
    calculator.spend(prime // 20)
    if value >= LARGEST_PRIME**2:
        whole = math.isqrt(value)
        if whole * whole != value or whole >= LARGEST_PRIME**2:
            raise Unknown("a large number under a root")
        return [*found, (whole, 2)]
    return [*found, (value, 1)] if value > 1 else found


def bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def has_atom(polynomial: Polynomial) -> bool:
    return any(generator[0] == ATOM for monomial in polynomial for generator, _ in monomial)


def names_in(polynomial: Polynomial) -> set[str]:
    """The variables of a polynomial; pi, e, i and infinity are none."""
    names = {str(name) for monomial in polynomial for (kind, name), _ in monomial if kind == NAME}
    return names - CONSTANTS


def text_of(value: Value) -> str:
    """One text for one value, wherever the form it is in allows it: "1/2", "2*3^(1/2)", "(x)/(x + 1)"."""
    if value.bottom == ONE:
        return terms(value.top)
    lead = value.bottom[min(value.bottom)]
    top, bottom = ({m: factor / lead for m, factor in part.items()} for part in value)
    return f"({terms(top)})/({terms(bottom)})"


def terms(polynomial: Polynomial) -> str:
    if not polynomial:
        return "0"
    return " + ".join(term(monomial, factor) for monomial, factor in sorted(polynomial.items()))


def term(monomial: Monomial, factor: Fraction) -> str:
    parts = [] if factor == 1 and monomial else [str(factor)]
    for (_, name), exponent in monomial:
        parts.append(str(name) if exponent == 1 else f"{name}^({exponent})")
    return "*".join(parts)
