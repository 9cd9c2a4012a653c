from __future__ import annotations

import numpy as np

from strop.reference.overlong import one, soft_overlong


def test_the_three_cases_of_equation_13() -> None:
    assert [one(length, 20, 5) for length in (15, 16, 20, 21)] == [0.0, -0.2, -1.0, -1.0]


def test_a_number_gives_a_number_and_an_array_an_array() -> None:
    assert soft_overlong(18, max_tokens=20, buffer=5, penalty=2.0) == -1.2
    assert np.asarray(soft_overlong([[18], [9]], max_tokens=20, buffer=5)).tolist() == [[-0.6], [0.0]]
