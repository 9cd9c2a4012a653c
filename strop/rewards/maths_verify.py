r"""The one door to math-verify, asked where the exact comparison cannot tell: functions, roots of sums.

    pip install 'strop[math]'

Its own time limit is a signal, which works in the main thread alone and not inside a C call, so it is off: a reward
runs in a process that can be killed. What keeps it busy for minutes it is never asked: too_much names what is large,
and it solves no equations, being asked of two of them whether their differences are equal.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Sequence
from types import ModuleType

from strop.errors import ConfigError
from strop.rewards.exact import Calculator, TooLarge, Undefined, Unknown, rational
from strop.rewards.expression import value_of
from strop.rewards.forms import is_label
from strop.rewards.handed import flaw, latex
from strop.rewards.notation import TRANSLATION, is_name, is_number, names, tokens
from strop.rewards.verdict import Judgement

LONGEST = 300
MOST_TOKENS = 120
MOST_FUNCTIONS = 12
PRECISION = 60
"""Digits to which it compares numbers; what differs by less than the last one it calls equal."""
POWER = "^"
LARGEST_POWERS = {"number": 10_000, "matrix": 8, "expression": 40}
"""Largest sum of the exponents, by what stands before them."""
GROWING, MOST_GROWING = (r"\exp", r"\sinh", r"\cosh"), 2
OPENING, CLOSING = ("(", "{", "["), (")", "}", "]")
FACTORIALS = [(closing, "!") for closing in CLOSING]
UNEVALUATED = names(r"\int \iint \iiint \oint \sum \prod \lim \limsup \liminf \bigcup \bigcap \bigoplus \coprod")
RELATION = re.compile(r"\\(?:leq?|geq?|neq?|leqslant|geqslant|lt|gt)(?![A-Za-z])|[<>!]=|[=<>]")
SIGNS = {
    "=": ("=", False),
    **dict.fromkeys(names(r"!= \ne \neq"), ("!=", False)),
    **dict.fromkeys(names(r"< \lt"), ("<", False)),
    **dict.fromkeys(names(r"> \gt"), ("<", True)),
    **dict.fromkeys(names(r"<= \le \leq \leqslant"), ("<=", False)),
    **dict.fromkeys(names(r">= \ge \geq \geqslant"), ("<=", True)),
}
"""The kind of a relation, and whether its sides are to be exchanged for it."""


def load() -> ModuleType:
    """The module math_verify.

    Raises:
        ConfigError: it is not installed.
    """
    try:
        import math_verify
    except ImportError as error:
        raise ConfigError(
            "task.reward: math needs math-verify for answers that are not plain numbers; pip install 'strop[math]', "
            "or take the reward boxed, which needs nothing and scores 1 only what it can prove equal"
        ) from error
    logging.getLogger("math_verify").setLevel(logging.CRITICAL)
    return math_verify


def ask(gold: str, answer: str) -> Judgement:
    """What math-verify says of an answer, or that nobody can tell if it would be busy for too long."""
    gold, answer = gold.translate(TRANSLATION), answer.translate(TRANSLATION)
    reason = too_much(answer) or too_much(gold)
    pairs = [] if reason else without_relations(gold, answer)
    reason = reason or next(filter(None, (flaw(tokens(text)) for pair in pairs for text in pair)), "")
    if reason or not pairs:
        return Judgement(False, reason or "relations of two kinds are not compared", "nobody")
    equal = any(are_equal(*pair) for pair in pairs)
    return Judgement(equal, "equal" if equal else "not shown to be equal", "math-verify")


def are_equal(gold: str, answer: str) -> bool:
    module = load()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        right, given = (module.parse(latex(tokens(text)), parsing_timeout=None) for text in (gold, answer))
        return bool(module.verify(right, given, numeric_precision=PRECISION, timeout_seconds=None))


def without_relations(gold: str, answer: str) -> list[tuple[str, str]]:
    """Pairs of texts to ask about; the answers are equal if one pair is. None if relations cannot be compared.

    a = b and c = d    a - b and c - d, or a - b and d - c; of inequalities the first, both turned the same way
    x = b and c        b and c, where x only names what it is
    a < b and c        as they are: c may be the interval where the right answer holds
    """
    sides = [RELATION.split(text) for text in (gold, answer)]
    signs = [[SIGNS[sign] for sign in RELATION.findall(text)] for text in (gold, answer)]
    if len(signs[0]) == len(signs[1]) == 1:
        ((kind, down),), ((other_kind, other_down),) = signs
        if kind != other_kind:
            return []
        left, right = difference(sides[0], down), difference(sides[1], other_down)
        return [(left, right)] if kind[0] == "<" else [(left, right), (left, difference(sides[1], not other_down))]
    if not signs[1] and [kind[0] for kind, _ in signs[0]] == ["<"]:
        return [(gold, answer)]
    values = [value_named(text, parts, found) for text, parts, found in zip((gold, answer), sides, signs, strict=True)]
    return [(values[0], values[1])] if all(values) else []


def value_named(text: str, sides: Sequence[str], signs: Sequence[tuple[str, bool]]) -> str:
    """What a text says something to be: b of x = a = b, and itself without a relation; "" if it says something else."""
    if not signs:
        return text
    chain = {kind for kind, _ in signs} == {"="} and not {",", ";"}.intersection(text)
    named = chain and is_label(tokens(sides[0])) and not any(flaw(tokens(side)) for side in sides[1:])
    return sides[-1].strip() if named else ""


def difference(sides: Sequence[str], down: bool) -> str:
    first, second = (side.strip() for side in (reversed(sides) if down else sides))
    return f"({first})-({second})"


def too_much(text: str) -> str:
    """Why math-verify is not asked about this text, or ""."""
    if len(text) > LONGEST:
        return "the answer is too long for math-verify"
    found = tokens(text)
    if len(found) > MOST_TOKENS or sum(token[0] == "\\" and is_name(token) for token in found) > MOST_FUNCTIONS:
        return "the answer is too large for math-verify"
    if UNEVALUATED.intersection(found):
        return "sums, products, integrals and limits are not worked out"
    large = any(is_number(token) and is_large(token) for token in found)
    of_power = POWER in found and any(pair in zip(found, found[1:], strict=False) for pair in FACTORIALS)
    if of_power or (large and {"!", r"\binom"}.intersection(found)):
        return "a factorial is too large for math-verify"
    if sum(map(found.count, GROWING)) > MOST_GROWING or too_high(found):
        return "a power is too large for math-verify"
    return ""


def is_large(token: str) -> bool:
    return len(token.partition(".")[0].replace(",", "")) > 3 or "e" in token.casefold()


def too_high(found: Sequence[str]) -> bool:
    """Whether powers are of powers, or their exponents above LARGEST_POWERS."""
    totals = dict.fromkeys(LARGEST_POWERS, 0.0)
    for place in powers_in(found):
        exponent = exponent_tokens(found, place + 1)
        end = place + 1 + len(exponent)
        if any(POWER in exponent_tokens(exponent, inner + 1) for inner in powers_in(exponent)):
            return True
        if found[end : end + 1] == [POWER]:
            return True
        base = found[place - 1] if place else ""
        kind = "matrix" if base.startswith("\\end") else "number" if base and is_number(base) else "expression"
        totals[kind] += size_of(exponent)
    return any(totals[kind] > LARGEST_POWERS[kind] for kind in totals)


def size_of(exponent: Sequence[str]) -> float:
    """The size of an exponent: 1 if it is no number, infinity if it is too large a one."""
    try:
        known = rational(value_of(exponent, Calculator()))
    except TooLarge:
        return float("inf")
    except (Unknown, Undefined):
        return 1.0
    return 1.0 if known is None else float(max(abs(known.numerator), known.denominator))


def powers_in(found: Sequence[str]) -> list[int]:
    return [place for place, token in enumerate(found) if token == POWER]


def exponent_tokens(found: Sequence[str], start: int) -> list[str]:
    """The tokens of the exponent that begins at `start`: a group, or one token with its sign."""
    level = 0
    for place in range(start, len(found)):
        level += (found[place] in OPENING) - (found[place] in CLOSING)
        if level <= 0 and found[place] not in ("+", "-"):
            return list(found[start : place + 1])
    return list(found[start:])
