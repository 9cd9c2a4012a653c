"""Lines of JSON, a shared clock, and questions that hold only what JSON has a word for."""

from __future__ import annotations

import math
import os
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.rewards.adapters import Question, Written
from strop.rewards.values import Value
from strop.rewards.wire import (
    CALLS,
    IDLE,
    Lines,
    Progress,
    TooLong,
    decode,
    encode,
    question_line,
    value_of,
    value_row,
    written_line,
)


@given(st.lists(st.binary().map(lambda text: text.replace(b"\n", b"")), min_size=1), st.integers(1, 7))
def test_lines_come_whole_however_they_are_cut(lines: list[bytes], size: int) -> None:
    data = b"".join(line + b"\n" for line in lines)
    reader = Lines()
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    assert [line for piece in pieces for line in reader.feed(piece)] == lines


def test_a_line_that_is_too_long_is_refused_before_it_ends() -> None:
    reader = Lines(longest=100)
    assert reader.feed(b"x" * 90 + b"\n" + b"y" * 90) == [b"x" * 90]
    with pytest.raises(TooLong):
        reader.feed(b"y" * 20)


TEXTS = st.text(st.characters(codec=None, exclude_categories=()), max_size=50)


@given(TEXTS, st.lists(st.integers(0, 10**6)), st.booleans())
def test_a_completion_travels_whole_half_characters_and_all(text: str, ids: list[int], truncated: bool) -> None:
    written = Written(text, ids, 3, truncated)
    assert Written(*decode(written_line(written, ids=True))) == written
    assert Written(*decode(written_line(written, ids=False))) == Written(text, [], 3, truncated)
    assert written_line(written, ids=True).isascii()
    assert "\n" not in written_line(written, ids=True)


NUMBERS = st.none() | st.floats(allow_nan=False, allow_infinity=False)


@given(NUMBERS, NUMBERS, st.dictionaries(TEXTS, st.floats(-9, 9)), TEXTS, TEXTS)
def test_a_value_travels_whole(score: Any, accuracy: Any, logged: Any, answer: str, error: str) -> None:
    value = Value(score, accuracy, logged, answer, error)
    if value.score is None or not error:
        assert value_of(decode(encode(value_row(value)))) == value


@pytest.mark.parametrize("row", [1, None, "x", [1.0], {"score": 1.0}])
def test_what_is_no_value_is_refused(row: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        value_of(row)


def test_a_question_holds_the_columns_that_are_asked_for_in_plain_json() -> None:
    columns = {"answer": np.int64(4), "day": date(2026, 1, 2), "more": (1, np.array([0.5])), "hidden": object()}
    question = Question([{"role": "user", "content": "\ud800"}], columns, "'p'")
    found = decode(question_line(question, ["answer", "day", "more"]))
    row = {"answer": 4, "day": "2026-01-02", "more": [1, [0.5]]}
    assert found == [[{"role": "user", "content": "\ud800"}], row, "'p'"]


@pytest.mark.parametrize("value", [object(), b"png", Decimal(1), {1, 2}, 1j, pytest.param(10**5000, id="10**5000")])
def test_a_column_that_cannot_be_handed_over_is_named(value: Any) -> None:
    with pytest.raises(TypeError, match="the column 'image' of prompt 'p' cannot be handed over: "):
        question_line(Question("", {"answer": 1, "image": value}, "'p'"), ["answer", "image"])


def test_a_nan_in_a_column_reaches_the_reward() -> None:
    assert math.isnan(decode(question_line(Question("", {"x": math.nan}, ""), ["x"]))[1]["x"])


def test_progress_is_read_as_the_other_end_writes_it() -> None:
    ours = Progress()
    theirs = Progress(os.dup(ours.descriptor))
    assert ours.read() == (0, 0, IDLE)
    theirs.since[0], theirs.mark[0] = 12.5, 7 * CALLS + 3
    assert ours.read() == (7, 3, 12.5)
    with pytest.raises(OSError, match="not permitted"):
        os.truncate(ours.descriptor, 2**20)
    ours.close()
    theirs.close()
