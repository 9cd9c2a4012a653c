from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from strop.errors import ConfigError, NumericsError
from strop.packing import unpacked_floats, unpacked_ints
from strop.rollout import engine_draws
from strop.rollout.engine_draws import Draws, likeliest, pick, steady

LAST_BELOW_ONE = 1.0 - 2.0**-53
CPU = torch.device("cpu")


def test_greedy_is_the_first_maximum_with_the_log_prob_of_untempered_logits() -> None:
    """Report B46."""
    # https://github.com/THUDM/slime/pull/2197
    ids, logp = pick(torch.tensor([[1.0, 2.0, 2.0]]), torch.tensor([0.99], dtype=torch.float64), temperature=0.0)
    assert ids.tolist() == [1]
    assert logp.item() == pytest.approx(-0.8619948, abs=1e-7)


@given(
    st.lists(st.floats(-30, 30, width=32), min_size=1, max_size=12),
    st.floats(0, LAST_BELOW_ONE),
    st.sampled_from([0.5, 1.0, 1.7]),
)
def test_a_pick_inverts_the_cumulative_distribution(logits: list[float], u: float, temperature: float) -> None:
    row = torch.tensor([logits])
    ids, logp = pick(row, torch.tensor([u], dtype=torch.float64), temperature)
    every = torch.log_softmax(row / temperature, -1)[0]
    cdf = np.cumsum(np.exp(every.double().numpy()))
    assert ids.item() == int(np.argmax(cdf > u * cdf[-1]))
    assert logp.item() == every[ids.item()].item()


@pytest.mark.parametrize("u", [0.0, 0.5, LAST_BELOW_ONE])
def test_a_token_of_probability_zero_is_never_picked(u: float) -> None:
    lowest = float("-inf")
    logits = torch.tensor([[lowest, 0.0, lowest, 0.0, lowest]])
    ids, _ = pick(logits, torch.tensor([u], dtype=torch.float64), temperature=1.0)
    assert ids.item() == (1 if u < 0.5 else 3)


@pytest.mark.parametrize(("dtype", "wide"), [(torch.bfloat16, torch.float32), (torch.float64, torch.float64)])
def test_log_probs_are_float32_or_wider(dtype: torch.dtype, wide: torch.dtype) -> None:
    _, logp = pick(torch.zeros(2, 3, dtype=dtype), torch.zeros(2, dtype=torch.float64), temperature=1.0)
    assert logp.dtype == wide
    assert logp.tolist() == pytest.approx([-np.log(3)] * 2)


def test_picking_a_few_rows_at_a_time_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    logits, uniform = torch.randn(50, 40), torch.rand(50, dtype=torch.float64)
    whole = pick(logits, uniform, 0.9)
    monkeypatch.setattr(engine_draws, "ELEMENTS_AT_ONCE", 130)
    parts = pick(logits, uniform, 0.9)
    assert torch.equal(whole[0], parts[0])
    assert torch.equal(whole[1], parts[1])


def certain(*ids: int, vocabulary: int = 10) -> torch.Tensor:
    return torch.nn.functional.one_hot(torch.tensor(ids), vocabulary) * 1e4


def test_a_row_ends_with_its_first_end_token_or_at_the_last_step() -> None:
    draws = Draws(np.zeros((5, 3)), eos_ids=(2, 7), temperature=1.0, device=CPU)
    for step in ((2, 5, 5, 5, 5), (9, 7, 5, 5, 5), (2, 2, 2, 5, 7)):
        draws.take(certain(*step, 5, 5, 5))
    assert [(row.ids, row.stopped) for row in draws.completions()] == [
        ([2], True),
        ([5, 7], True),
        ([5, 5, 2], True),
        ([5, 5, 5], False),
        ([5, 5, 7], True),
    ]
    assert draws.finished == 5


def test_rows_leave_when_under_three_quarters_of_the_batch_run_and_a_batch_stays_steady() -> None:
    draws = Draws(np.zeros((8, 5)), eos_ids=(2,), temperature=1.0, device=CPU)
    draws.take(certain(5, 2, 5, 5, 2, 5, 5, 5))
    assert draws.leave() is None
    draws.take(certain(5, 5, 5, 2, 5, 2, 5, 5))
    stay = draws.leave()
    assert stay is not None
    assert stay.tolist() == [0, 2, 6, 7]
    draws.take(certain(5, 2, 2, 6))
    assert draws.leave() is None
    draws.take(certain(2, 5, 5, 6))
    assert draws.leave() is None
    draws.take(certain(5, 5, 5, 6))
    ids = [row.ids for row in draws.completions()]
    assert ids == [[5, 5, 5, 2], [2], [5, 5, 2], [5, 2], [2], [5, 2], [5, 5, 2], [5, 5, 6, 6, 6]]


@pytest.mark.parametrize(("rows", "batch"), [(1, 4), (4, 4), (5, 8), (9, 12), (12, 12), (13, 13), (255, 255)])
def test_a_steady_batch_has_a_multiple_of_four_rows_or_many(rows: int, batch: int) -> None:
    assert steady(rows) == batch
    assert len(Draws(np.zeros((rows, 1)), (), 1.0, CPU).row_R) == batch


def test_a_small_batch_is_filled_with_dummies_that_are_never_recorded() -> None:
    draws = Draws(np.zeros((1, 2)), eos_ids=(2,), temperature=1.0, device=CPU)
    assert draws.take(certain(5, 6, 7, 8)).tolist() == [5, 6, 7, 8]
    assert (draws.live, draws.finished) == (1, 0)
    draws.take(certain(2, 6, 7, 8))
    assert [(row.ids, row.stopped) for row in draws.completions()] == [([5, 2], True)]


def test_a_log_prob_that_is_not_finite_stops_the_run() -> None:
    draws = Draws(np.zeros((4, 1)), eos_ids=(2,), temperature=1.0, device=CPU)
    draws.take(torch.full((4, 10), float("nan")))
    with pytest.raises(NumericsError, match="logits are not finite"):
        draws.completions()


@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0])
def test_the_likeliest_tokens_are_those_of_the_distribution_that_is_sampled(temperature: float) -> None:
    logits = torch.randn(30, 12)
    ids, logp = likeliest(logits, temperature, 4)
    every = torch.log_softmax(logits / (temperature or 1.0), -1)
    assert torch.equal(ids, every.argsort(-1, descending=True)[:, :4])
    assert torch.equal(logp, every.gather(-1, ids))
    taken, taken_logp = pick(logits, torch.rand(30, dtype=torch.float64), temperature)
    at = ids == taken[:, None]
    assert torch.equal(logp[at], taken_logp[at.any(-1)])


def test_the_likeliest_of_a_few_rows_at_a_time_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    logits = torch.randn(50, 40)
    whole = likeliest(logits, 0.9, 5)
    monkeypatch.setattr(engine_draws, "ELEMENTS_AT_ONCE", 130)
    assert all(torch.equal(*pair) for pair in zip(whole, likeliest(logits, 0.9, 5), strict=True))


def test_more_tokens_than_there_are_is_an_error() -> None:
    with pytest.raises(ConfigError, match="topk is 11, and the model's vocabulary has 10 tokens"):
        likeliest(torch.zeros(1, 10), 1.0, 11)


def test_tops_are_recorded_for_every_token_of_every_row_though_others_leave() -> None:
    draws = Draws(np.random.default_rng(0).random((8, 5)), eos_ids=(2,), temperature=1.0, device=CPU, topk=3)
    plain = Draws(np.random.default_rng(0).random((8, 5)), eos_ids=(2,), temperature=1.0, device=CPU)
    steps = torch.randn(5, 8, 10, generator=torch.Generator().manual_seed(1)) + 2 * torch.eye(10)[2]
    stay = [torch.arange(8), torch.arange(8)]
    for logits in steps:
        for which, one in enumerate((draws, plain)):
            one.take(logits[stay[which]])
            left = one.leave()
            stay[which] = stay[which] if left is None else stay[which][left]
    found, without = draws.completions(), plain.completions()
    assert len({len(row.ids) for row in found}) > 1
    assert [(row.ids, row.logp, row.stopped) for row in found] == [(row.ids, row.logp, row.stopped) for row in without]
    assert {(row.top_ids, row.top_logp) for row in without} == {("", "")}
    for n, row in enumerate(found):
        every = torch.log_softmax(steps[: len(row.ids), n], -1).topk(3)
        assert unpacked_ints(row.top_ids).tolist() == every.indices.flatten().tolist()
        assert np.array_equal(unpacked_floats(row.top_logp), every.values.flatten().numpy())
