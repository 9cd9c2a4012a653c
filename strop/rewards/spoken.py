"""One text for one answer: equal quantities, sets and tuples are spoken alike, whatever way they were written."""

from __future__ import annotations

from strop.rewards.equal import letter_of, names_of, spelling, undecided
from strop.rewards.exact import Calculator, text_of
from strop.rewards.forms import Choice, Collection, Form, Matrix, Quantity, Relation, Union, Words
from strop.rewards.relations import as_interval, unwrapped


def spoken(form: Form) -> str:
    """The text. A unit says nothing in it, so 5 and 5 cm are one answer, and so is a name before an equals sign."""
    if isinstance(form, Quantity):
        return letter_of(form.value) or text_of(form.value) + "%" * form.percent
    if isinstance(form, Words):
        return spelling(form.text)
    if isinstance(form, Choice):
        return form.letter.casefold() + (f" {spoken(form.rest)}" if undecided(form) else "")
    if isinstance(form, Relation):
        plain = unwrapped(form, Calculator()) or as_interval(form, Calculator())
        return spoken(plain) if plain else related(form)
    return together(form)


def together(form: Collection | Union | Matrix) -> str:
    if isinstance(form, Union):
        return " u ".join(sorted(map(spoken, form.parts)))
    if isinstance(form, Matrix):
        return "[" + "; ".join(", ".join(map(spoken, row)) for row in form.rows) + "]"
    items = [spoken(item) for item in form.items]
    if names := names_of(form):
        return "(" + ", ".join(item for _, item in sorted(zip(names, items, strict=True))) + ")"
    if form.kind == "tuple":
        return form.brackets[0] + ", ".join(items) + form.brackets[-1]
    items = sorted(set(items))
    return items[0] if len(items) == 1 else "{" + ", ".join(items) + "}"


def related(form: Relation) -> str:
    sides = [spoken(side) for side in form.sides]
    return sides[0] + "".join(f" {sign} {side}" for sign, side in zip(form.signs, sides[1:], strict=True))
