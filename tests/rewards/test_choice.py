"""A letter counts where it stands as a choice, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.errors import DataError
from strop.rewards import choice
from strop.rewards.find import find_reward
from tests.rewards.answers import ANY_TEXT, PROSE

CITIES = ["London", "Paris", "Rome", "a city in France"]
WAYS = (
    "{}",
    "{}.",
    "{})",
    "({})",
    "[{}]",
    "**{}**",
    "**({})**",
    r"\boxed{{{}}}",
    r"\boxed{{\text{{({})}}}}",
    r"So $\boxed{{\textbf{{{}}}}}$.",
    "<think>A or B?</think><answer>{}</answer>",
    "The answer is {}.",
    "The correct answer is ({}).",
    "The correct option is {}.",
    "Answer: {}",
    "**Answer:** ({})",
    "The answer is option {}.",
    "Answer: {} because of the river",
    "First I looked at them all.\n\n{}",
    "I thought of A.\n({})",
)


@given(letter=st.sampled_from("ABCD"), right=st.sampled_from("ABCD"), way=st.sampled_from(WAYS))
def test_a_letter_is_picked_whatever_way_it_is_given(letter: str, right: str, way: str) -> None:
    for columns in ({}, {"choices": CITIES}):
        found = choice.score(way.format(letter), answer=right, **columns)
        assert found == {"score": float(letter == right), "answered": 1.0}


@given(place=st.integers(0, 3), way=st.sampled_from(["{0}. {1}", "{0}) {1}", "({0}) {1}", "{0}: {1}", "{1}"]))
def test_an_option_may_be_written_out(place: int, way: str) -> None:
    text = way.format("ABCD"[place], CITIES[place])
    for completion in (text, f"The answer is {text}.", rf"\boxed{{{text}}}"):
        assert choice.picked(completion, choice.options_of({"options": CITIES})) == "ABCD"[place]


@pytest.mark.parametrize(
    "completion",
    [
        "A cat sat on the mat.",
        "I am not sure.",
        "The answer is A cat.",
        "A, B",
        "A and B",
        "The answer is A or B.",
        "E is for Einstein",
        "There are A lot.\nOf them.",
        "B. Rome",
        r"\boxed{5}",
        r"\boxed{B",
        "<answer>B",
        r"\boxed{\text{(A) (B) (C) (D)}}",
        r"\boxed{\text{(A) B}}",
        "<think>The answer is B.</think> I am not sure.",
        r"<think>\boxed{B}",
        "<think>It may be\nB",
        "Z",
        "",
    ],
)
def test_prose_picks_nothing(completion: str) -> None:
    options = choice.options_of({"choices": CITIES})
    assert choice.picked(completion, options) == ""
    assert choice.score(completion, answer="A", choices=CITIES) == {"score": 0.0, "answered": 0.0}


@pytest.mark.parametrize("text", ["(A) (B) (C)", "(A) B", "A) B", "A: B: C", "(A) or (B)", "A) and B", "(A) 5 (B) 6"])
def test_who_names_several_options_picks_none(text: str) -> None:
    for completion in (text, rf"\boxed{{{text}}}", rf"\boxed{{\text{{{text}}}}}", f"The answer is {text}"):
        assert choice.picked(completion, choice.unknown()) == ""
        assert choice.picked(completion, choice.options_of({"choices": ["5", "6", "B"]})) == ""


def test_a_letter_beside_another_ones_text_picks_neither() -> None:
    assert choice.picked("(A) 6", choice.options_of({"choices": ["5", "6"]})) == ""
    assert choice.picked("(B) 6", choice.options_of({"choices": ["5", "6"]})) == "B"
    assert choice.picked("(A) Vitamin C", choice.unknown()) == "A"
    assert choice.picked("B. Franklin", choice.options_of({"choices": ["A. Lincoln", "B. Franklin"]})) == "B"


@given(prose=PROSE, letter=st.sampled_from("ABCD"))
def test_prose_before_a_box_changes_nothing(prose: str, letter: str) -> None:
    assert choice.score(rf"{prose}\boxed{{{letter}}}", answer=letter)["score"] == 1.0


@pytest.mark.parametrize(
    ("gold", "columns"),
    [
        ("B", {}),
        ("b", {}),
        ("(B)", {}),
        ("B.", {}),
        (1, {"choices": CITIES}),
        ("1", {"choices": CITIES}),
        ("Paris", {"choices": CITIES}),
        (" paris. ", {"options": CITIES}),
        ("B", {"options": {"A": "London", "B": "Paris"}}),
        ("Paris", {"options": {"A": "London", "B": "Paris"}}),
        ("B", {"choices": {"label": ["A", "B"], "text": ["London", "Paris"]}}),
    ],
)
def test_the_right_option_is_a_letter_a_place_or_its_text(gold: Any, columns: dict[str, Any]) -> None:
    assert choice.score("The answer is (B).", answer=gold, **columns)["score"] == 1.0
    assert choice.score("The answer is (A).", answer=gold, **columns)["score"] == 0.0


def test_labels_that_are_digits_are_labels() -> None:
    rows = {"choices": {"label": ["1", "2"], "text": ["London", "Paris"]}, "answer": "2"}
    assert choice.score("The answer is 2.", **rows)["score"] == 1.0
    assert choice.score("Paris", **rows)["score"] == 1.0
    assert choice.score("The answer is 1.", **rows)["score"] == 0.0


def test_an_option_that_is_a_number_is_compared_by_value() -> None:
    rows = {"choices": ["0.25", r"$\frac{1}{2}$", "2"], "answer": "B"}
    assert choice.score(r"\boxed{0.5}", **rows)["score"] == 1.0
    assert choice.score(r"\boxed{\frac14}", **rows) == {"score": 0.0, "answered": 1.0}
    assert choice.right_label("2", choice.options_of(rows)) == "C"


@pytest.mark.parametrize("gold", ["E", "Berlin", 4, -1, "4", True, "", 1.5])
def test_a_right_answer_that_is_no_option_is_an_error(gold: Any) -> None:
    with pytest.raises(DataError, match="is none of the options A, B, C, D"):
        choice.score("The answer is A.", answer=gold, choices=CITIES)


def test_options_of_another_shape_are_an_error() -> None:
    with pytest.raises(DataError, match="the options are str"):
        choice.options_of({"choices": "A) London B) Paris"})


@given(ANY_TEXT)
def test_no_text_breaks_it(text: str) -> None:
    assert choice.score(text, answer="A", choices=CITIES)["score"] in (0.0, 1.0)
    assert isinstance(choice.answer(text), str)


def test_it_is_found_by_its_name_and_votes_on_letters() -> None:
    reward = find_reward("choice")
    assert reward.function is choice.score
    assert reward.voted is choice.answer
    assert choice.answer("(b)") == choice.answer(r"\boxed{B}") == "B"
    assert choice.answer("The answer is Paris.") == "Paris"
