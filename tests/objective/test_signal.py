"""Which groups have anything to teach: algorithms 3.1 and 3.3, the oracle's sections 15 and 17, B15, B17, B55."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import strop
from strop.errors import ConfigError
from tests.objective.twins import BOTH, Twin


@BOTH
def test_a_group_has_signal_exactly_when_its_scores_differ(twin: Twin) -> None:
    score, group = [1, 0, 1, 1, 0, 0, 0.5, 0.5], [3, 3, 1, 1, 2, 2, 9, 9]
    assert twin.has_signal(score, group).tolist() == [True] * 2 + [False] * 6


@BOTH
def test_scattered_groups_are_judged_whole(twin: Twin) -> None:
    assert twin.has_signal([1, 1, 0, 1], [5, 6, 5, 6]).tolist() == [True, False, True, False]


@BOTH
@pytest.mark.parametrize(("value", "copies"), [(0.1, 3), (0.1, 16), (0.3, 8), (0.7, 10), (1.0, 16), (-1.0, 16)])
def test_equal_scores_never_have_signal_where_an_exact_deviation_would_say_so(
    twin: Twin, value: float, copies: int
) -> None:
    assert not twin.has_signal([value] * copies, [0] * copies, tolerance=0.0).any()


def test_the_exact_deviation_of_equal_scores_is_not_zero() -> None:
    assert np.std([0.1] * 3) > 0


@BOTH
def test_signal_does_not_depend_on_the_range_of_the_scores(twin: Twin) -> None:
    """A filter on a mean strictly inside (0, 1) keeps a constant 0.5 and drops mixed groups scored -1 and 1."""
    assert twin.has_signal([-1, 1, -1, -1], [0] * 4).all()
    assert not twin.has_signal([0.5] * 4, [0] * 4).any()


@BOTH
def test_a_group_of_one_has_no_signal(twin: Twin) -> None:
    """B15."""
    # https://github.com/radixark/miles_diffusion/pull/253
    assert not twin.has_signal([5.0, 0.0], [0, 1]).any()


@BOTH
def test_signal_is_in_the_score_and_not_in_the_shaped_reward(twin: Twin) -> None:
    """B17: an all-wrong group gets spread from its lengths; a mixed one can lose it."""
    # https://github.com/NVIDIA-NeMo/RL/issues/2431
    score, length = [0, 0, 0, 0], [100, 900, 1000, 1000]
    shaped = score + twin.soft_overlong(length, max_tokens=1000, buffer=200)
    assert not twin.has_signal(score, [0] * 4).any()
    assert twin.has_signal(shaped, [0] * 4).all()
    assert twin.has_signal([1, 0], [0, 0]).all()
    assert not twin.has_signal([1 - 1.0, 0], [0, 0]).any()


@BOTH
def test_two_copies_of_a_prompt_are_judged_apart(twin: Twin) -> None:
    """B55."""
    # https://github.com/verl-project/verl/issues/3065
    assert twin.has_signal([1, 0, 0, 0], [10, 10, 11, 11]).tolist() == [True, True, False, False]


@BOTH
def test_an_unscorable_completion_neither_gives_nor_takes_signal(twin: Twin) -> None:
    score, group = [1, math.nan, 1, math.nan, 0, math.nan], [0, 0, 1, 1, 1, 2]
    assert twin.has_signal(score, group).tolist() == [False, False, True, True, True, False]


@pytest.mark.parametrize(("rate", "size", "share"), [(0.02, 16, 0.7238), (0.05, 16, 0.4401), (0.1, 8, 0.4305)])
def test_the_share_of_filtered_prompts_at_a_pass_rate(rate: float, size: int, share: float) -> None:
    groups = torch.arange(20_000).repeat_interleave(size)
    score = (torch.rand(groups.shape, generator=torch.Generator().manual_seed(0)) < rate).double()
    assert 1 - strop.has_signal(score, groups).double().mean() == pytest.approx(share, abs=0.012)


def test_what_cannot_be_judged_is_refused() -> None:
    with pytest.raises(ConfigError, match="tolerance is -1"):
        strop.has_signal(torch.zeros(1), torch.zeros(1), tolerance=-1.0)
    with pytest.raises(ValueError, match=r"score \[B\] and group \[B\]"):
        strop.has_signal(torch.zeros(2), torch.zeros(3))
