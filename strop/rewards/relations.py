r"""Whether two relations are the same, and what a relation is as a plain answer.

    x = 5   5 = x   2 + 3 = 5            as a plain answer 5
    x > 1   1 < x \le 2                  as an interval (1, oo)   (1, 2]
    2x + 4 = 0   x = -2                  the same: their differences are proportional
    x < y   y > x   2x < 2y              the same: by a positive factor

An equation is taken without denominators, so y = 1/x is xy = 1. Two that are not proportional are different, though
their solutions may be the same: x^2 = 4 is not x = 2 or x = -2, and not 2 or -2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from strop.rewards.exact import (
    CONSTANTS,
    NAME,
    PRIME,
    Calculator,
    Generator,
    Monomial,
    Polynomial,
    Value,
    has_atom,
    names_in,
    symbol,
    text_of,
)
from strop.rewards.forms import Collection, Form, Quantity, Relation, Words

Answer = bool | None
REAL = {"pi": math.pi, "e": math.e}
GREATER = {">": "<", ">=": "<="}


def all_of(answers: Sequence[Answer]) -> Answer:
    """True if all are, False if one is False, else None."""
    if False in answers:
        return False
    return None if None in answers else True


def any_of(answers: Sequence[Answer]) -> Answer:
    if True in answers:
        return True
    return None if None in answers else False


def unwrapped(relation: Relation, calculator: Calculator) -> Form | None:
    """The last side of an equation that says what something is: of x = 5, of 5 = x (then the first), of 2 + 3 = 5."""
    if set(relation.signs) != {"="}:
        return None
    first, last = relation.sides[0], relation.sides[-1]
    if relation.label:
        return last
    values = [side.value for side in relation.sides if isinstance(side, Quantity)]
    if len(values) < len(relation.sides):
        return None
    if len(values) == 2 and is_variable(values[1]) and not names_in(values[0].top):
        return first
    return last if all(calculator.equal(values[0], value) for value in values[1:]) else None


def name_of(relation: Relation) -> str:
    """What an equation says something of: x of x = 5 and of 5 = x; "" if it is no such equation."""
    if set(relation.signs) != {"="}:
        return ""
    last = relation.sides[-1]
    if relation.label or len(relation.sides) > 2 or not isinstance(last, Quantity):
        return relation.label
    return text_of(last.value) if is_variable(last.value) else ""


def as_interval(relation: Relation, calculator: Calculator) -> Collection | None:
    """The interval of a variable that numbers bound: (1, oo) of x > 1."""
    signs, sides = rising(relation)
    if signs is None or not all(isinstance(side, Quantity) for side in sides):
        return None
    variables = [place for place, side in enumerate(sides) if isinstance(side, Quantity) and is_variable(side.value)]
    if len(variables) != 1 or (len(sides) == 3 and variables != [1]) or len(sides) > 3:
        return None
    (place,) = variables
    infinity = symbol("oo")
    low = sides[place - 1] if place else Quantity(calculator.negative(infinity))
    high = sides[place + 1] if place + 1 < len(sides) else Quantity(infinity)
    left = "[" if place and signs[place - 1] == "<=" else "("
    right = "]" if place < len(signs) and signs[place] == "<=" else ")"
    return Collection("tuple", (low, high), left + right)


def rising(relation: Relation) -> tuple[tuple[str, ...] | None, tuple[Form, ...]]:
    """Signs and sides with all signs < or <=; no signs if they do not go one way."""
    signs, sides = relation.signs, relation.sides
    if all(sign in GREATER for sign in signs):
        signs, sides = tuple(GREATER[sign] for sign in reversed(signs)), sides[::-1]
    return (signs if all(sign in ("<", "<=") for sign in signs) else None), sides


def same_relation(
    left: Relation, right: Relation, calculator: Calculator, same: Callable[[Form, Form], Answer]
) -> Answer:
    """Whether two relations say the same; `same` compares sides that are no expressions."""
    kinds = [{sign if sign in ("=", "!=") else "<" for sign in relation.signs} for relation in (left, right)]
    if kinds[0] != kinds[1] or len(kinds[0]) > 1:
        return False if len(kinds[0]) == len(kinds[1]) == 1 else None
    if kinds[0] == {"="} and same_label(left, right):
        return same(left.sides[-1], right.sides[-1])
    one, two = differences(left, calculator), differences(right, calculator)
    if one is None or two is None:
        return all_of([same(left.sides[0], right.sides[0]), same(left.sides[-1], right.sides[-1])])
    ordered = kinds[0] == {"<"}
    return same_conditions(one, two, calculator, ordered)


def same_label(left: Relation, right: Relation) -> bool:
    """Whether two equations say what one thing is: by one name, or by a letter and in words."""
    words = [isinstance(relation.sides[0], Words) for relation in (left, right)]
    return bool(left.label and right.label) and (left.label == right.label or words[0] != words[1])


Condition = tuple[str, Polynomial]


def differences(relation: Relation, calculator: Calculator) -> list[Condition] | None:
    """Each neighbouring pair of sides as (sign, right - left); of a chain of equations the first and the last side."""
    signs, sides = rising(relation)
    if signs is None:
        signs, sides = relation.signs[:1], (relation.sides[0], relation.sides[-1])
    values = [side.value for side in sides if isinstance(side, Quantity)]
    if len(values) < len(sides):
        return None
    pairs = zip(signs, values, values[1:], strict=False)
    found = [(sign, calculator.difference(high, low)) for sign, low, high in pairs]
    return found if signs[0][0] == "<" else [(sign, without_denominators(each, calculator)) for sign, each in found]


def without_denominators(polynomial: Polynomial, calculator: Calculator) -> Polynomial:
    """An equation's polynomial times the variables that it has in a denominator: x y - 1 for y - 1/x."""
    lowest: dict[Generator, Fraction] = {}
    for monomial in polynomial:
        for generator, exponent in variables_of(monomial):
            lowest[generator] = min(exponent, lowest.get(generator, Fraction(0)))
    factor = tuple(sorted((generator, -exponent) for generator, exponent in lowest.items() if exponent < 0))
    return calculator.product(polynomial, {factor: Fraction(1)})


def same_conditions(one: list[Condition], two: list[Condition], calculator: Calculator, ordered: bool) -> Answer:
    left_over = list(two)
    for sign, polynomial in one:
        found = next(
            (each for each in left_over if each[0] == sign and proportional(polynomial, each[1], calculator, ordered)),
            None,
        )
        if found is None:
            return None if any(has_atom(each) for _, each in [*one, *two]) else False
        left_over.remove(found)
    return not left_over


def proportional(one: Polynomial, two: Polynomial, calculator: Calculator, positive: bool) -> bool:
    """Whether one is the other times a constant, if `positive` a positive one."""
    names = {variables_of(monomial) for monomial in one}
    if names != {variables_of(monomial) for monomial in two} or not names:
        return not one and not two
    lead = max(names)
    first, second = coefficient(one, lead), coefficient(two, lead)
    if calculator.product(one, second) != calculator.product(two, first):
        return False
    return not positive or first == second or sign_of(first) * sign_of(second) > 0


def sign_of(polynomial: Polynomial) -> int:
    """1 or -1 for a real constant that is clearly above or below 0, else 0."""
    try:
        terms = [float(factor) * math.prod(map(size_of, monomial)) for monomial, factor in polynomial.items()]
        total, error = math.fsum(terms), 1e-9 * math.fsum(map(abs, terms))
    except (OverflowError, ValueError):
        return 0
    return (total > error) - (total < -error)


def size_of(power: tuple[Generator, Fraction]) -> float:
    """The size of a power of a prime, pi or e; what is not real has none (ValueError)."""
    (kind, name), exponent = power
    if kind != PRIME and name not in REAL:
        raise ValueError(name)
    return float(REAL.get(str(name), name)) ** float(exponent)


def coefficient(polynomial: Polynomial, names: Monomial) -> Polynomial:
    """What stands before this product of variables: numbers and constants."""
    return {
        tuple(pair for pair in monomial if pair not in names): factor
        for monomial, factor in polynomial.items()
        if variables_of(monomial) == names
    }


def variables_of(monomial: Monomial) -> Monomial:
    return tuple(pair for pair in monomial if pair[0][0] != PRIME and pair[0][1] not in CONSTANTS)


def is_variable(value: Value) -> bool:
    if len(value.top) != 1 or value.bottom != {(): 1}:
        return False
    ((monomial, factor),) = value.top.items()
    ((kind, name), exponent) = monomial[0] if len(monomial) == 1 else ((NAME, ""), 0)
    return factor == 1 and kind == NAME and exponent == 1 and name not in CONSTANTS
