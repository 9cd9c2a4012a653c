"""Groups to batches: shares of whole groups, masks before counts, weights once for each optimizer batch."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from strop.algorithms import ROWS, algorithm, filled
from strop.batch.build import Batch, Share, build, deal, dealt
from strop.types import Completion, Group, Prompt, Rollout, Verdict
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
    # https://github.com/huggingface/trl/issues/6369
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


def failed(tokens: int) -> Rollout:
    return Rollout.judged(row(tokens, "stop", 0.0).completion, Verdict.unscorable("it raised"))


def test_an_unscorable_completion_is_in_no_statistic_and_none_of_its_tokens_trains() -> None:
    """Report B38: of rewards 1, 0, failed, 1 the rest has 1/sqrt(3) and -2/sqrt(3), and the tokens are 3, not 15."""
    # https://github.com/NVIDIA-NeMo/Gym/pull/2015
    rollouts = (row(1, "stop", 1.0), row(1, "stop", 0.0), failed(12), row(1, "stop", 1.0))
    plain = {"kind": "standardized", "eps": 0.0}
    [batch] = build([Group(0, Prompt("p", "?"), (1,), rollouts)], algorithm("dapo", advantage=plain))
    expected = [3**-0.5, -2 * 3**-0.5, 0.0, 3**-0.5]
    assert batch.advantage_S.tolist() == pytest.approx(expected, abs=1e-12)
    assert batch.live_S.tolist() == [True, True, False, True]
    assert batch.weight_N.tolist() == [1 / 3] * 3


@given(
    rewards=st.lists(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=4), min_size=1, max_size=4),
    places=st.lists(st.integers(0, 4), max_size=6),
    name=st.sampled_from(sorted(ROWS)),
)
def test_an_unscorable_completion_changes_nothing_for_the_others(
    rewards: list[list[float]], places: list[int], name: str
) -> None:
    """Under every row, with any number of them anywhere: advantages and weights are those of the batch without."""
    groups = [[row(1 + i, "stop", reward) for i, reward in enumerate(group)] for group in rewards]
    with_failed = [list(group) for group in groups]
    for i, place in enumerate(places):
        group = with_failed[i % len(groups)]
        group.insert(place % (len(group) + 1), failed(3))

    def built(rows: list[list[Rollout]]) -> Batch:
        made = [Group(i, Prompt(f"p{i}", "?"), (1,), tuple(group)) for i, group in enumerate(rows)]
        [batch] = build(made, filled(algorithm(name), 8))
        return batch

    batch, without = built(with_failed), built(groups)
    assert torch.equal(batch.advantage_S[batch.live_S], without.advantage_S)
    assert not batch.advantage_S[~batch.live_S].any()
    assert torch.equal(batch.weight_N, without.weight_N)


def test_two_copies_of_a_prompt_are_two_groups() -> None:
    """Report B55: rewards [1, 0] and [0, 0] of the same text; merged by text the first advantage would be 1.5."""
    # https://github.com/verl-project/verl/issues/3065
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


@given(tokens=st.lists(st.integers(0, 40), max_size=30), ranks=st.integers(1, 6))
def test_every_sequence_is_dealt_to_one_rank_and_none_has_more_than_one_sequence_too_many(
    tokens: list[int], ranks: int
) -> None:
    shares = dealt(tokens, ranks)
    assert sorted(s for share in shares for s in share) == list(range(len(tokens)))
    assert all(share == sorted(share) for share in shares)
    loads = [sum(tokens[s] for s in share) for share in shares]
    assert max(loads) - min(loads) <= max(tokens, default=0)


def shares_of(ranks: int, row: object, *, masked: bool, sizes: tuple[int, ...]) -> list[list[object]]:
    """The batches of every rank. Counts are summed in two rounds: first each rank's are noted, then all are given."""
    noted: list[list[torch.Tensor]] = []

    def built(rank: int, totals: list[torch.Tensor] | None) -> list[object]:
        mine: list[torch.Tensor] = []

        def total(value: torch.Tensor) -> torch.Tensor:
            mine.append(value)
            return value if totals is None else totals[len(mine) - 1]

        share = Share(rank, ranks, total)
        found = build(ragged_groups(sizes), row, updates=2, mask_truncated=masked, share=share)  # type: ignore[arg-type]
        noted.append(mine)
        return found  # type: ignore[return-value]

    for rank in range(ranks):
        built(rank, None)
    totals = [torch.stack(parts).sum(0) for parts in zip(*noted, strict=True)]
    return [built(rank, totals) for rank in range(ranks)]


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("aggregation", ["token", "prompt", "sequence", "constant"])
@pytest.mark.parametrize(("ranks", "sizes"), [(2, (4, 2, 3)), (3, (4, 2, 3)), (4, (2, 1)), (7, (2, 3))])
def test_the_shares_of_all_ranks_are_the_whole_batch_token_for_token(
    aggregation: str, masked: bool, ranks: int, sizes: tuple[int, ...]
) -> None:
    """Groups straddle ranks, some ranks have no row; ids, advantages and weights are those of one process."""
    row = algorithm("dapo", aggregation=aggregation, length=12)
    whole = build(ragged_groups(sizes), row, updates=2, mask_truncated=masked)
    parts = shares_of(ranks, row, masked=masked, sizes=sizes)

    def tokens(batches: list[object]) -> list[tuple[object, ...]]:
        return sorted(
            (tuple(b.ids_S[s].tolist()), round(b.advantage_S[s].item(), 12), b.group_S[s].item(), weight, logp)  # type: ignore[attr-defined]
            for b in batches
            for s, weight, logp in zip(
                b.seq_N.tolist(),  # type: ignore[attr-defined]
                [round(w, 12) for w in b.weight_N.tolist()],  # type: ignore[attr-defined]
                b.sampler_logp_N.tolist(),  # type: ignore[attr-defined]
                strict=True,
            )
        )

    for update, batch in enumerate(whole):
        assert tokens([rank[update] for rank in parts]) == tokens([batch])
