"""What a reward returned for one completion, never believed: a finite number, None, or what is wrong with it."""

from __future__ import annotations

import math
import numbers
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

LONGEST = 500
"""Characters that an error keeps."""
LONGEST_ANSWER = 2_000
"""Characters that an answer to vote on keeps."""
MOST_LOGGED = 50
"""Numbers that a reward may log beside its score."""
LONGEST_NAME = 60

SHORT = reprlib.Repr()
SHORT.maxstring = SHORT.maxother = 80


@dataclass(frozen=True, slots=True)
class Value:
    """One reward of one completion.

    score     its number; None where it does not apply, or failed
    accuracy  what it calls right or wrong itself (verl's `acc`); None: the score is it
    logged    other numbers that it gave, by their name
    answer    what maj@k votes on
    error     why there is no number; "" if there is one, or the reward does not apply
    """

    score: float | None = None
    accuracy: float | None = None
    logged: Mapping[str, float] = field(default_factory=dict)
    answer: str = ""
    error: str = ""


class NoNumber(Exception):
    """What a reward returned is no finite number; the text says of what."""


def read(found: Any, name: str, label: str) -> Value:
    """The value of what a reward returned for one completion: a number, None, or a dict with a `score`.

    A dict may hold `acc`, the accuracy, `pred`, the answer as a text, and other numbers, which are logged; what else
    it holds is left out.
    """
    if type(found) is float and math.isfinite(found):
        return Value(found)
    try:
        if not isinstance(found, Mapping):
            return Value(None if found is None else number(found))
        if "score" not in found:
            keys = ", ".join(map(SHORT.repr, list(found)[:5]))
            return Value(error=one_line(f"reward {name} returned a dict without 'score' for prompt {label}: {keys}"))
        score, accuracy = (None if found.get(key) is None else number(found[key]) for key in ("score", "acc"))
        answer = found.get("pred")
        return Value(score, accuracy, logged(found), answer[:LONGEST_ANSWER] if isinstance(answer, str) else "")
    except NoNumber as error:
        return Value(
            error=one_line(
                f"reward {name} returned {error} for prompt {label}: it must return a finite number for every "
                "completion; 0.0 is the usual score of an answer that is wrong or missing"
            )
        )


def number(found: Any) -> float:
    """The float of a finite number: True is 1.0, and a numpy or torch scalar counts; nothing else does.

    Raises:
        NoNumber: nan, inf, 10**400, a text, a list, an array.
    """
    if type(found) is float and math.isfinite(found):
        return found
    inner: Any = found
    inner = inner.item() if getattr(found, "ndim", None) == 0 else found
    if not isinstance(inner, numbers.Real):
        raise NoNumber(SHORT.repr(found))
    try:
        value = float(inner)
    except OverflowError as error:
        raise NoNumber("a number beyond all floats") from error
    if not math.isfinite(value):
        raise NoNumber(SHORT.repr(found))
    return value


def logged(found: Mapping[Any, Any]) -> dict[str, float]:
    """The numbers of a dict beside its score, at most MOST_LOGGED of them."""
    numbers_found: dict[str, float] = {}
    for key, value in found.items():
        if key in ("score", "pred") or len(numbers_found) == MOST_LOGGED:
            continue
        try:
            numbers_found[str(key)[:LONGEST_NAME]] = number(value)
        except NoNumber:
            continue
    return numbers_found


def one_line(text: str) -> str:
    """The text in one line of at most LONGEST characters."""
    line = " ".join(text[: 4 * LONGEST].split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}..."


def said(error: BaseException) -> str:
    """Type and text of an exception, whatever its text does."""
    try:
        return one_line(f"{type(error).__name__}: {error}")
    except Exception:
        return f"{type(error).__name__}, whose text cannot be read"
