r"""What an answer is: its tokens read as a quantity, words, a collection, a matrix, a union or a relation.

quantity     3/4   \frac{\sqrt3}{2}   x^2 + 1   25\%   5\text{ cm}   \$5   1010_2   90^\circ
words        \text{no solution}   Monday
collection   {1, 2}  set;   1, 2  or  1 and 2  list;   (1, 2)   [1, 2)   tuple or interval;   \pm 3  the set {3, -3}
union        (1, 2) \cup [3, 4)
matrix       \begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}
relation     x = 5   3x + 2y = 7   1 < x \le 2   x \in (1, 2)
choice       \textbf{(B)} 12
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from strop.rewards.exact import Calculator, TooLarge, Unknown, Value, number, symbol
from strop.rewards.expression import value_of
from strop.rewards.notation import NO_LABEL, is_name, is_number, is_words, names
from strop.rewards.numerals import in_base
from strop.rewards.units import unit_of

DEEPEST = 6
MOST_ITEMS = 60
LABEL_SIGNS = {"(", ")", "_", ",", "|", "'", "{", "}", r"\angle", r"\triangle"}
OPEN = {"(": 1, "[": 1, "{": 1, r"\{": 1, ")": -1, "]": -1, "}": -1, r"\}": -1}
BRACKETS = {("(", ")"), ("(", "]"), ("[", ")"), ("[", "]"), (r"\{", r"\}")}
RELATIONS = ("=", "<", ">", "<=", ">=", "!=", r"\in")
MATRICES = ("pmatrix", "bmatrix", "Bmatrix", "matrix", "array", "smallmatrix")
MATRIX = re.compile(r"\\(begin|end)\s*\{([A-Za-z]+)")
INTRODUCES = re.compile(r"(?:\b(?:is|are|equals)|:)\s*$")
CHOICE = re.compile(r"\(([A-J])\) ?(.*)")
UNIT = re.compile(r"[^\W\d_](?:[^\W\d_]|[ .'$/*]|\^ ?-?[1-3])*")
BASED = re.compile(r"([0-9][0-9A-F]*)_\{?([0-9]{1,2})\}?")
CURRENCIES = names("dollar dollars usd us$ euro euros eur gbp pound yen rupee rs cent cents")
NO_UNITS = names("not or and more less least most than is are was if when then to about between over under")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value; of 25\\% the value is 25. `base` is that of the digits' notation, 0 for the usual one."""

    value: Value
    unit: str = ""
    percent: bool = False
    base: int = 0


@dataclass(frozen=True, slots=True)
class Words:
    text: str


@dataclass(frozen=True, slots=True)
class Collection:
    kind: Literal["set", "list", "tuple"]
    items: tuple[Form, ...]
    brackets: str = ""


@dataclass(frozen=True, slots=True)
class Union:
    parts: tuple[Form, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    rows: tuple[tuple[Form, ...], ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """sides[0] signs[0] sides[1] ...; `label` is the text of the first side if it only names what the rest is."""

    signs: tuple[str, ...]
    sides: tuple[Form, ...]
    label: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    letter: str
    rest: Form


Form = Quantity | Words | Collection | Union | Matrix | Relation | Choice


@dataclass(slots=True)
class Reader:
    """How tokens are read. `grouped`: 1,234 is a number, and two items otherwise."""

    calculator: Calculator
    grouped: bool = True
    depth: int = 0

    def read(self, tokens: Sequence[str]) -> Form:
        """The form of all the tokens.

        Raises:
            Unknown, TooLarge, Undefined: they have none that is known here.
        """
        self.depth += 1
        if self.depth > DEEPEST:
            raise TooLarge("the answer is nested too deeply")
        form = self.form(trimmed(tokens))
        self.depth -= 1
        return form

    def form(self, tokens: Sequence[str]) -> Form:
        if not tokens:
            raise Unknown("there is nothing")
        found = (reading(self, tokens) for reading in READINGS)
        return next((form for form in found if form is not None), None) or self.quantity(tokens)

    def words(self, tokens: Sequence[str]) -> Form | None:
        if not is_words(tokens[0]):
            return None
        if len(tokens) > 1 and INTRODUCES.search(tokens[0]):
            return self.read(tokens[1:])
        choice = CHOICE.fullmatch(tokens[0][1:])
        if choice is None:
            return Words(tokens[0][1:]) if len(tokens) == 1 else None
        letter, words = choice.groups()
        rest = [*([f'"{words}'] if words else []), *tokens[1:]]
        return Choice(letter, self.read(rest)) if rest else Quantity(symbol(letter))

    def listed(self, tokens: Sequence[str]) -> Form | None:
        parts = split(tokens if self.grouped else ungrouped(tokens), (",", ";"))
        return self.collection("list", parts) if len(parts) > 1 else None

    def related(self, tokens: Sequence[str]) -> Form | None:
        signs = [token for token, level in levels(tokens) if level == 0 and token in RELATIONS]
        return self.relation(signs, split(tokens, RELATIONS)) if signs else None

    def united(self, tokens: Sequence[str]) -> Form | None:
        parts = split(tokens, (r"\cup",))
        return Union(tuple(self.read(part) for part in parts)) if len(parts) > 1 else None

    def bracketed(self, tokens: Sequence[str]) -> Form | None:
        """A set, a tuple, an interval, or what a single pair of brackets is around."""
        if tokens == [r"\emptyset"]:
            return Collection("set", ())
        if not is_bracketed(tokens):
            return None
        inner = list(tokens[1:-1])
        parts = split(inner, (",", ";"))
        if len(parts) == 1 or not self.grouped:
            parts = split(ungrouped(inner), (",", ";"))
        if tokens[0] == r"\{" or (tokens[0] == "{" and len(parts) > 1):
            return self.collection("set", parts)
        if len(parts) == 1:
            return self.read(inner)
        return self.collection("tuple", parts, tokens[0] + tokens[-1])

    def collection(self, kind: Literal["set", "list", "tuple"], parts: list[list[str]], brackets: str = "") -> Form:
        if len(parts) > MOST_ITEMS:
            raise TooLarge("the answer has too many items")
        items = tuple(self.read(part) for part in parts if part)
        return Collection(kind, items, brackets)

    def matrix(self, tokens: Sequence[str]) -> Form | None:
        if not tokens[0].startswith("\\begin"):
            return None
        first, last = MATRIX.match(tokens[0]), MATRIX.match(tokens[-1])
        if not first or not last or last.group(1) != "end" or first.group(2) != last.group(2):
            raise Unknown("an environment is not closed at the end")
        if first.group(2) not in MATRICES:
            raise Unknown(f"{first.group(2)} is not read here")
        rows = [row for row in split(tokens[1:-1], ("\\\\",)) if row]
        cells = [split(row, ("&",)) for row in rows]
        if sum(map(len, cells)) > MOST_ITEMS:
            raise TooLarge("the matrix has too many entries")
        return Matrix(tuple(tuple(self.read(cell) for cell in row) for row in cells))

    def relation(self, signs: list[str], sides: list[list[str]]) -> Form:
        if r"\in" in signs:
            if len(signs) > 1 or not is_label(sides[0]):
                raise Unknown("what is said to be a member is no name")
            return self.read(sides[1])
        label = "".join(sides[0]) if is_label(sides[0]) else ""
        first = self.named(sides[0], label) if label else self.read(sides[0])
        return Relation(tuple(signs), (first, *(self.read(side) for side in sides[1:])), label)

    def named(self, tokens: Sequence[str], label: str) -> Form:
        """What a name is as an expression, or its words if it is none."""
        try:
            return self.read(tokens)
        except Unknown:
            return Words(label)

    def signs_apart(self, tokens: Sequence[str]) -> Form | None:
        r"""The set of the two values of an expression with one \pm."""
        places = [place for place, token in enumerate(tokens) if token in (r"\pm", r"\mp")]
        if not places:
            return None
        if len(places) > 1:
            raise Unknown("several double signs")
        (place,) = places
        both = ([*tokens[:place], sign, *tokens[place + 1 :]] for sign in "+-")
        return Collection("set", tuple(self.quantity(each) for each in both))

    def quantity(self, tokens: Sequence[str]) -> Form:
        core, unit = unit_apart(tokens)
        percent = unit == "%"
        based = BASED.fullmatch("".join(core)) if "_" in core else None
        known = in_base(based.group(1), int(based.group(2))) if based else None
        if based and known is not None:
            return Quantity(number(known), base=int(based.group(2)))
        return Quantity(value_of(core, self.calculator), "" if percent else unit, percent)


READINGS = (
    Reader.words,
    Reader.listed,
    Reader.related,
    Reader.united,
    Reader.bracketed,
    Reader.matrix,
    Reader.signs_apart,
)
"""What an answer may be, in the order it is tried; a quantity if it is nothing else."""


def ungrouped(tokens: Sequence[str]) -> list[str]:
    """The tokens with 1,234 taken apart into 1 and 234."""
    pieces = (re.split("(,)", token) if is_number(token) else [token] for token in tokens)
    return [piece for some in pieces for piece in some]


def levels(tokens: Sequence[str]) -> list[tuple[str, int]]:
    """Each token with the number of brackets open around it."""
    found, level = [], 0
    for token in tokens:
        step = OPEN.get(token, -1 if token.startswith("\\end{") else token.startswith("\\begin{"))
        level += min(step, 0)
        found.append((token, level))
        level += max(step, 0)
    return found


def split(tokens: Sequence[str], separators: Sequence[str]) -> list[list[str]]:
    """The tokens between separators that stand outside of all brackets."""
    parts: list[list[str]] = [[]]
    for token, level in levels(tokens):
        if level == 0 and token in separators:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def is_bracketed(tokens: Sequence[str]) -> bool:
    """Whether the first bracket is closed by the last one."""
    if (tokens[0], tokens[-1]) not in BRACKETS | {("{", "}")}:
        return False
    return all(level > 0 for _, level in levels(tokens)[1:-1])


def trimmed(tokens: Sequence[str]) -> list[str]:
    """The tokens without the punctuation at the end; dots that leave something out are none."""
    tokens = list(tokens)
    while tokens and tokens[-1] in (".", ",", ";", ":") and tokens[-2:] != [".", "."]:
        tokens.pop()
    return tokens


def is_label(tokens: Sequence[str]) -> bool:
    r"""Whether a side only names something: x, x_1, f(x), (x, y), AB, \text{Area}, \angle ABC; xy is a product."""
    plain = [token for place, token in enumerate(tokens) if place == 0 or tokens[place - 1] != "_"]
    named = [is_name(token) or is_words(token) for token in plain]
    variables = [token for token, level in levels(plain) if level == 0 and token[0].islower()]
    others = [token for token, name in zip(plain, named, strict=True) if not name]
    return any(named) and len(variables) <= 1 and set(others) <= LABEL_SIGNS and NO_LABEL.isdisjoint(tokens)


def unit_apart(tokens: Sequence[str]) -> tuple[list[str], str]:
    """The tokens of the number or expression, and the unit or currency that stands behind or before it.

    Raises:
        Unknown: the words there are no unit.
    """
    tokens = list(tokens)
    if tokens[-1] == "%":
        return tokens[:-1], "%"
    sign = int(tokens[0] in ("-", "+"))
    before = tokens[sign] if len(tokens) > sign + 1 else ""
    if is_words(before) and before[1:].casefold() in CURRENCIES:
        return [*tokens[:sign], *tokens[sign + 1 :]], before[1:]
    first = next((place for place, token in enumerate(tokens) if is_words(token)), len(tokens))
    if first == len(tokens):
        return tokens, ""
    unit = " ".join(token.removeprefix('"') for token in tokens[first:] if token not in ("{", "}"))
    words = unit.casefold().split()
    known = unit_of(unit) is not None
    if first == 0 or not (known or (UNIT.fullmatch(unit) and len(words) <= 2 and not NO_UNITS.intersection(words))):
        raise Unknown("the words around the number are no unit")
    return tokens[:first], unit
