"""What a reward is tried on: the row's own answer in every form, and what must not be right."""

from __future__ import annotations

import pytest

from strop.rewards.trial_kinds import AS_IT_IS, BREAKERS, FORMS, MEGABYTE, differing, others, own, right_answer
from strop.types import Prompt

GSM = Prompt("p", "Tom has 3.", {"answer": "3+4=7\n#### 7"})


def test_the_own_answer_is_the_end_of_a_solution_in_every_form_and_the_solution_as_it_is() -> None:
    tries = {each.kind: each.text for each in own(GSM)}
    assert list(tries) == [*FORMS, AS_IT_IS]
    assert tries["bare"] == "7"
    assert r"\boxed{7}" in tries[r"\boxed{}"]
    assert tries[AS_IT_IS] == "3+4=7\n#### 7"
    assert {each.must for each in own(GSM)} == {"right"}


def test_a_row_with_a_program_has_it_in_a_block() -> None:
    row = Prompt("p", "", {"tests": ["assert f() == 1"], "canonical_solution": "def f():\n    return 1"})
    assert [(each.kind, each.text) for each in own(row)] == [("``` block", "```python\ndef f():\n    return 1\n```")]


@pytest.mark.parametrize("columns", [{}, {"answer": [1, 2]}, {"answer": {"x": 1}}, {"answer": None}])
def test_a_row_whose_answer_is_no_text_has_none_to_write(columns: dict[str, object]) -> None:
    assert right_answer(Prompt("p", "", columns)) == ""
    assert own(Prompt("p", "", columns)) == []


def test_a_number_is_written_as_it_reads() -> None:
    assert right_answer(Prompt("p", "", {"label": 0.5})) == "0.5"


def test_what_must_be_wrong_are_other_answers_nothing_and_the_prompt() -> None:
    tries = {each.kind: each for each in others(GSM, "9", r"\boxed{}", large=True)}
    assert [kind for kind, each in tries.items() if each.must == "wrong"] == [
        "answer of another row",
        "empty",
        "spaces and line breaks",
        "the prompt again",
    ]
    assert tries["answer of another row"].text == r"So the answer is \boxed{9}."
    assert tries["the prompt again"].text == "Tom has 3."
    cut = tries["cut off half way"]
    assert (cut.completion().truncated, r"So the answer is \boxed{7}.".startswith(cut.text)) == (True, True)
    assert {*BREAKERS} < tries.keys()
    assert len(tries["1 MB before it"].text) > MEGABYTE
    assert "\ud800" in tries["odd characters inside"].text


def test_the_large_ones_are_for_a_few_rows_only() -> None:
    assert not {*BREAKERS} & {each.kind for each in others(GSM, "9", "bare", large=False)}


def test_messages_are_shown_again_by_their_last() -> None:
    prompt = Prompt("p", ({"role": "system", "content": "S"}, {"role": "user", "content": "U"}), {"answer": "1"})
    assert next(each.text for each in others(prompt, "", "bare", large=False) if each.kind == "the prompt again") == "U"


def test_another_answer_is_the_next_one_that_differs() -> None:
    rows = [Prompt(str(place), "", {"answer": answer}) for place, answer in enumerate(["1", "1", "2", "x #### 2"])]
    assert differing(rows) == ["2", "2", "1", "1"]
    assert differing(rows[:2]) == ["", ""]
