from __future__ import annotations

import math

from strop.algorithms import KINDS
from strop.reference import advantages
from strop.reference.advantage import compared, members


def test_a_completion_is_compared_with_its_scorable_group() -> None:
    reward, group = [1.0, 0.0, math.nan, 5.0, 2.0, 2.0], [0, 0, 0, 1, 2, 2]
    assert members(reward, group, 0) == [1.0, 0.0]
    assert compared(reward, group) == [0, 1]


def test_there_is_a_twin_for_every_kind() -> None:
    for kind in KINDS["advantage"]:
        assert advantages([1, 0], [0, 0], kind)[0] > 0
