"""Which mean. Worked values: algorithms 2.3, 2.4, 3.2 (the oracle's sections 1, 2, 3, 5, 6, 7, 13, 16, 19)."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import strop
from strop.errors import ConfigError
from strop.objective.aggregation import AGGREGATIONS, Constant
from tests.objective.twins import BOTH, Array, Twin, close, rows_of

LENGTHS, LOSSES, GROUP = [1, 3, 2, 6], [6, 2, -3, 2], [0, 0, 1, 1]


def mean(twin: Twin, aggregation: str, mask: Array, loss: Array, group: list[int] = GROUP, *, length: int = 8) -> float:
    return float((twin.token_weights(mask, group, aggregation, length) * loss).sum())


@BOTH
@pytest.mark.parametrize(
    ("aggregation", "weights", "value"),
    [
        ("token", [1 / 12, 1 / 12, 1 / 12, 1 / 12], 3 / 2),
        ("prompt", [1 / 8, 1 / 8, 1 / 16, 1 / 16], 15 / 8),
        ("sequence", [1 / 4, 1 / 12, 1 / 8, 1 / 24], 7 / 4),
        ("constant", [1 / 32, 1 / 32, 1 / 32, 1 / 32], 9 / 16),
    ],
)
def test_four_means_of_one_batch_are_four_numbers(
    twin: Twin, aggregation: str, weights: list[float], value: float
) -> None:
    mask, loss = rows_of(LENGTHS, LOSSES)
    close(twin.token_weights(mask, GROUP, aggregation, 8), rows_of(LENGTHS, weights)[1])
    close(mean(twin, aggregation, mask, loss), value)


@BOTH
@pytest.mark.parametrize(
    ("aggregation", "value"), [("token", 3 / 2), ("prompt", 15 / 8), ("sequence", 7 / 4), ("constant", 9 / 16)]
)
def test_policy_loss_averages_as_its_row_says(twin: Twin, aggregation: str, value: float) -> None:
    """At ratio 1 the open trust region's loss is -A, so these advantages make exactly the losses above."""
    mask, loss = rows_of(LENGTHS, LOSSES)
    row = strop.algorithm("rloo", aggregation=aggregation, length=8)
    logp = np.full(mask.shape, -1.0)
    out = twin.policy_loss(row, logp=logp, old_logp=logp, advantage=-loss, mask=mask, group=GROUP)
    close(out.value, value)


@BOTH
def test_a_prompt_mean_is_not_the_mean_of_completion_means(twin: Twin) -> None:
    """B01. Rows [4], [1, 1, 1] of P; [2 x 6], [0, 0] of Q: a mode named prompt that returns 7/4 is wrong."""
    # https://github.com/huggingface/trl/issues/5375
    mask, loss = rows_of([1, 3, 6, 2], [4, 1, 2, 0])
    found = {name: mean(twin, name, mask, loss, length=6) for name in AGGREGATIONS}
    assert found == pytest.approx(
        {"token": 19 / 12, "prompt": 13 / 8, "sequence": 7 / 4, "constant": 19 / 24}, abs=1e-12
    )


@BOTH
def test_only_equal_lengths_inside_each_group_make_them_equal(twin: Twin) -> None:
    """The claim of trl issue 5375: 7/4 and 7/4 on [[3, 3], [2, 2]], but 7/4 and 15/8 on [[1, 3], [2, 6]]."""
    for lengths, sequence, prompt in (([3, 3, 2, 2], 7 / 4, 7 / 4), ([1, 3, 2, 6], 7 / 4, 15 / 8)):
        mask, loss = rows_of(lengths, LOSSES)
        close(mean(twin, "sequence", mask, loss), sequence)
        close(mean(twin, "prompt", mask, loss), prompt)


@BOTH
def test_means_agree_exactly_when_the_lengths_say_so(twin: Twin) -> None:
    """All 625 length patterns of 2 prompts x 2 completions, 1 to 5 tokens: three equivalences, both ways."""
    for a, b, c, d in itertools.product(range(1, 6), repeat=4):
        mask, _ = rows_of([a, b, c, d])
        token, prompt, sequence = (twin.token_weights(mask, GROUP, name) for name in ("token", "prompt", "sequence"))
        assert np.allclose(prompt, sequence, rtol=1e-12) == (a == b and c == d)
        assert np.allclose(token, prompt, rtol=1e-12) == (a + b == c + d)
        assert np.allclose(token, sequence, rtol=1e-12) == (a == b == c == d)


@BOTH
@given(lengths=st.lists(st.integers(1, 6), min_size=2, max_size=8), budget=st.integers(1, 30))
def test_constant_is_the_token_mean_times_mean_length_over_the_budget(
    twin: Twin, lengths: list[int], budget: int
) -> None:
    mask, _ = rows_of(lengths)
    group = [i % 2 for i in range(len(lengths))]
    factor = sum(lengths) / (len(lengths) * budget)
    close(twin.token_weights(mask, group, "constant", budget), factor * twin.token_weights(mask, group, "token"))


@BOTH
def test_a_masked_completion_leaves_sum_and_count_alike(twin: Twin) -> None:
    """The worked batch with completion 2 masked: stale counts would give 1 for token and 5/4 for sequence."""
    mask, loss = rows_of(LENGTHS, LOSSES)
    mask[1] = 0
    close(mean(twin, "token", mask, loss), 4 / 3)
    close(mean(twin, "sequence", mask, loss), 5 / 3)
    close(mean(twin, "prompt", mask, loss), 27 / 8)
    close(mean(twin, "constant", mask, loss), 12 / (3 * 8))


@BOTH
def test_a_prompt_without_a_live_token_is_no_prompt(twin: Twin) -> None:
    """3/4 over the prompts that are left; the nominal count would give 3/8."""
    mask, loss = rows_of(LENGTHS, LOSSES)
    mask[:2] = 0
    close(mean(twin, "prompt", mask, loss), 3 / 4)


@BOTH
def test_a_truncated_completion_dilutes_nothing(twin: Twin) -> None:
    """B04: 4 tokens of loss 1 beside 12 masked ones of loss 3. 0.25 would be the stale divisor."""
    # https://github.com/huggingface/trl/issues/6369
    mask, loss = rows_of([4, 12], [1, 3])
    mask[1] = 0
    for name in ("token", "prompt", "sequence"):
        close(mean(twin, name, mask, loss, [0, 0]), 1.0)


@BOTH
@pytest.mark.parametrize("aggregation", list(AGGREGATIONS))
def test_fully_masked_rows_and_batches_are_zero_and_never_nan(twin: Twin, aggregation: str) -> None:
    """B05."""
    # https://github.com/huggingface/trl/pull/3248
    loss = np.array([[0.5, 0.2], [0.1, 0.3]])
    assert mean(twin, aggregation, np.zeros((2, 2), int), loss, [0, 1]) == 0.0
    if aggregation != "constant":
        close(mean(twin, aggregation, np.array([[0, 0], [1, 1]]), loss, [0, 1]), 0.2)


@BOTH
def test_accumulation_needs_no_divisor_and_must_have_none(twin: Twin) -> None:
    """B02: weights are fixed on the window, parts are summed. A lost divisor gave 7.5, a second one 0.5."""
    # https://github.com/huggingface/trl/pull/5381
    mask, loss = rows_of([1, 1, 1], [1, 2, 6])
    weight = twin.token_weights(mask, [0, 1, 2], "prompt")
    close(sum((weight[part] * loss[part]).sum() for part in ([0, 1], [2])), 3.0)
    mask, loss = rows_of([3, 5], [6 / 3, 2 / 5])
    weight = twin.token_weights(mask, [0, 1], "token")
    close(sum((weight[part] * loss[part]).sum() for part in ([0], [1])), 1.0)


@BOTH
def test_ranks_of_unequal_size_agree_with_one_rank(twin: Twin) -> None:
    """B07: 7.5/8. The average of local means is 2.25; a forgotten world-size factor gives 0.46875."""
    # https://github.com/huggingface/transformers/pull/40610
    mask, loss = rows_of([1, 7], [4.0, 0.5])
    weight = twin.token_weights(mask, [0, 1], "token")
    ranks = [2 * (weight[rank] * loss[rank]).sum() for rank in (0, 1)]
    close(sum(ranks) / 2, 0.9375)


@BOTH
def test_every_split_of_the_worked_batch_is_exact(twin: Twin) -> None:
    """All 15 partitions of four completions on 1, 2 and 4 ranks under all four means: 180 cases."""
    mask, loss = rows_of(LENGTHS, LOSSES)
    cases = 0
    for aggregation, world in itertools.product(AGGREGATIONS, (1, 2, 4)):
        weight = twin.token_weights(mask, GROUP, aggregation, 8)
        for blocks in partitions([0, 1, 2, 3]):
            ranks = [[row for block in blocks[rank::world] for row in block] for rank in range(world)]
            dealt = sum(world * (weight[rank] * loss[rank]).sum() for rank in ranks) / world
            close(dealt, (weight * loss).sum())
            cases += 1
    assert cases == 180


def partitions(rows: list[int]) -> list[list[list[int]]]:
    if not rows:
        return [[]]
    first, rest = rows[0], rows[1:]
    chosen = itertools.chain.from_iterable(itertools.combinations(rest, k) for k in range(len(rows)))
    return [[[first, *mates], *more] for mates in chosen for more in partitions([r for r in rest if r not in mates])]


@BOTH
def test_means_of_micro_batch_means_depend_on_the_split(twin: Twin) -> None:
    """What strop never does, with the numbers it would give: weights computed inside each part."""
    mask, loss = rows_of(LENGTHS, LOSSES)

    def local(aggregation: str, parts: list[list[int]]) -> float:
        values = [mean(twin, aggregation, mask[part], loss[part], [GROUP[i] for i in part]) for part in parts]
        return sum(values) / len(values)

    close(local("token", [[0, 1], [2, 3]]), 15 / 8)
    close(local("token", [[0, 2], [1, 3]]), 1.0)
    close(local("token", [[0, 3], [1, 2]]), 9 / 7)
    close(local("sequence", [[0, 2], [1, 3]]), 7 / 4)


@BOTH
def test_a_row_mean_under_a_prompts_name_gives_the_sequence_mean(twin: Twin) -> None:
    """The code of trl pull requests 5381 and 5828: 7/4, whatever the order of the rows."""
    mask, loss = rows_of(LENGTHS, LOSSES)
    row_mean = (mask * loss).sum(1) / mask.sum(1)
    for order in ([0, 1, 2, 3], [0, 2, 1, 3]):
        assert row_mean[order].reshape(2, 2).mean(1).mean() == mean(twin, "sequence", mask, loss) == 7 / 4


@BOTH
def test_on_policy_only_the_sequence_mean_of_centred_advantages_is_zero(twin: Twin) -> None:
    """A non-zero first loss is no fault: it is minus the length-weighted mean advantage."""
    mask, loss = rows_of(LENGTHS, [-0.5, 0.5, -0.5, 0.5])
    values = {name: mean(twin, name, mask, loss) for name in AGGREGATIONS}
    assert values == pytest.approx({"token": 1 / 4, "prompt": 1 / 4, "sequence": 0, "constant": 3 / 32}, abs=1e-12)
    for lengths, value in (([1, 3, 3, 3], 3 / 10), ([9, 3, 3, 3], -1 / 2)):
        mask, loss = rows_of(lengths, [-1.5, 0.5, 0.5, 0.5])
        close(mean(twin, "token", mask, loss, [0] * 4), value)


@BOTH
def test_a_sequence_ratio_under_a_token_mean_weighs_completions_by_length(twin: Twin) -> None:
    """LUSPO up to a constant: mean over rows of L x loss is 9/2, the token mean 3/2, their ratio T/S = 3."""
    mask, loss = rows_of(LENGTHS, LOSSES)
    luspo = (mask.sum(1) * np.array(LOSSES)).mean()
    close(luspo, 9 / 2)
    close(luspo / mean(twin, "token", mask, loss), mask.sum() / len(LENGTHS))


masks = st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=1, max_size=8)


@BOTH
@given(mask=masks, groups=st.lists(st.integers(-3, 3), min_size=8, max_size=8))
def test_weights_are_never_negative_and_sum_to_one_or_are_all_zero(
    twin: Twin, mask: list[list[bool]], groups: list[int]
) -> None:
    group = groups[: len(mask)]
    for name in ("token", "prompt", "sequence"):
        weight = twin.token_weights(mask, group, name)
        assert (weight >= 0).all() and not weight[~np.array(mask)].any()
        close(weight.sum(), 1.0 if np.array(mask).any() else 0.0)
    live = [row for row in mask if any(row)]
    total = twin.token_weights(mask, group, "constant", 10).sum()
    close(total, sum(map(sum, live)) / (10 * len(live)) if live else 0.0)


@given(mask=masks, groups=st.lists(st.integers(-3, 3), min_size=8, max_size=8))
def test_weights_follow_the_definitions_in_exact_fractions(mask: list[list[bool]], groups: list[int]) -> None:
    group = groups[: len(mask)]
    length = [sum(row) for row in mask]
    prompts = {g for g, n in zip(group, length, strict=True) if n}
    for i, n in enumerate(length):
        in_prompt = sum(m for g, m in zip(group, length, strict=True) if g == group[i])
        exact = {
            "token": Fraction(1, sum(length) or 1),
            "prompt": Fraction(1, len(prompts) * in_prompt or 1),
            "sequence": Fraction(1, sum(m > 0 for m in length) * n or 1),
        }
        for name, share in exact.items():
            weight = strop.token_weights(torch.tensor(mask), torch.tensor(group), name)[i]
            close(weight[torch.tensor(mask[i])], np.full(n, float(share)), 1e-15)


@BOTH
def test_constant_without_a_length_is_an_error(twin: Twin) -> None:
    with pytest.raises(ConfigError, match="constant needs a length in tokens"):
        twin.token_weights([[1, 1]], [0], "constant")
    with pytest.raises(ConfigError, match="length is -1"):
        Constant(-1)
