"""Groups to batches: shares of whole groups, masks before counts, weights once for each optimizer batch."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from strop.algorithms import algorithm
from strop.batch.build import build, deal
from strop.types import Completion, Group, Prompt, Rollout
from tests.learner import ragged_groups


@given(groups=st.integers(1, 60), updates=st.integers(1, 60))
def test_whole_groups_are_dealt_in_order_and_as_even_as_they_can_be(groups: int, updates: int) -> None:
    shares = deal(groups, updates)
    assert [i for share in shares for i in share] == list(range(groups))
    sizes = [len(share) for share in shares]
    assert max(sizes) - min(sizes) <= 1
    assert len(shares) == min(groups, updates)


@pytest.mark.parametrize("aggregation", ["token", "prompt", "sequence"])
@pytest.mark.parametrize("updates", [1, 2, 3])
def test_weights_sum_to_one_in_each_optimizer_batch(aggregation: str, updates: int) -> None:
    for batch in build(ragged_groups(), algorithm("dapo", aggregation=aggregation), updates=updates):
        assert batch.weight_N.sum().item() == pytest.approx(1.0, abs=1e-12)


def test_masked_completions_leave_before_anything_is_counted() -> None:
    """Report B04: A trains 4 tokens, B is truncated with 12: the token weight is 1/4, not 1/16."""
    group = Group(0, Prompt("p", "?"), (1,), (row(4, "stop", 1.0), row(12, "length", 0.0)))
    [batch] = build([group], algorithm("dapo"), mask_truncated=True)
    assert batch.weight_N.tolist() == [0.25] * 4
    assert batch.live_S.tolist() == [True, False]
    [unmasked] = build([group], algorithm("dapo"))
    assert unmasked.weight_N.tolist() == [1 / 16] * 16


def test_a_masked_completion_still_counts_in_its_groups_statistics() -> None:
    group = Group(0, Prompt("p", "?"), (1,), (row(4, "stop", 1.0), row(12, "length", 0.0)))
    [batch] = build([group], algorithm("dapo", advantage="centered"), mask_truncated=True)
    assert batch.advantage_S.tolist() == [0.5, -0.5]


def test_two_copies_of_a_prompt_are_two_groups() -> None:
    """Report B55: rewards [1, 0] and [0, 0] of the same text; merged by text the first advantage would be 1.5."""
    first = Group(0, Prompt("same", "?"), (1,), (row(1, "stop", 1.0), row(1, "stop", 0.0)))
    second = Group(9, Prompt("same", "?"), (1,), (row(1, "stop", 0.0), row(1, "stop", 0.0)))
    [batch] = build([first, second], algorithm("dapo", advantage={"kind": "standardized", "eps": 0.0}))
    assert batch.advantage_S.tolist() == pytest.approx([0.5**0.5, -(0.5**0.5), 0.0, 0.0], abs=1e-12)


def test_a_constant_mean_divides_by_the_budget_and_never_by_the_padded_width() -> None:
    group = Group(0, Prompt("p", "?"), (1,), (row(2, "stop", 1.0), row(3, "stop", 0.0)))
    [batch] = build([group], algorithm("dr_grpo", length=8))
    assert batch.weight_N.tolist() == [1 / 16] * 5


def test_advantages_of_a_batch_standardized_row_look_at_the_whole_step_and_weights_at_the_update() -> None:
    groups = ragged_groups((2, 2, 2, 2))
    row_ = algorithm("scalerl")
    whole, halves = build(groups, row_), build(groups, row_, updates=2)
    together = torch.cat([half.advantage_S for half in halves])
    assert torch.equal(together, whole[0].advantage_S)
    assert [half.weight_N.sum().item() for half in halves] == pytest.approx([1.0, 1.0], abs=1e-12)


def row(tokens: int, finish: str, score: float) -> Rollout:
    return Rollout(Completion((5,) * tokens, (-1.0,) * tokens, "", finish, 0), score)  # type: ignore[arg-type]
