from __future__ import annotations

import math

import pytest

from strop.objective.correction import CORRECTIONS, SequenceMask, TokenMask, TokenTruncate
from strop.reference.arrays import Batch
from strop.reference.correction import factor

MISMATCH = Batch(mask=[[1, 0, 1]], logp=[[-1.0, math.nan, -2.0]], anchor=[[-1.0 - math.log(3), math.nan, -1.8]])


def test_factors_of_a_completion_with_a_hole_in_its_mask() -> None:
    assert factor(TokenTruncate(), MISMATCH, 0, 0) == (2.0, False, True)
    assert factor(TokenMask(), MISMATCH, 0, 2) == (pytest.approx(math.exp(-0.2)), False, False)
    product = 3 * math.exp(-0.2)
    assert factor(SequenceMask(), MISMATCH, 0, 0) == (pytest.approx(product), False, False)
    geometric = SequenceMask(1.6, 2.0, "geometric", "token")
    assert factor(geometric, MISMATCH, 0, 2) == (0.0, True, False)  # sqrt(product) is 1.567


def test_there_is_a_factor_for_every_kind() -> None:
    for kind in CORRECTIONS.values():
        assert factor(kind(), MISMATCH, 0, 0).value >= 0
