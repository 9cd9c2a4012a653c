"""What must hold for a row to be a prompt with an answer."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from strop.tasks.checks import of_one_type, with_prompt
from strop.tasks.checks import with_answer as with_answer_read
from strop.tasks.rows import Fault, Row

NAMES = ("answer", "solution", "ground_truth", "reward_model", "label", "hint")


def with_answer(table: list[Row | Fault], labels: dict[str, str], read: Collection[str] = NAMES) -> list[Row | Fault]:
    return with_answer_read(table, labels, read)


USER = {"role": "user", "content": "2+2?"}


def said(value: Any, **others: Any) -> str:
    found = with_prompt(Row("d.jsonl:3", {"prompt": value, **others}), "prompt")
    return "" if isinstance(found, Row) else str(found).removeprefix("d.jsonl:3: column 'prompt': ")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("2+2?", ""),
        ([USER], ""),
        ([{"role": "system", "content": ""}, {**USER, "name": "Ann"}], ""),
        (None, "is null"),
        ("", "is empty"),
        (" \n\t", "is empty"),
        (3, "is a number; a prompt is a text or a list of messages with 'role' and 'content'"),
        (True, "is true or false; a prompt is a text"),
        ({"role": "user", "content": "a"}, "is a mapping; a prompt is a text or a list"),
        ([], "is an empty list of messages"),
        (["a"], "message 0 is a text; a message is a mapping with 'role' and 'content'"),
        ([USER, {"role": "user"}], "message 1 has no 'content'; it has role"),
        ([{}], "message 0 has no 'role'; it has nothing"),
        ([{"content": "a"}], "message 0 has no 'role'; it has content"),
        ([{"role": 3, "content": "a"}], "message 0 has a 'role' that is a number: strop reads messages of text"),
        ([{"role": "user", "content": [{"type": "text", "text": "a"}]}], "message 0 has a 'content' that is a list"),
        ([{**USER, "weight": 1}], "message 0 has a 'weight' that is a number"),
        ([{"role": " ", "content": "a"}], "message 0 has an empty 'role'"),
        ([{"role": "user", "content": " "}], "is empty: no message has any content"),
        (
            [USER, {"role": "assistant", "content": "4"}],
            "ends with an assistant's message, so the answer would stand in",
        ),
        ([USER, {"role": "assistant", "content": "4"}, USER], ""),
        ("[{'role': 'user', 'content': 'a'}]", "is a text that spells a list of messages: write the list itself"),
        (' [ {"content": "a", "role": "user"}]', "is a text that spells a list of messages"),
        ("[{a: 1}] is what?", ""),
    ],
)
def test_a_prompt_is_a_text_or_messages_that_say_something(value: Any, reason: str) -> None:
    assert said(value) == reason or reason and said(value).startswith(reason)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"promt": "a", "answer": "b"}, "is missing: the row has promt, answer; did you mean promt?; name it with"),
        ({"question": "a", "answer": "b"}, "did you mean question?; name it with task.data.columns {prompt: question}"),
        ({"x": "a"}, "is missing: the row has x; name it with task.data.columns"),
        ({}, "is missing: the row has nothing; name it with task.data.columns"),
    ],
)
def test_a_prompt_that_is_missing_is_looked_for_under_other_names(values: dict[str, Any], reason: str) -> None:
    fault = with_prompt(Row("d.jsonl:3", values), "prompt")
    assert isinstance(fault, Fault)
    assert str(fault).startswith("d.jsonl:3: column 'prompt': is missing")
    assert reason in str(fault)


def rows(*values: Any, column: str = "answer") -> list[Row | Fault]:
    found = [Row(f"d:{line}", {"prompt": "a", column: value}) for line, value in enumerate(values, start=1)]
    return [Fault(row.where, "was bad before") if row.values[column] == "BAD" else row for row in found]


def faults(found: list[Row | Fault]) -> list[str]:
    return [str(row) for row in found if isinstance(row, Fault)]


def test_a_value_of_another_type_than_most_is_named_with_an_example_of_the_usual() -> None:
    found = of_one_type(rows(1, "4", "5", None, 0.5, "6", "BAD", True, "7"), {})
    usual = "and a text in most rows, such as d:2: a column holds one type"
    assert faults(found) == [
        f"d:1: column 'answer': is a number here, {usual}",
        f"d:5: column 'answer': is a number here, {usual}",
        "d:7: was bad before",
        f"d:8: column 'answer': is true or false here, {usual}",
    ]


@pytest.mark.parametrize(
    ("values", "where"), [("444555", "other"), ("45", "other"), ("445", "most"), ("44455?", "other"), ("4445?", "most")]
)
def test_a_type_is_said_to_be_in_most_rows_only_if_more_than_half_have_it(values: str, where: str) -> None:
    kinds: dict[str, Any] = {"4": "4", "5": 5, "?": True}
    found = faults(of_one_type(rows(*map(kinds.get, values)), {}))
    assert len(found) == len(values) - values.count("4")
    assert all(f" here, and a text in {where} rows, such as d:1: a column holds one type" in text for text in found)


def test_numbers_with_and_without_a_point_and_nulls_are_of_one_type() -> None:
    given = rows(1, 0.5, None, -3)
    assert of_one_type(given, {}) is given


def test_the_type_inside_verls_reward_model_is_looked_at_too() -> None:
    found = of_one_type(rows(*({"ground_truth": value} for value in ("1", "2", 3)), column="reward_model"), {})
    assert faults(found) == [
        "d:3: column 'reward_model.ground_truth': is a number here, and a text in most rows, such as d:1: a column "
        "holds one type"
    ]


def test_prompts_of_two_forms_are_of_two_types() -> None:
    found = of_one_type(rows("a", "b", [USER], column="prompt"), {"prompt": "input"})
    assert faults(found)[0].startswith("d:3: column 'input': is a list here, and a text in most rows, such as d:1")


def test_an_answer_that_is_missing_or_empty_is_named_if_other_rows_have_one() -> None:
    found = with_answer(rows("4", None, "", " ", "BAD", 0, False, [], "5"), {"answer": "label"})
    ends = "the right answer stands there in other rows"
    assert faults(found) == [
        f"d:2: column 'label': is missing: {ends}",
        f"d:3: column 'label': is empty: {ends}",
        f"d:4: column 'label': is empty: {ends}",
        "d:5: was bad before",
        f"d:8: column 'label': is empty: {ends}",
    ]


@pytest.mark.parametrize("column", ["answer", "solution", "ground_truth", "label"])
def test_every_name_of_an_answer_is_known_and_other_columns_may_be_empty(column: str) -> None:
    assert len(faults(with_answer(rows("4", "", column=column), {}))) == 1
    assert faults(with_answer(rows("4", "", column="hint"), {})) == []
    assert faults(with_answer(rows(None, None, column=column), {})) == []


def test_the_answer_inside_verls_reward_model_is_one() -> None:
    rule, empty = {"style": "rule", "ground_truth": "4"}, {"style": "rule"}
    assert faults(with_answer(rows(rule, empty, None, column="reward_model"), {})) == [
        f"d:{line}: column 'reward_model.ground_truth': is missing: the right answer stands there in other rows"
        for line in (2, 3)
    ]
    assert faults(with_answer(rows(empty, empty, column="reward_model"), {})) == []


def test_the_first_column_of_answers_that_a_table_has_is_the_one() -> None:
    """Were a row's `label` taken where its `answer` is empty, it would be scored against something else in silence."""
    table: list[Row | Fault] = [
        Row("d:1", {"prompt": "a", "answer": "4", "label": "easy"}),
        Row("d:2", {"prompt": "a", "answer": None, "label": "hard"}),
    ]
    assert [str(row) for row in with_answer(table, {})[1:]] == [
        "d:2: column 'answer': is missing: the right answer stands there in other rows"
    ]


def test_an_answer_that_no_reward_reads_may_be_missing() -> None:
    table: list[Row | Fault] = [
        Row("d:1", {"prompt": "a", "answer": "4", "label": "easy"}),
        Row("d:2", {"prompt": "a", "answer": None, "label": None}),
    ]
    assert faults(with_answer(table, {}, ["hint"])) == []
    assert faults(with_answer(table, {}, ["label"]))[0].startswith("d:2: column 'label': is missing")
    assert faults(with_answer(table, {}, ["label", "answer"]))[0].startswith("d:2: column 'answer': is missing")
