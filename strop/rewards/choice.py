r"""The reward `choice`: 1 where a completion picks the right one of several options, else 0.

    gold       B   (B)   1 (a number counts from 0)   Paris (the text of an option)
    options    a column `choices` or `options`: a list of texts, {"A": ..., "B": ...} or {"label": [...], "text": [...]}
    picked by  \boxed{B}   <answer>B</answer>   the answer is (B)   **B**   B.   B) Paris   or the option's own text

Only a letter that stands as a choice counts: "A cat sat" picks nothing. Without options the letters are A to J.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from strop.errors import DataError
from strop.rewards.extract import after_thought, answer_text
from strop.rewards.gold import gold
from strop.rewards.verdict import compare

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
WITHOUT_OPTIONS = 10
COLUMNS = ("choices", "options")
CARRIERS = ("block", "box", "phrase", "bold", "whole")
LONGEST = 2_000

MARKUP = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|boldsymbol|left|right)\b|[${}*`]|\\[()\[\]]")
LETTER = re.compile(r"[(\[]?([A-Za-z])[)\]]?")
LETTER_AND_MORE = re.compile(r"(?:[(\[]([A-Za-z])[)\]]:?|([A-Za-z])[).:])\s+(\S.*)", re.DOTALL)
LETTER_AND_REASON = re.compile(r"[(\[]?([A-Z])[)\]]?,?\s+(?:because|since)\b.*", re.DOTALL)
LETTERS_ONLY = re.compile(r"(?:[(\[]?[A-J](?![A-Za-z])[)\].:,;/|\s]*|(?:and|or|not)\b\s*)+")
ANOTHER = re.compile(r"[(\[][A-J][)\]]")
OPENED = re.compile(
    r"(?:the\s+)?(?:(?:correct|right|best|final)\s+)?(?:option|choice|answer)\s+(?=[(\[]?[A-Z])", re.IGNORECASE
)


class Option(NamedTuple):
    """One of the options: its label, a letter unless the data say otherwise, and its text, "" if it is not known."""

    label: str
    text: str


def score(completion: str, **columns: Any) -> dict[str, float]:
    """1.0 or 0.0 as `score`; `answered` says whether the completion picks an option."""
    options = options_of(columns)
    right = right_label(gold(columns), options)
    label = picked(completion, options)
    return {"score": float(label == right), "answered": float(bool(label))}


def answer(completion: str) -> str:
    """The letter that the completion picks, or the text that it answers with."""
    return picked(completion, unknown()) or plain(answer_text(completion, CARRIERS)[:LONGEST])


def unknown() -> tuple[Option, ...]:
    return tuple(Option(letter, "") for letter in LETTERS[:WITHOUT_OPTIONS])


def options_of(columns: Mapping[str, Any]) -> tuple[Option, ...]:
    """The options of a row, or ten without a text if it has none.

    Raises:
        DataError: the column has none of the three shapes.
    """
    found = next((columns[name] for name in COLUMNS if columns.get(name) is not None), None)
    if found is None:
        return unknown()
    if isinstance(found, Mapping) and isinstance(found.get("text"), Sequence) and "label" in found:
        labels, texts = found["label"], found["text"]
    elif isinstance(found, Mapping):
        labels, texts = found.keys(), found.values()
    elif isinstance(found, Sequence) and not isinstance(found, str):
        labels, texts = LETTERS, found
    else:
        raise DataError(f"the options are {type(found).__name__}: they must be a list of texts, or letters and texts")
    return tuple(Option(str(label).strip().upper(), str(text)) for label, text in zip(labels, texts, strict=False))


def right_label(right: Any, options: Sequence[Option]) -> str:
    """The label of the right option.

    Raises:
        DataError: the right answer is no label, no place and no text of an option.
    """
    if isinstance(right, int) and not isinstance(right, bool) and 0 <= right < len(options):
        return options[right].label
    text = right if isinstance(right, str) else ""
    label = label_in(text, options) or label_of_text(text, options)
    place = text.strip()
    if not label and place.isdecimal() and len(place) < 3 and int(place) < len(options):
        label = options[int(place)].label
    if not label:
        named = ", ".join(option.label for option in options)
        raise DataError(f"the right answer {str(right)[:60]!r} is none of the options {named}, nor the text of one")
    return label


def picked(completion: str, options: Sequence[Option]) -> str:
    """The label of the option that a completion picks, or "" if it picks none."""
    texts = answer_text(completion, CARRIERS), after_thought(completion).rstrip().rpartition("\n")[2]
    labels = (label_in(text, options) or label_of_text(text, options) for text in texts if 0 < len(text) <= LONGEST)
    return next(filter(None, labels), "")


def label_in(text: str, options: Sequence[Option]) -> str:
    """The label that the text is, or begins with as a choice does; "" if it does not."""
    text = plain(text)
    text = text[match.end() :] if (match := OPENED.match(text)) else text
    labels = {option.label: option for option in options}
    if text.upper() in labels:
        return text.upper()
    if match := LETTER.fullmatch(text) or LETTER_AND_REASON.fullmatch(text):
        return match.group(1).upper() if match.group(1).upper() in labels else ""
    match = LETTER_AND_MORE.fullmatch(text)
    option = labels.get((match.group(1) or match.group(2)).upper()) if match else None
    if match is None or option is None:
        return ""
    rest = match.group(3)
    chosen = alike(rest, option.text) if option.text else not (LETTERS_ONLY.fullmatch(rest) or ANOTHER.search(rest))
    return option.label if chosen else ""


def label_of_text(text: str, options: Sequence[Option]) -> str:
    """The label of the only option whose text this is, or is equal to; behind a letter the very text."""
    match = LETTER_AND_MORE.fullmatch(plain(text))
    lettered = bool(match) and (match.group(1) or match.group(2)).upper() in {option.label for option in options}
    equal = written_alike if lettered else alike
    same = [option.label for option in options if option.text and equal(text, option.text)]
    return same[0] if len(same) == 1 else ""


def alike(text: str, option: str) -> bool:
    """Whether two texts are the same words, or the same answer in mathematics."""
    return written_alike(text, option) or bool(option.strip()) and compare(option.strip(), text.strip()).right


def written_alike(text: str, option: str) -> bool:
    return plain(text).casefold() == plain(option).casefold()


def plain(text: str) -> str:
    """The text without LaTeX and bold marks, and without the stop at its end."""
    return " ".join(MARKUP.sub(" ", text).split()).rstrip(".,;:! ").strip()
