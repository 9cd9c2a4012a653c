from __future__ import annotations

import pytest

from strop.algorithms import KINDS
from strop.objective.aggregation import Constant
from strop.reference import token_weights


def test_there_is_a_twin_for_every_mean() -> None:
    for kind in KINDS["aggregation"]:
        assert token_weights([[1, 1]], [0], kind, length=2).tolist() == [[0.5, 0.5]]


def test_a_length_given_comes_before_the_records_own() -> None:
    assert token_weights([[1, 1]], [0], Constant(4)).tolist() == [[0.25, 0.25]]
    assert token_weights([[1, 1]], [0], Constant(4), length=2).tolist() == [[0.5, 0.5]]


def test_a_mask_with_holes_counts_what_is_live() -> None:
    assert token_weights([[1, 0, 1], [0, 1, 0]], [3, 8], "prompt").tolist() == [[0.25, 0, 0.25], [0, 0.5, 0]]
    assert token_weights([[1, 0, 1], [0, 1, 0]], [3, 8], "token")[0, 0] == pytest.approx(1 / 3)
