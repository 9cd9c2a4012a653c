"""Rewards of a group -> credit per completion. Worked values: algorithms 3.1, and public reports retold."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import strop
from strop.errors import ConfigError, RewardError
from strop.objective.advantage import ADVANTAGES, BatchStandardized, Standardized
from tests.objective.twins import BOTH, Twin, close

EVERY_KIND = pytest.mark.parametrize("kind", list(ADVANTAGES))


@BOTH
@pytest.mark.parametrize(
    ("ddof", "eps", "expected"),
    [
        (0, 0.0, [math.sqrt(3), *[-1 / math.sqrt(3)] * 3]),
        (1, 0.0, [1.5, -0.5, -0.5, -0.5]),
        (1, 1e-4, [0.75 / 0.5001, *[-0.25 / 0.5001] * 3]),
        (1, 1e-6, [0.75 / 0.500001, *[-0.25 / 0.500001] * 3]),
    ],
)
def test_one_right_of_four_under_each_convention(twin: Twin, ddof: int, eps: float, expected: list[float]) -> None:
    close(twin.advantages([1, 0, 0, 0], [0] * 4, Standardized(ddof, eps)), expected)


@BOTH
@pytest.mark.parametrize("size", [2, 4, 8, 16, 64])
def test_bessel_shrinks_advantages_by_a_known_factor(twin: Twin, size: int) -> None:
    reward, group = [1.0] + [0.0] * (size - 1), [0] * size
    bessel, population = (twin.advantages(reward, group, Standardized(ddof, 0.0)) for ddof in (1, 0))
    close(bessel, population * math.sqrt((size - 1) / size))


@BOTH
def test_eps_bites_when_the_spread_is_tiny(twin: Twin) -> None:
    reward = [0.001 / math.sqrt(2), -0.001 / math.sqrt(2)]  # deviation 1e-3
    for eps, factor in ((1e-4, 1 / 1.1), (1e-6, 1 / 1.001)):
        close(
            twin.advantages(reward, [0, 0], Standardized(1, eps)), [factor * math.sqrt(0.5), -factor * math.sqrt(0.5)]
        )


@BOTH
def test_leave_one_out_is_centered_times_n_over_n_minus_one(twin: Twin) -> None:
    close(twin.advantages([1, 0, 0, 0], [0] * 4, "leave_one_out"), [1, -1 / 3, -1 / 3, -1 / 3])
    close(twin.advantages([1, 0, 0, 0], [0] * 4, "centered"), [0.75, -0.25, -0.25, -0.25])


@BOTH
def test_batch_standardized_divides_centred_rewards_by_the_batchs_deviation(twin: Twin) -> None:
    reward, group = [1, 0, 3, 0, 0, 3], [0, 0, 1, 1, 1, 1]
    centred = np.array([0.5, -0.5, 1.5, -1.5, -1.5, 1.5])
    close(twin.advantages(reward, group, BatchStandardized(0, 0.0)), centred / math.sqrt(9.5 / 6))
    close(twin.advantages(reward, group, "batch_standardized"), centred / (math.sqrt(9.5 / 5) + 1e-6))


@BOTH
@EVERY_KIND
@pytest.mark.parametrize(("value", "copies"), [(0.1, 3), (0.1, 16), (0.3, 8), (0.7, 10), (1.0, 16), (-1.0, 16)])
def test_a_group_whose_spread_is_float_noise_gets_exactly_zero(
    twin: Twin, kind: str, value: float, copies: int
) -> None:
    """The population deviation of three copies of 0.1 is 1.4e-17 in float64, not 0."""
    noisy = [value] * copies + [value + 1e-17, np.nextafter(value, 2)]
    assert twin.advantages(noisy, [5] * len(noisy), kind).tolist() == [0.0] * len(noisy)


@BOTH
@EVERY_KIND
def test_a_group_of_one_gets_exactly_zero_and_never_nan(twin: Twin, kind: str) -> None:
    """B15: the sample deviation of one reward is NaN."""
    # https://github.com/radixark/miles_diffusion/pull/253
    assert twin.advantages([5.0, 0.0], [0, 1], kind).tolist() == [0.0, 0.0]


@BOTH
@EVERY_KIND
def test_an_unscorable_completion_is_in_no_statistic_and_gets_zero(twin: Twin, kind: str) -> None:
    scored = twin.advantages([1, 0, 1, 0, 1], [0, 0, 0, 1, 1], kind)
    holed = twin.advantages([1, 0, math.nan, 1, 0, 1, math.nan], [0, 0, 0, 0, 1, 1, 2], kind)
    assert holed[2] == holed[6] == 0.0
    close(holed[[0, 1, 3, 4, 5]], scored)


@BOTH
def test_a_scorer_that_fails_on_one_completion_leaves_the_rest_standardized(twin: Twin) -> None:
    """B38."""
    # https://github.com/NVIDIA-NeMo/Gym/pull/2015
    advantage = twin.advantages([1, 0, math.nan, 1], [0] * 4, Standardized(eps=0.0))
    close(advantage, [1 / math.sqrt(3), -2 / math.sqrt(3), 0, 1 / math.sqrt(3)])


@BOTH
def test_two_copies_of_a_prompt_are_two_groups(twin: Twin) -> None:
    """B55: grouping by text would give [1.5, -0.5, -0.5, -0.5]."""
    # https://github.com/verl-project/verl/issues/3065
    close(twin.advantages([1, 0, 0, 0], [10, 10, 11, 11], Standardized(eps=0.0)), [0.5**0.5, -(0.5**0.5), 0, 0])


@BOTH
def test_an_all_wrong_group_that_only_differs_in_length_would_train_on_length(twin: Twin) -> None:
    """B17: why signal is judged before shaping. With equal shaped rewards there is nothing to compare."""
    # https://github.com/NVIDIA-NeMo/RL/issues/2431
    shaped = twin.advantages([0, -0.5, -1, -1], [0] * 4, Standardized(eps=0.0))
    close(shaped, [1.3055824196677337, 0.26111648393354675, -0.7833494518006403, -0.7833494518006403])
    assert twin.advantages([0.0, 0.0], [0, 0]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    "dtype",
    [torch.bfloat16, torch.float16, torch.float32, torch.float64],
)
def test_statistics_are_float64_whatever_the_rewards_dtype(dtype: torch.dtype) -> None:
    """B09: in bfloat16 the mean rounds onto one of these rewards, which gives [0, 0, 1.727, 1.727]."""
    # https://github.com/OpenRLHF/OpenRLHF/pull/1334
    reward = torch.tensor([1, 1, 1.0078125, 1.0078125], dtype=dtype)
    advantage = strop.advantages(reward, torch.zeros(4, dtype=torch.int64), Standardized(eps=0.0))
    assert advantage.dtype == torch.float64
    close(advantage, [-(0.75**0.5)] * 2 + [0.75**0.5] * 2)


@EVERY_KIND
@given(steps=st.lists(st.integers(-128, 127), min_size=2, max_size=10))
def test_bfloat16_rewards_get_the_credit_of_the_same_numbers_in_float64(kind: str, steps: list[int]) -> None:
    """B09, the kind: these are exact in bfloat16, their mean is not."""
    # https://github.com/OpenRLHF/OpenRLHF/pull/1334
    reward = torch.tensor(steps, dtype=torch.float64) / 128
    group = torch.arange(len(steps)) % 2
    found = strop.advantages(reward.bfloat16(), group, kind)
    assert (found == strop.advantages(reward.bfloat16().double(), group, kind)).all()


@pytest.mark.parametrize("dtype", [torch.int8, torch.int64, torch.bool])
@EVERY_KIND
def test_whole_number_rewards_are_rewards(dtype: torch.dtype, kind: str) -> None:
    """B09."""
    # https://github.com/OpenRLHF/OpenRLHF/pull/1334
    group = torch.zeros(2, dtype=torch.int64)
    expected = strop.advantages(torch.tensor([0.0, 1.0]), group, kind)
    close(strop.advantages(torch.tensor([0, 1]).to(dtype), group, kind), expected)
    assert strop.advantages(torch.tensor([1, 1]).to(dtype), group, kind).tolist() == [0.0, 0.0]


rewards = st.lists(st.tuples(st.integers(0, 3), st.sampled_from([-1.0, 0.0, 0.25, 1.0, 7.5])), min_size=1, max_size=14)


@EVERY_KIND
@given(drawn=rewards, order=st.randoms())
def test_credit_follows_its_completion_and_not_its_place(
    kind: str, drawn: list[tuple[int, float]], order: object
) -> None:
    group, reward = torch.tensor([g for g, _ in drawn]), torch.tensor([r for _, r in drawn], dtype=torch.float64)
    shuffled = list(range(len(drawn)))
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    close(strop.advantages(reward[shuffled], group[shuffled], kind), strop.advantages(reward, group, kind)[shuffled])


@EVERY_KIND
@given(drawn=rewards, shift=st.sampled_from([-3.0, 0.5, 100.0]))
def test_credit_sums_to_zero_in_each_group_ignores_a_shift_and_equals_the_reference(
    kind: str, drawn: list[tuple[int, float]], shift: float
) -> None:
    group, reward = torch.tensor([g for g, _ in drawn]), torch.tensor([r for _, r in drawn], dtype=torch.float64)
    advantage = strop.advantages(reward, group, kind)
    for g in group.unique():
        assert abs(float(advantage[group == g].sum())) < 1e-10
    close(strop.advantages(reward + shift, group, kind), advantage, 1e-10)
    close(advantage, strop.reference.advantages(reward.numpy(), group.numpy(), kind))


def test_standardized_credit_ignores_the_scale_of_the_rewards() -> None:
    group = torch.zeros(5, dtype=torch.int64)
    reward = torch.tensor([0.1, 0.7, 0.7, 0.2, 1.0])
    close(
        strop.advantages(1e6 * reward, group, Standardized(eps=0.0)),
        strop.advantages(reward, group, Standardized(eps=0.0)),
        1e-6,
    )


def test_what_cannot_be_credited_is_refused() -> None:
    with pytest.raises(RewardError, match="completion 1 is infinite"):
        strop.advantages(torch.tensor([0.0, math.inf]), torch.tensor([0, 0]))
    with pytest.raises(ValueError, match=r"reward \[S\] and group \[S\]"):
        strop.advantages(torch.zeros(2, 2), torch.tensor([0, 0]))
    with pytest.raises(ConfigError, match="ddof is 2"):
        Standardized(ddof=2)
    with pytest.raises(ConfigError, match="eps is -1"):
        BatchStandardized(eps=-1.0)
    with pytest.raises(ConfigError, match="did you mean standardized"):
        strop.advantages(torch.zeros(2), torch.tensor([0, 0]), "standardised")


def test_an_empty_batch_has_no_credit() -> None:
    for kind in ADVANTAGES:
        assert strop.advantages(torch.zeros(0), torch.zeros(0, dtype=torch.int64), kind).tolist() == []
