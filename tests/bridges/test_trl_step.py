from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
import torch

import strop
from strop.bridges.hard import HardBatch, exact_gradient, hard_batch
from strop.bridges.trl import trainer
from strop.bridges.trl_step import Cut, Processes, Run

SUMS, TOKENS = [5, 7, 4, 2, 9, 3, 6, 8], [5, 2, 4, 1, 3, 6, 2, 1]
EXACT = {2: ["12/7", "6/5", "4/3", "14/3"], 4: ["3/2", "13/6"]}
"""The token means of every 2 and of every 4 of these completions: sum of losses over number of tokens."""


def stream() -> HardBatch:
    """Eight completions of these lengths whose losses sum to these numbers, the ratio being 1."""
    mask = torch.arange(max(TOKENS)) < torch.tensor(TOKENS)[:, None]
    same = torch.full(mask.shape, -1.0, dtype=torch.float64)
    advantage = -torch.tensor(SUMS, dtype=torch.float64) / torch.tensor(TOKENS)
    return HardBatch(same, same, same, same, mask, advantage, torch.zeros(len(SUMS), dtype=torch.int64))


@pytest.fixture
def in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """TRL's split without its shuffle."""
    module = pytest.importorskip("trl.trainer.grpo_trainer")
    monkeypatch.setattr(module, "shuffle_sequence_dict", lambda columns: columns)


def losses(kind: type, cut: Cut, **state: Any) -> list[str]:
    settings = {"loss_type": "dapo", "max_completion_length": 6}
    steps = Run(kind, settings, stream(), cut, state).steps()
    return [str(Fraction(step.loss).limit_denominator(1000)) for step in steps]


@pytest.mark.peer("trl")
@pytest.mark.usefixtures("in_order")
@pytest.mark.parametrize(
    ("generate", "accumulate", "theirs"),
    [(2, 2, EXACT[2]), (4, 2, ["2", "1", "2", "7/3"]), (8, 4, ["3/2", "13/6"]), (2, 4, ["51/35", "3"])],
)
def test_trls_token_mean_is_that_of_the_generation_batch_and_the_bridges_that_of_the_window(
    generate: int, accumulate: int, theirs: list[str]
) -> None:
    """huggingface/trl issue 5619: with 4 and 2 the average step is right since pull request 6024, no step is."""
    from trl import GRPOTrainer

    cut = Cut(generate=generate, accumulate=accumulate, micro_steps=8)
    assert losses(GRPOTrainer, cut) == theirs
    assert losses(trainer(), cut, row=strop.algorithm("dapo")) == EXACT[accumulate]


@pytest.mark.peer("trl")
@pytest.mark.parametrize("cut", [Cut(2, 2, 2, 2), Cut(4, 1, 2, 4), Cut(1, 4, 2, 4)])
def test_processes_that_are_played_one_after_the_other_give_the_batch_of_all(cut: Cut) -> None:
    row = strop.algorithm("dapo_prompt")
    whole = hard_batch()
    steps = Run(trainer(), {}, whole, cut, {"row": row}).steps()
    assert len(steps) == cut.micro_steps // cut.accumulate
    assert sorted(torch.cat([step.rows for step in steps]).tolist()) == list(range(16))
    for step in steps:
        exact = exact_gradient(row, whole.rows(step.rows))
        torch.testing.assert_close(step.gradient, exact, rtol=1e-12, atol=1e-15)


@pytest.mark.peer("trl")
def test_generation_batches_hold_whole_groups_and_groups_of_two_of_them_are_two_prompts() -> None:
    run = Run(trainer(), {}, hard_batch(), Cut(2, 4, 1, 4), {"row": strop.algorithm("dapo_prompt")})
    first, second = run.dealt(0), run.dealt(2)
    assert set(run.batch.group[first].tolist()) == {0, 1}
    assert set(run.batch.group[second].tolist()) == {2, 3}
    for step in run.steps():
        exact = exact_gradient(strop.algorithm("dapo_prompt"), run.batch.rows(step.rows))
        torch.testing.assert_close(step.gradient, exact, rtol=1e-12, atol=1e-15)


@pytest.mark.peer("trl")
def test_the_steps_are_the_same_each_time_and_leave_the_users_random_numbers_alone() -> None:
    from trl import GRPOTrainer

    torch.manual_seed(1)
    before = torch.rand(3)
    torch.manual_seed(1)
    steps = [Run(GRPOTrainer, {"loss_type": "bnpo"}, hard_batch(), Cut(4, 2, 1, 4)).steps() for _ in range(2)]
    assert torch.equal(torch.rand(3), before)
    for one, other in zip(*steps, strict=True):
        assert torch.equal(one.rows, other.rows)
        assert torch.equal(one.gradient, other.gradient)


def test_a_sum_over_processes_is_kept_and_answered_with_what_all_said() -> None:
    alone = Processes(Cut(), 0, [])
    assert alone.reduce(torch.tensor(2.0)).item() == 2.0
    assert [said.item() for said in alone.said] == [2.0]
    one_of_two = Processes(Cut(processes=2), 1, [torch.tensor(7.0)])
    assert one_of_two.reduce(torch.tensor(2.0)).item() == 7.0


def test_the_streams_token_means_are_the_fractions_worked_out_by_hand() -> None:
    for size, fractions in EXACT.items():
        for start, value in zip(range(0, 8, size), fractions, strict=True):
            assert Fraction(sum(SUMS[start : start + size]), sum(TOKENS[start : start + size])) == Fraction(value)
    assert replace(stream(), group=torch.arange(8)).rows(torch.tensor([3])).mask.sum() == 1
