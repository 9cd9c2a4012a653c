"""Blanks and the last digits of a decimal do not matter; everything else does."""

from __future__ import annotations

import math
from typing import Any

import pytest

from strop.rewards.code_compare import same_output, same_value


@pytest.mark.parametrize(
    ("printed", "wanted", "same"),
    [
        ("3\n", "3", True),
        ("1  2 \n3\n\n", "1 2\n3", True),
        ("1 2\r\n3\r\n", "1 2\n3\n", True),
        ("", "\n", True),
        ("1\n2", "1 2", False),
        ("1 2", "12", False),
        ("\n1", "1", False),
        ("yes", "YES", False),
        ("3", "3.0", True),
        ("3.0000001", "3", True),
        ("0.3333333333", "0.333333", True),
        ("1e6", "1000000", True),
        ("1000000.5", "1000000.6", True),
        ("0.1", "0.2", False),
        ("3", "4", False),
        ("10000000", "10000001", False),
        ("003", "3", False),
        ("-0.0", "0.0", True),
        ("nan", "nan", True),
        ("nan", "1.0", False),
        ("inf", "1.0", False),
        ("1.0.0", "1.0", False),
        ("٣.0", "3.0", False),
        ("1_0.0", "10.0", False),
        ("9" * 400 + ".0", "9" * 401 + ".0", False),
        ("x" * 10**6, "x" * 10**6, True),
    ],
)
def test_outputs_are_compared_word_by_word(printed: str, wanted: str, same: bool) -> None:
    assert same_output(printed, wanted) is same


class Agreeable:
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("found", "wanted", "same"),
    [
        (3, 3, True),
        (3, 3.0, True),
        (0.1 + 0.2, 0.3, True),
        (3, 4, False),
        (10**17, 10**17 + 1, False),
        (10**400, 1.0, False),
        (True, 1, True),
        (None, None, True),
        (None, 0, False),
        ("3", 3, False),
        ((1, (2,)), [1, [2]], True),
        ([1, 2], [2, 1], False),
        ([1], [1, 2], False),
        ({1: "a", 2: (0.5,)}, {"1": "a", "2": [0.5]}, True),
        ({1: "a"}, {"1": "b"}, False),
        ({1, 2}, [1, 2], False),
        (math.nan, math.nan, True),
        (Agreeable(), 3, False),
        ([Agreeable()], [3], False),
    ],
)
def test_values_are_compared_by_what_json_can_say(found: Any, wanted: Any, same: bool) -> None:
    assert same_value(found, wanted) is same
