from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from strop.errors import NumericsError
from strop.rollout import engine_draws
from strop.rollout.engine_draws import Draws, pick, steady

LAST_BELOW_ONE = 1.0 - 2.0**-53
CPU = torch.device("cpu")


def test_greedy_is_the_first_maximum_with_the_log_prob_of_untempered_logits() -> None:
    """Report B46."""
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
