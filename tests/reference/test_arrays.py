from __future__ import annotations

from strop.objective.trust import Clip
from strop.reference.arrays import Batch, named


def test_a_choice_is_a_formulas_name_and_its_numbers() -> None:
    assert named("token") == ("token", {})
    assert named(Clip(0.1, 0.2, 3.0)) == ("clip", {"low": 0.1, "high": 0.2, "dual": 3.0})


def test_live_tokens_are_those_the_mask_keeps() -> None:
    batch = Batch(mask=[[1, 0], [0, 1]], logp=[[0, 0], [0, 0]], anchor=[[0, 0], [0, 0]])
    assert batch.live == [(0, 0), (1, 1)] and batch.steps(1) == [1]
    assert batch.zeros() == [[0, 0], [0, 0]]
