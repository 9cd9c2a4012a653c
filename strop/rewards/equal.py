r"""Whether two answers are the same: True, False, or None where that cannot be told here.

    quantities   equal values, exactly; 25\% is 0.25 and is 25; a missing unit or base is the other's, another is wrong
    words        the same letters, whatever their case
    sets, lists  the same items in any order; an item counts once
    tuples       the same items in order; two items are an interval too, so its brackets count
    unions       the same parts in any order
    matrices     the same shape and entries
    relations    x = 5 and 5; the same equation up to a factor; 1 < x and x > 1; 1 < x < 2 and (1, 2)
    named        x = 3, y = 4 has no order; without its names it is in the order of the alphabet
    choices      the letter or what stands beside it, and both if both have both; nothing beside another letter

A set of one is its item; a list is a tuple if the items are in order; a name before an equals sign may be missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from strop.rewards.exact import NAME, Calculator, Value, number, rational, symbol, text_of
from strop.rewards.forms import Choice, Collection, Form, Matrix, Quantity, Relation, Union, Words
from strop.rewards.numerals import in_base
from strop.rewards.relations import Answer, all_of, any_of, as_interval, name_of, same_relation, unwrapped
from strop.rewards.units import unit_of

SHORTEST_WORD = 4
OPTION_LETTERS = frozenset("ABCDEFGHIJ")
OPTION = re.compile(r"\([A-J]\)")
OPTIONS = re.compile(r"(?:[(]?[A-J](?![A-Za-z])[).:,;/|\s]*|(?:and|or|not)\b\s*)+")


def same(left: Form, right: Form, calculator: Calculator) -> Answer:
    """Whether two forms are the same answer; symmetric.

    Raises:
        TooLarge, Undefined: the work is beyond the bounds, or something has no value.
    """
    return Comparison(calculator).same(left, right)


class Comparison:
    def __init__(self, calculator: Calculator) -> None:
        self.calculator = calculator

    def same(self, left: Form, right: Form) -> Answer:
        if isinstance(left, Relation) and isinstance(right, Relation):
            return same_relation(left, right, self.calculator, self.same)
        left, right = self.plain(left, right), self.plain(right, left)
        for first, second, compare in RULES:
            if isinstance(left, first) and isinstance(right, second):
                return compare(self, left, right)
            if isinstance(right, first) and isinstance(left, second):
                return compare(self, right, left)
        return None

    def plain(self, form: Form, other: Form) -> Form:
        """The form as it is to be compared with one that is no relation: 5 for x = 5, (1, 2) for 1 < x < 2."""
        if isinstance(form, Relation):
            return unwrapped(form, self.calculator) or as_interval(form, self.calculator) or form
        if isinstance(form, Collection) and form.kind != "tuple" and isinstance(other, Quantity):
            items = self.distinct(form.items)
            return items[0] if len(items) == 1 else form
        return form

    def quantities(self, left: Quantity, right: Quantity) -> Answer:
        if left.base and right.base and left.base != right.base:
            return False
        if bool(left.base) != bool(right.base):
            return same_digits(*((left, right) if left.base else (right, left)))
        if left.percent != right.percent:
            percent, other = (left, right) if left.percent else (right, left)
            hundredth = self.calculator.divide(percent.value, number(100))
            return any_of([self.values(percent.value, other.value), self.values(hundredth, other.value)])
        one, two = unit_of(left.unit), unit_of(right.unit)
        if not one or not two or one == two:
            return self.values(left.value, right.value)
        if one.dimensions != two.dimensions:
            return False
        scaled = (self.calculator.multiply(each.value, number(unit.size)) for each, unit in ((left, one), (right, two)))
        return self.values(*scaled)

    def values(self, left: Value, right: Value) -> Answer:
        letters = letter_of(left), letter_of(right)
        return letters[0] == letters[1] if all(letters) else self.calculator.equal(left, right)

    def words(self, left: Words, right: Words) -> Answer:
        return spelling(left.text) == spelling(right.text)

    def word_and_quantity(self, words: Words, quantity: Quantity) -> Answer:
        """A short word in a \\text{AB} is the product of letters that it is outside of it."""
        letters = spelling(words.text, fold=False)
        if not letters.isalpha() or len(letters) >= SHORTEST_WORD:
            return False
        product = reduce(self.calculator.multiply, map(symbol, letters))
        return self.values(product, quantity.value)

    def choices(self, choice: Choice, other: Form) -> Answer:
        if undecided(choice) or (isinstance(other, Choice) and undecided(other)):
            return False
        if isinstance(other, Choice):
            return choice.letter == other.letter and self.same(choice.rest, other.rest)
        letter = lone_letter(other)
        return letter == choice.letter.casefold() if letter else self.same(choice.rest, other)

    def collections(self, left: Collection, right: Collection) -> Answer:
        names = names_of(left), names_of(right)
        if all(names):
            return self.in_any_order(left.items, right.items)
        if any(names):
            written = self.in_order(left, right)
            return written if sorted(names[0] or names[1]) == (names[0] or names[1]) else None
        kinds = {left.kind, right.kind}
        if "tuple" in kinds:
            return "set" not in kinds and self.in_order(left, right)
        return self.in_any_order(left.items, right.items)

    def in_any_order(self, left: Sequence[Form], right: Sequence[Form]) -> Answer:
        """Whether each item is one of the others; an item counts once."""
        rows = [[self.same(one, two) for two in right] for one in left]
        columns = [[row[place] for row in rows] for place in range(len(right))]
        return all_of([any_of(line) for line in (*rows, *columns)])

    def in_order(self, left: Collection, right: Collection) -> Answer:
        pair = len(left.items) == 2
        brackets = {form.brackets if form.kind == "tuple" else "()" for form in (left, right)}
        if len(left.items) != len(right.items) or (pair and len(brackets) > 1):
            return False
        return all_of([self.same(one, two) for one, two in zip(left.items, right.items, strict=True)])

    def unions(self, left: Union, right: Union) -> Answer:
        """Parts that differ may still cover the same: that is not told here."""
        return self.in_any_order(left.parts, right.parts) or None

    def matrices(self, left: Matrix, right: Matrix) -> Answer:
        if [len(row) for row in left.rows] != [len(row) for row in right.rows]:
            return False
        rows = zip(left.rows, right.rows, strict=True)
        return all_of([self.same(*pair) for row in rows for pair in zip(*row, strict=True)])

    def distinct(self, items: Sequence[Form]) -> list[Form]:
        kept: list[Form] = []
        for item in items:
            if not any(self.same(item, other) for other in kept):
                kept.append(item)
        return kept

    def different(self, left: Form, right: Form) -> Answer:
        return False


Rule = tuple[type, type | tuple[type, ...], Callable[[Comparison, Any, Any], Answer]]
RULES: tuple[Rule, ...] = (
    (Choice, object, Comparison.choices),
    (Quantity, Quantity, Comparison.quantities),
    (Words, Words, Comparison.words),
    (Words, Quantity, Comparison.word_and_quantity),
    (Collection, Collection, Comparison.collections),
    (Union, Union, Comparison.unions),
    (Matrix, Matrix, Comparison.matrices),
    (Quantity, (Collection, Matrix, Union, Relation), Comparison.different),
)


def undecided(choice: Choice) -> bool:
    """Whether another option's letter stands beside the first: who names several picks none."""
    return names_an_option(choice.rest)


def names_an_option(form: Form) -> bool:
    if isinstance(form, Words):
        return bool(OPTION.search(form.text) or OPTIONS.fullmatch(form.text))
    if isinstance(form, Collection):
        return any(map(names_an_option, form.items))
    return isinstance(form, Choice) or (isinstance(form, Quantity) and text_of(form.value) in OPTION_LETTERS)


def lone_letter(form: Form) -> str:
    """The letter that a form is, in small; "" if it is none."""
    if isinstance(form, Words):
        letter = spelling(form.text)
        return letter if len(letter) == 1 and letter.isalpha() else ""
    return letter_of(form.value) if isinstance(form, Quantity) else ""


def names_of(collection: Collection) -> list[str]:
    """What the items say they are, x and y of x = 3, y = 4; empty unless each has a name of its own."""
    found = [name_of(item) if isinstance(item, Relation) else "" for item in collection.items]
    return found if len(found) > 1 and all(found) and len(set(found)) == len(found) else []


def same_digits(based: Quantity, plain: Quantity) -> bool:
    """Whether a number without a base is written with the same digits."""
    known = rational(plain.value)
    if known is None or known.denominator != 1 or known < 0:
        return False
    return in_base(str(known), based.base) == rational(based.value)


def spelling(words: str, *, fold: bool = True) -> str:
    """The letters and digits of words, one space between two: what they are compared by."""
    plain = " ".join("".join(sign if sign.isalnum() else " " for sign in words).split())
    return plain.casefold() if fold else plain


def letter_of(value: Value) -> str:
    """The letter that a value is, in small; "" if it is none."""
    if len(value.top) != 1:
        return ""
    ((monomial, factor),) = value.top.items()
    if factor != 1 or len(monomial) != 1 or monomial[0][0][0] != NAME or monomial[0][1] != 1:
        return ""
    name = str(monomial[0][0][1])
    return name.casefold() if len(name) == 1 else ""
