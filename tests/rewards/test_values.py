"""What a reward returns is read into a finite number, None, or one line that says what it was."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from strop.rewards.values import LONGEST, MOST_LOGGED, NoNumber, number, one_line, read, said


@given(st.one_of(st.floats(), st.integers(), st.booleans(), st.none(), st.text(), st.fractions(), st.complex_numbers()))
def test_a_value_has_a_finite_number_or_none_or_an_error_and_never_two_of_them(found: Any) -> None:
    value = read(found, "f", "'p'")
    assert (value.score is None) == (found is None or bool(value.error))
    assert value.score is None or math.isfinite(value.score)
    assert value.score is None or value.score == float(found)


@pytest.mark.parametrize("found, expected", [(Fraction(1, 2), 0.5), (torch.tensor(0.5), 0.5), (np.float16(2), 2.0)])
def test_what_is_a_real_number_or_a_scalar_of_an_array_counts(found: Any, expected: float) -> None:
    assert number(found) == expected


@pytest.mark.parametrize("found", [Decimal(1), "1", 10**400, 1j, [1.0], np.ones(2), torch.ones(1), object()])
def test_what_is_not_is_refused(found: Any) -> None:
    with pytest.raises(NoNumber):
        number(found)


def test_a_dict_gives_its_score_its_accuracy_its_answer_and_what_else_is_a_number() -> None:
    value = read({"score": -1, "acc": True, "pred": "7", "length": 9, "text": "x", "bad": math.nan}, "f", "'p'")
    assert (value.score, value.accuracy, value.answer) == (-1.0, 1.0, "7")
    assert value.logged == {"acc": 1.0, "length": 9.0}


@pytest.mark.parametrize("found", [{}, {"acc": 1.0}, {"score": "1"}, {"score": 1.0, "acc": math.inf}])
def test_a_dict_without_a_score_or_with_a_bad_one_is_an_error(found: Any) -> None:
    assert read(found, "f", "'p'").error


def test_a_dict_logs_only_so_much() -> None:
    value = read({"score": 1.0} | {"k" * 500 + str(n): 1.0 for n in range(500)}, "f", "'p'")
    assert len(value.logged) <= MOST_LOGGED
    assert max(map(len, value.logged)) < 100


class Untold(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


def test_an_error_is_one_short_line_whatever_it_holds() -> None:
    assert said(ValueError("a\n  b\x1b[2J\tc")) == "ValueError: a b\x1b[2J c"
    assert len(said(ValueError("x" * 10**6))) == LONGEST
    assert said(Untold()) == "Untold, whose text cannot be read"
    assert len(one_line("x" * 10**6)) == LONGEST
    assert len(read("x" * 10**6, "f", "'p'").error) <= LONGEST
