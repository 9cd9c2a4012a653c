r"""Whether an answer is the right one, and why: first exactly, and where that cannot tell, by whoever is asked.

gold      \frac{3}{4}      answer  0.75               right, by exact: equal
gold      \frac{3}{4}      answer  \frac{6}{9}        wrong, by exact: not equal
gold      \sin 1           answer  \cos(\pi/2 - 1)    exact cannot tell; math-verify is asked
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from strop.errors import DataError
from strop.rewards.equal import same
from strop.rewards.exact import Calculator, TooLarge, Undefined, Unknown, symbol
from strop.rewards.extract import gold_text
from strop.rewards.forms import Form, Quantity, Reader
from strop.rewards.notation import is_number, is_words, names, tokens
from strop.rewards.relations import any_of
from strop.rewards.spoken import spoken

LONGEST = 2_000
"""Characters of an answer that is read; a longer one is right only if it is the right answer to the letter."""
SINGLE_UNITS = names("m g s h l L N J W V K C F")


class Judgement(NamedTuple):
    """`by` is "exact", "math-verify", or "nobody" where nobody could tell, which is no right answer."""

    right: bool
    reason: str
    by: Literal["exact", "math-verify", "nobody"]


Asked = Callable[[str, str], Judgement]
"""Who is asked about a right answer and an answer that cannot be told apart exactly."""


class Reading(NamedTuple):
    """The ways to read an answer (1,234 is a number or two), or what is wrong with it."""

    tokens: tuple[str, ...]
    forms: tuple[Form, ...]
    problem: Unknown | TooLarge | Undefined | None = None


def nobody(gold: str, answer: str) -> Judgement:
    return Judgement(False, "whether it is equal cannot be told exactly", "nobody")


def judge(gold: Any, answer: str, asked: Asked = nobody) -> Judgement:
    """Whether `answer`, taken from a completion, is the right answer `gold` of a row: a text or a number.

    Raises:
        DataError: `gold` is no text and no number, or is empty, or is a box that is not closed.
    """
    right = text_of_gold(gold)
    return compare(right, answer, asked) if answer else Judgement(False, "there is no answer", "exact")


def compare(gold: str, answer: str, asked: Asked = nobody) -> Judgement:
    """Whether two texts are the same answer, the first the right one."""
    right, given = read_gold(gold), read(answer)
    if gold == answer or (right.tokens and right.tokens == given.tokens):
        return Judgement(True, "written alike", "exact")
    try:
        equal = compared(right, given)
    except Undefined as problem:
        return Judgement(False, str(problem), "exact")
    except TooLarge as problem:
        return Judgement(False, str(problem), "nobody")
    if equal is not None:
        return Judgement(equal, "equal" if equal else "not equal", "exact")
    if is_prose(given):
        return Judgement(False, "the answer is prose that is not read", "exact")
    return asked(gold, answer)


def is_prose(reading: Reading) -> bool:
    """Whether an answer that could not be read has two words or more in it."""
    return not reading.forms and sum(len(token.split()) for token in reading.tokens if is_words(token)) > 1


def compared(right: Reading, given: Reading) -> bool | None:
    """Whether some way to read one is some way to read the other; None if it cannot be told.

    Raises:
        TooLarge, Undefined: one of them is beyond the bounds, or has no value.
    """
    for problem in (given.problem, right.problem):
        if isinstance(problem, TooLarge | Undefined):
            raise type(problem)(str(problem))
    if not right.forms or not given.forms:
        return None
    calculator = Calculator()
    return any_of([same(one, two, calculator) for one in right.forms for two in given.forms])


def text_of_gold(gold: Any) -> str:
    """The right answer as a text: a number as it is written, of a solution what it boxes or has behind `####`.

    Raises:
        DataError: it is none.
    """
    if isinstance(gold, list | tuple) and len(gold) == 1:
        return text_of_gold(gold[0])
    gold = digits_of(gold) if isinstance(gold, float | int | Decimal | Fraction) else gold
    if not isinstance(gold, str):
        raise DataError(f"the right answer is a {type(gold).__name__}: it must be one text or number")
    text = gold_text(gold)
    if not text:
        raise DataError(f"the right answer {gold[:60]!r} is empty: it holds nothing, or a box that is not closed")
    return text


def digits_of(gold: float | Decimal | Fraction) -> str | bool | None:
    """A number as it is written; a truth value as it is, and None for what has no digits (nan) or too many."""
    if isinstance(gold, bool):
        return gold
    try:
        text = str(gold)
    except ValueError:
        return None
    return text if any(map(str.isdigit, text)) else None


def read(text: str) -> Reading:
    """The ways to read an answer."""
    if len(text) > LONGEST:
        return Reading((), (), TooLarge("the answer is too long to read"))
    found = tokens(text)
    try:
        forms = [Reader(Calculator()).read(found)]
        if any("," in token and is_number(token) for token in found):
            forms.append(Reader(Calculator(), grouped=False).read(found))
    except (Unknown, TooLarge, Undefined) as problem:
        return Reading(tuple(found), (), problem.with_traceback(None))
    return Reading(tuple(found), (*forms, *with_single_unit(text, forms[0])))


read_gold = lru_cache(maxsize=256)(read)


def with_single_unit(text: str, form: Form) -> tuple[Form, ...]:
    """5 m read as five metres, beside the product that it is in LaTeX."""
    number, _, letter = text.strip().rpartition(" ")
    if letter not in SINGLE_UNITS or not isinstance(form, Quantity) or form.unit or not number[-1:].isdigit():
        return ()
    value = Calculator().divide(form.value, symbol(letter))
    return (Quantity(value, unit=letter),)


def logged(answer: str, judged: Judgement) -> dict[str, float]:
    """What a reward returns of a judgement."""
    undecided = float(judged.by == "nobody")
    return {"score": float(judged.right), "answered": float(bool(answer)), "undecided": undecided}


def voted(answer: str) -> str:
    """One text for all answers that are equal, as far as they can be read: what maj@k votes on."""
    if not answer:
        return ""
    reading = read(answer)
    text = spoken(reading.forms[0]) if reading.forms else "".join(reading.tokens) or answer
    return text if len(text) <= 200 else hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
