r"""The exact value of an expression's tokens, by recursive descent.

    sum      product ([+-] product)*
    product  signed ([* / :] signed | power)*      what stands side by side is multiplied
    signed   [+-]* power
    power    atom [^ exponent] [!]
    atom     12.5   2 3/4   x   x_1   \pi   \frac..   \sqrt[n]..   \binom..   \sin..   ( sum )   { sum }   | sum |

What reads two ways (1/2x, \sin^{-1} x) or has no one meaning here is refused: whoever asks must ask elsewhere.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from strop.rewards.exact import ATOM, Calculator, TooLarge, Unknown, Value, number, rational, symbol, text_of
from strop.rewards.notation import is_name, is_number, names
from strop.rewards.numerals import Tape, literal, numeral

DEEPEST = 40
LARGEST_FACTORIAL = 500
LONGEST_ATOM = 200
OPENING = frozenset("([{")
DIVISIONS = ("/", ":")
ENDS = frozenset(["+", "-", "*", "/", ")", "]", "}", "|", "^", "!", ":", ""])
FUNCTIONS = names(r"\sin \cos \tan \cot \sec \csc \arcsin \arccos \arctan \sinh \cosh \tanh \ln \log \exp \lg")
GREEK = names(
    r"\alpha \beta \gamma \delta \epsilon \varepsilon \zeta \eta \theta \iota \kappa \lambda \mu \nu \xi \rho \sigma "
    r"\tau \phi \varphi \chi \psi \omega \Gamma \Delta \Theta \Lambda \Sigma \Phi \Psi \Omega \ell \hbar"
)
CONSTANTS = {r"\pi": "pi", r"\infty": "oo"}


def value_of(tokens: Sequence[str], calculator: Calculator) -> Value:
    """The value of all the tokens.

    Raises:
        Unknown, TooLarge, Undefined: it has no value that is known here.
    """
    expression = Expression(tokens, calculator)
    value = expression.sum()
    if expression.tape.peek():
        raise Unknown(f"{expression.tape.peek()[:20]!r} is not read here")
    return value


def known_by(name: str, value: Value, more: str = "") -> Value:
    """The atom name(value): equal to another one only if name and value are written alike."""
    text = f"{text_of(value)}, {more}" if more else text_of(value)
    if len(text) > LONGEST_ATOM:
        text = hashlib.sha256(text.encode()).hexdigest()
    return symbol(f"{name}({text})", ATOM)


class Expression:
    """A reader of a tape of tokens."""

    def __init__(self, tokens: Sequence[str], calculator: Calculator) -> None:
        self.tape, self.calculator, self.depth = Tape(tokens), calculator, 0

    def sum(self) -> Value:
        total = self.product()
        while self.tape.peek() in ("+", "-"):
            negative = self.tape.take() == "-"
            term = self.product()
            total = self.calculator.add(total, self.calculator.negative(term) if negative else term)
        return total

    def product(self) -> Value:
        value, divided = self.signed(), False
        while self.tape.peek() in ("*", *DIVISIONS) or self.tape.peek() not in ENDS:
            operator = self.tape.take() if self.tape.peek() in ("*", *DIVISIONS) else ""
            if not operator and divided:
                raise Unknown("a product after a slash reads two ways")
            if not operator and is_number(self.tape.peek()):
                raise Unknown("a number stands behind something without an operator")
            factor = self.signed()
            divided = operator in DIVISIONS
            value = self.calculator.divide(value, factor) if divided else self.calculator.multiply(value, factor)
        return value

    def signed(self) -> Value:
        negative = False
        while self.tape.peek() in ("+", "-"):
            negative ^= self.tape.take() == "-"
        value = self.power()
        return self.calculator.negative(value) if negative else value

    def power(self) -> Value:
        value = self.atom()
        while self.tape.peek() in ("^", "!"):
            value = self.raised(value, self.exponent()) if self.tape.take() == "^" else factorial(value)
        return value

    def exponent(self) -> Value:
        negative = self.tape.peek() == "-"
        if negative:
            self.tape.take()
        value = self.atom()
        if self.tape.peek() == "^":
            raise Unknown("a power of a power reads two ways")
        return self.calculator.negative(value) if negative else value

    def raised(self, base: Value, exponent: Value) -> Value:
        known, size = rational(exponent), rational(base)
        if known is None:
            return known_by("power", base, text_of(exponent))
        if known.denominator == 1:
            return self.calculator.power(base, known.numerator)
        if size is not None and size < 0:
            raise Unknown("a fractional power of a negative number")
        return self.calculator.power(self.calculator.root(base, known.denominator), known.numerator)

    def atom(self) -> Value:
        self.depth += 1
        if self.depth > DEEPEST:
            raise TooLarge("the expression is nested too deeply")
        value = self.unnested()
        self.depth -= 1
        return value

    def unnested(self) -> Value:
        if self.tape.peek() and is_number(self.tape.peek()):
            return number(numeral(self.tape))
        token = self.tape.take()
        if token in READERS:
            return READERS[token](self)
        if token in CONSTANTS:
            return symbol(CONSTANTS[token])
        if token in FUNCTIONS:
            return self.function(token)
        if token and is_name(token) and (token[0] != "\\" or token in GREEK):
            return symbol(token + self.subscript())
        raise Unknown(f"{token[:20]!r} is not read here" if token else "it ends too early")

    def argument(self) -> Value:
        """What stands in brackets here, or the one digit or letter."""
        if self.tape.peek() in OPENING:
            return self.atom()
        self.tape.split_digit()
        return number(literal(self.tape.take())) if self.tape.peek().isdigit() else self.atom()

    def group(self, closing: str) -> Value:
        value = self.sum()
        self.tape.expect(closing)
        return value

    def fraction(self) -> Value:
        top = self.argument()
        return self.calculator.divide(top, self.argument())

    def root(self) -> Value:
        degree = whole(self.atom()) if self.tape.peek() == "[" else 2
        return self.calculator.root(self.argument(), degree)

    def binomial(self) -> Value:
        top, bottom = whole(self.argument()), whole(self.argument())
        if max(top, bottom) > LARGEST_FACTORIAL:
            raise TooLarge("a binomial is too large to work out")
        return number(math.comb(top, bottom))

    def absolute(self) -> Value:
        value = self.group("|")
        known = rational(value)
        return number(abs(known)) if known is not None else known_by("abs", value)

    def function(self, name: str) -> Value:
        r"""A function of its argument: \sin x, \sin^2 x, \log_2 8, \sin(x + 1), \sin 2x."""
        base, exponent = self.subscript(), 1
        if self.tape.peek() == "^":
            self.tape.take()
            exponent = whole(self.exponent())
        if self.tape.peek() in OPENING:
            argument = self.atom()
        else:
            argument = self.power()
            while self.tape.peek() not in ENDS and self.tape.peek() not in FUNCTIONS:
                argument = self.calculator.multiply(argument, self.power())
        if name == r"\exp":
            return self.raised(symbol("e"), argument)
        return self.calculator.power(known_by(name[1:] + base, argument), exponent)

    def subscript(self) -> str:
        if self.tape.peek() != "_":
            return ""
        self.tape.take()
        if self.tape.peek() != "{":
            return f"_{self.tape.take()}"
        self.tape.take()
        name = ""
        while self.tape.peek() not in ("}", ""):
            name += self.tape.take()
        self.tape.expect("}")
        return f"_{name}"


def whole(value: Value) -> int:
    """The whole number from 0 on that a value is.

    Raises:
        Unknown: it is none.
    """
    known = rational(value)
    if known is None or known.denominator != 1 or known < 0:
        raise Unknown("a whole number is missing")
    return int(known)


def factorial(value: Value) -> Value:
    if whole(value) > LARGEST_FACTORIAL:
        raise TooLarge("a factorial is too large to work out")
    return number(Fraction(math.factorial(whole(value))))


READERS: dict[str, Callable[[Expression], Value]] = {
    "(": lambda expression: expression.group(")"),
    "[": lambda expression: expression.group("]"),
    "{": lambda expression: expression.group("}"),
    "|": Expression.absolute,
    r"\frac": Expression.fraction,
    r"\sqrt": Expression.root,
    r"\binom": Expression.binomial,
}
