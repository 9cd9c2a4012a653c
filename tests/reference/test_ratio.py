from __future__ import annotations

import math

import pytest

from strop.reference.arrays import Batch
from strop.reference.ratio import hand_back, ratios

BATCH = Batch(mask=[[1, 0, 1]], logp=[[-1.0, math.nan, -2.0]], anchor=[[-1.2, math.nan, -1.6]])


def test_a_sequence_has_one_ratio_and_a_masked_token_none() -> None:
    assert ratios("token", BATCH) == [[pytest.approx(math.exp(0.2)), 0.0, pytest.approx(math.exp(-0.4))]]
    assert ratios("sequence_product", BATCH) == [[pytest.approx(math.exp(-0.2)), 0.0, pytest.approx(math.exp(-0.2))]]
    for kind in ("sequence", "sequence_token"):
        assert ratios(kind, BATCH) == [[pytest.approx(math.exp(-0.1)), 0.0, pytest.approx(math.exp(-0.1))]]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("token", [2 * math.exp(0.2), 0, 4 * math.exp(-0.4)]),
        ("sequence", [3 * math.exp(-0.1), 0, 3 * math.exp(-0.1)]),
        ("sequence_product", [6 * math.exp(-0.2), 0, 6 * math.exp(-0.2)]),
        ("sequence_token", [2 * math.exp(-0.1), 0, 4 * math.exp(-0.1)]),
    ],
)
def test_slopes_are_handed_back_to_the_token_or_to_its_whole_sequence(kind: str, expected: list[float]) -> None:
    assert hand_back(kind, [[2, 0, 4]], ratios(kind, BATCH), BATCH) == [pytest.approx(expected)]


def test_beyond_the_bound_nothing_is_handed_back() -> None:
    far = Batch(mask=[[1]], logp=[[-1.0]], anchor=[[-31.0]])
    assert ratios("token", far) == [[math.exp(20)]]
    for kind in ("token", "sequence", "sequence_product"):
        assert hand_back(kind, [[1]], ratios(kind, far), far) == [[0]]
