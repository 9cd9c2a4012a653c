r"""An answer is a quantity, words, a collection, a matrix, a union, a relation or a choice."""

from __future__ import annotations

import pytest
from hypothesis import given

from strop.rewards.exact import Calculator, TooLarge, Undefined, Unknown, text_of
from strop.rewards.forms import (
    Choice,
    Collection,
    Form,
    Matrix,
    Quantity,
    Reader,
    Relation,
    Union,
    Words,
    is_label,
    levels,
    split,
    unit_apart,
)
from strop.rewards.notation import tokens
from strop.rewards.spoken import spoken
from tests.rewards.answers import ANY_TEXT


def read(text: str, *, grouped: bool = True) -> Form:
    return Reader(Calculator(), grouped=grouped).read(tokens(text))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("3/4", Quantity),
        ("x^2+1", Quantity),
        ("(x+1)(x-1)", Quantity),
        ("(5)", Quantity),
        ("[5]", Quantity),
        ("{5}", Quantity),
        ("12,345", Quantity),
        (r"\text{yes}", Words),
        ("no real solution", Words),
        ("1, 2", Collection),
        (r"\{1\}", Collection),
        ("(1,2)", Collection),
        (r"\pm 3", Collection),
        (r"\emptyset", Collection),
        (r"(1,2)\cup(3,4)", Union),
        (r"\begin{pmatrix}1&2\end{pmatrix}", Matrix),
        ("x=5", Relation),
        ("1<x<2", Relation),
        (r"x\in(1,2)", Collection),
        (r"\textbf{(B)} 12", Choice),
        (r"\textbf{(B)} \text{Paris}", Choice),
        (r"\text{(B)}", Quantity),
        (r"\text{The answer is } 5", Quantity),
        (r"\text{Area: } 5", Quantity),
    ],
)
def test_an_answer_is_of_one_kind(text: str, kind: type[Form]) -> None:
    assert type(read(text)) is kind


@pytest.mark.parametrize(
    ("text", "kind", "items", "brackets"),
    [
        ("1, 2", "list", ["1", "2"], ""),
        ("1; 2", "list", ["1", "2"], ""),
        (r"1, 2, \text{ and } 3", "list", ["1", "2", "3"], ""),
        (r"\{2, 1\}", "set", ["2", "1"], ""),
        ("{1, 2}", "set", ["1", "2"], ""),
        ("(1, 2)", "tuple", ["1", "2"], "()"),
        ("[1, 2)", "tuple", ["1", "2"], "[)"),
        (r"\langle 1, 2, 3 \rangle", "tuple", ["1", "2", "3"], "()"),
        ("(1,234)", "tuple", ["1", "234"], "()"),
        ("(1,234, 5)", "tuple", ["1234", "5"], "()"),
        (r"1 \pm 2", "set", ["3", "-1"], ""),
        (r"\{\}", "set", [], ""),
    ],
)
def test_a_collection_has_its_kind_items_and_brackets(text: str, kind: str, items: list[str], brackets: str) -> None:
    form = read(text)
    assert isinstance(form, Collection)
    assert (form.kind, [spoken(item) for item in form.items], form.brackets) == (kind, items, brackets)


def test_a_group_of_digits_is_a_number_or_two() -> None:
    """Report B31, https://github.com/EleutherAI/lm-evaluation-harness/pull/4039."""
    assert spoken(read("12,345")) == "12345"
    assert spoken(read("12,345", grouped=False)) == "{12, 345}"
    assert spoken(read("12,34")) == "{12, 34}"


@pytest.mark.parametrize(
    ("text", "value", "unit", "percent", "base"),
    [
        (r"5\text{ cm}", "5", "cm", False, 0),
        (r"12\text{ cm}^2", "12", "cm ^ 2", False, 0),
        (r"60\text{ km}/\text{h}", "60", "km / h", False, 0),
        (r"\$5", "5", "dollar", False, 0),
        (r"-\$5", "-5", "dollar", False, 0),
        (r"90^\circ", "90", "degrees", False, 0),
        (r"25\%", "25", "", True, 0),
        ("1010_2", "10", "", False, 2),
        ("1A_{16}", "26", "", False, 16),
        (r"3x\text{ dollars}", "3*x", "dollars", False, 0),
        ("42 apples", "42", "apples", False, 0),
    ],
)
def test_a_quantity_has_a_value_and_a_unit_a_percent_sign_or_a_base(
    text: str, value: str, unit: str, percent: bool, base: int
) -> None:
    form = read(text)
    assert isinstance(form, Quantity)
    assert (text_of(form.value), form.unit, form.percent, form.base) == (value, unit, percent, base)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not 5",
        r"5\text{ or more}",
        r"5\text{ is wrong}",
        r"\text{about } 5",
        "5 cm + 3 cm",
        r"\pm 1 \pm 2",
        "1 <",
        "42...",
        "42..",
        r"6 \in 5",
        r"\neg x = 5",
        "x | y",
    ]
    + [r"\begin{pmatrix}1", r"\begin{cases}1\end{cases}", r"\begin{pmatrix}1\end{bmatrix}", "1010_2 + 1"],
)
def test_what_has_no_one_meaning_is_refused(text: str) -> None:
    with pytest.raises(Unknown):
        read(text)


def test_what_is_too_large_is_refused() -> None:
    for text in (
        ",".join(["x"] * 61),
        "(1," * 7 + "1" + ")" * 7,
        r"\begin{pmatrix}" + "&".join("1" * 61) + r"\end{pmatrix}",
    ):
        with pytest.raises(TooLarge):
            read(text)


@pytest.mark.parametrize(
    "text", ["x", "x_1", "f(x)", "(x, y)", "AB", r"\text{Area}", r"m\angle ABC", r"\sin A", "P(A)", "|AB|"]
)
def test_a_side_that_only_names_something_is_a_label(text: str) -> None:
    assert is_label(tokens(text))


@pytest.mark.parametrize("text", ["xy", "2x", "x^2", "x+y", "-x", "5", "", "( , )"])
def test_a_side_that_says_something_is_no_label(text: str) -> None:
    assert not is_label(tokens(text))


def test_brackets_of_any_kind_hold_what_stands_between_them() -> None:
    assert [level for _, level in levels(tokens("(1,[2,3))]"))] == [0, 1, 1, 1, 2, 2, 2, 1, 0, -1]
    assert split(tokens("1,(2,3),4"), (",",)) == [["1"], ["(", "2", ",", "3", ")"], ["4"]]
    assert unit_apart(tokens("5")) == (["5"], "")


@given(ANY_TEXT)
def test_any_text_is_read_or_refused(text: str) -> None:
    for grouped in (True, False):
        try:
            assert isinstance(read(text, grouped=grouped), Form)
        except (Unknown, TooLarge, Undefined) as refusal:
            assert str(refusal)
