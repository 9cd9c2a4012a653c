"""The easy mistakes of a common study note of DAPO, and of code that follows it.

Each test first makes the mistake, where that takes a line, and shows that it gives another number.
"""

from __future__ import annotations

import math
from dataclasses import fields

import numpy as np
import pytest
import torch

import strop
from strop.algorithms import ROWS, Algorithm
from strop.errors import ConfigError
from tests.objective.twins import Torch, close, rows_of

DAPO = ROWS["dapo"]


def one_row(ratios: list[float], advantage: list[float] | float, **more: object) -> dict[str, object]:
    """A batch of one completion whose tokens moved by these ratios."""
    old = np.full((1, len(ratios)), -2.0)
    credit = np.broadcast_to(np.array(advantage), old.shape)
    return {
        "logp": old + np.log([ratios]),
        "old_logp": old,
        "advantage": credit,
        "mask": old != 0,
        "group": [0],
        **more,
    }


# ---- decoupled clip


def test_for_a_gain_only_the_upper_bound_binds_and_for_a_loss_only_the_lower() -> None:
    close(Torch().policy_loss(DAPO, **one_row([0.1, 1.0, 9.0], 1.0)).loss, [[-0.1, -1.0, -1.28]])
    close(Torch().policy_loss(DAPO, **one_row([0.1, 1.0, 9.0], -1.0)).loss, [[0.8, 1.0, 9.0]])


def test_clipping_the_ratio_without_the_min_is_another_loss() -> None:
    batch = one_row([0.1, 9.0], [1.0, -1.0])
    clipped_only = -np.clip([[0.1, 9.0]], 0.8, 1.28) * [[1.0, -1.0]]
    assert not np.allclose(Torch().policy_loss(DAPO, **batch).loss, clipped_only)


def test_clip_higher_raises_the_upper_bound_alone() -> None:
    assert (DAPO.trust.low, DAPO.trust.high) == (0.2, 0.28)  # type: ignore[union-attr]
    symmetric = strop.algorithm("dapo", trust={"kind": "clip", "low": 0.2, "high": 0.2})
    batch = one_row([1.25, 0.75], [1.0, -1.0])
    close(Torch().policy_loss(DAPO, **batch).loss, [[-1.25, 0.8]])
    close(Torch().policy_loss(symmetric, **batch).loss, [[-1.2, 0.8]])


def test_no_row_has_a_dual_clip_that_its_paper_does_not_have() -> None:
    for row in ROWS.values():
        assert getattr(row.trust, "dual", math.inf) == math.inf
    assert {getattr(row.trust, "cap", 5.0) for row in ROWS.values()} == {5.0, math.inf}


# ---- advantages


def test_dapo_keeps_grpos_z_score_of_the_group_and_not_of_the_batch() -> None:
    reward, group = [1, 0, 9, 8], [0, 0, 1, 1]
    assert DAPO.advantage == ROWS["grpo"].advantage
    close(Torch().advantages(reward, group), np.array([1, -1, 1, -1]) * 0.5 / (0.5**0.5 + 1e-6))


def test_a_group_without_spread_is_zero_and_not_noise_over_noise() -> None:
    same = [0.1, 0.1, 0.1]
    assert abs((same[0] - np.mean(same)) / np.std(same)) > 0.99
    row = strop.algorithm("dapo", advantage={"kind": "standardized", "eps": 0})
    assert Torch().advantages(same, [0, 0, 0], row.advantage).tolist() == [0, 0, 0]


def test_a_weight_is_never_folded_into_an_advantage() -> None:
    """Else the KL would be scaled with it, or a trust region that looks at A would see a number without meaning."""
    kl = {"kind": "kl", "beta": 1.0}
    batch = one_row([1.0], 0.0, ref_logp=np.array([[-2.5]]))
    for weight in (1.0, 0.25):
        out = Torch().policy_loss(strop.algorithm("dapo", regularizers=kl), **batch, weight=np.array([[weight]]))
        close(out.value, weight * (math.exp(-0.5) - 0.5))
        close(out.metrics["kl"].mean, math.exp(-0.5) - 0.5)


# ---- dynamic sampling


def test_the_filter_asks_for_spread_and_not_for_a_low_reward() -> None:
    score = [1, 1, 0, 0, 0, 1]
    assert Torch().has_signal(score, [0, 0, 1, 1, 2, 2]).tolist() == [False] * 4 + [True] * 2


def test_the_filter_asks_for_accuracy_and_not_for_the_shaped_reward() -> None:
    accuracy, length = np.zeros(4), [100, 900, 1000, 1000]
    shaped = accuracy + Torch().soft_overlong(length, max_tokens=1000, buffer=200)
    assert shaped.std() > 1e-6 and not Torch().has_signal(accuracy, [0] * 4).any()


def test_a_filtered_group_would_have_trained_nothing_and_diluted_the_rest() -> None:
    """Kept in the batch, its tokens stay in the divisor; filtered, they do not."""
    mask, loss = rows_of([2, 2, 4, 4], [1, 1, 0, 0])
    kept = (Torch().token_weights(mask, [0, 0, 1, 1], "token") * loss).sum()
    filtered = (Torch().token_weights(mask[:2], [0, 0], "token") * loss[:2]).sum()
    close((kept, filtered), (1 / 3, 1.0))


# ---- token-level loss


def test_a_token_of_a_long_completion_counts_as_much_as_one_of_a_short() -> None:
    mask, _ = rows_of([2, 20])
    token, sequence = (Torch().token_weights(mask, [0, 0], name) for name in ("token", "sequence"))
    close(token[0, 0] / token[1, 0], 1.0)
    close(sequence[0, 0] / sequence[1, 0], 10.0)


def test_padding_is_no_token() -> None:
    """The note divides by the number of elements."""
    mask, loss = rows_of([1, 3], [2.0, 2.0])
    close(loss.mean(), 4 / 3)
    close((Torch().token_weights(mask, [0, 0], "token") * loss).sum(), 2.0)


def test_a_mask_selects_and_does_not_multiply() -> None:
    """NaN times 0 is NaN, in the value and in the gradient."""
    logp = torch.tensor([[-1.0, math.nan]], requires_grad=True)
    mask, group = torch.tensor([[1, 0]]), torch.tensor([0])
    assert (logp * mask).sum().isnan()
    out = strop.policy_loss(DAPO, logp=logp, old_logp=logp.detach(), advantage=torch.ones(1), mask=mask, group=group)
    out.value.backward()
    assert out.value.item() == -1.0 and logp.grad is not None and logp.grad.tolist() == [[-1.0, 0.0]]


def test_truncated_completions_leave_the_sum_and_the_count() -> None:
    mask, loss = rows_of([4, 12], [1, 3])
    live = mask * [[1], [0]]
    close((live * loss).sum() / mask.sum(), 0.25)
    close((Torch().token_weights(live, [0, 0], "token") * loss).sum(), 1.0)


def test_a_sum_over_rows_of_row_means_is_not_a_token_level_loss() -> None:
    mask, loss = rows_of([1, 3], [4.0, 1.0])
    row_means = (mask * loss).sum(1) / mask.sum(1)
    close(row_means.sum() / row_means.size, 2.5)
    close((Torch().token_weights(mask, [0, 0], "sequence") * loss).sum(), 2.5)
    close((Torch().token_weights(mask, [0, 0], "token") * loss).sum(), 1.75)


def test_the_constant_is_the_budget_and_never_the_padded_width() -> None:
    for width in (4, 6, 40):
        mask = np.arange(width) < np.array([[1], [3]])
        assert set(np.unique(Torch().token_weights(mask, [0, 0], "constant", 8))) == {0, 1 / 16}


# ---- soft overlong penalty


def test_the_penalty_is_a_line_that_starts_a_buffer_before_the_limit() -> None:
    penalty = Torch().soft_overlong(list(range(78, 104)), max_tokens=100, buffer=20)
    steps = np.diff(penalty)
    close(steps[:2], [0, 0])  # neither before max_tokens - buffer,
    close(steps[2:22], np.full(20, -0.05))  # nor a cliff, nor an exponential,
    close(steps[22:], [0, 0, 0])  # nor further than -penalty


def test_the_stretch_inside_the_buffer_is_penalised_and_the_one_before_is_not() -> None:
    """The note contradicts itself here."""
    close(Torch().soft_overlong([80, 99, 100], max_tokens=100, buffer=20), [0, -0.95, -1])


def test_the_penalty_never_passes_its_factor() -> None:
    close(Torch().soft_overlong([10**6], max_tokens=100, buffer=20, penalty=0.5), [-0.5])


def test_the_penalty_belongs_to_the_reward_and_to_no_algorithm() -> None:
    """GRPO has no overlong reward that could be 0; shaping is a setting of the rollout."""
    assert not [field.name for field in fields(Algorithm) if "long" in field.name or "penalty" in field.name]


def test_the_penalty_is_added_before_the_groups_statistics() -> None:
    score, length = np.array([1.0, 0, 1, 0]), [50, 50, 100, 100]
    shaped = score + Torch().soft_overlong(length, max_tokens=100, buffer=20)
    close(Torch().advantages(shaped, [0] * 4, "centered"), [1, 0, 0, -1])


# ---- total loss


def test_dapo_has_no_kl_and_reads_no_reference() -> None:
    assert DAPO.regularizers == () and "ref_logp" not in DAPO.reads
    batch = one_row([1.1], 1.0)
    assert Torch().policy_loss(DAPO, **batch, ref_logp=[[-9.0]]).value == Torch().policy_loss(DAPO, **batch).value


def test_k3_is_never_negative_and_takes_the_reference_over_the_policy() -> None:
    logp, ref = np.log([0.5, 0.2, 0.7]), np.log([0.25, 0.4, 0.7])
    ratio = np.exp(ref - logp)
    close(Torch().kl(logp, ref), ratio - np.log(ratio) - 1)
    assert (Torch().kl(logp, ref) >= 0).all()
    upside_down = np.exp(logp - ref) - (logp - ref) - 1
    assert not np.allclose(Torch().kl(logp, ref), upside_down)


def test_the_kl_is_added_to_the_loss_and_pulls_towards_the_reference() -> None:
    row = strop.algorithm("dapo", regularizers={"kind": "kl", "beta": 0.1})
    for ref, sign in ((-1.0, -1), (-3.0, 1)):
        out = Torch().policy_loss(row, **one_row([1.0], 0.0, ref_logp=[[ref]]))
        assert out.value > 0 and np.sign(out.gradient) == [[sign]]


def test_k1_is_no_loss() -> None:
    with pytest.raises(ConfigError, match="k1 is refused"):
        strop.algorithm("dapo", regularizers={"kind": "kl", "beta": 0.1, "estimator": "k1"})


def test_a_kl_under_the_mask_is_no_kl() -> None:
    row = strop.algorithm("dapo", regularizers={"kind": "kl", "beta": 1.0})
    batch = one_row([1.0, 1.0], 0.0, ref_logp=[[-2.5, math.inf]])
    close(Torch().policy_loss(row, **{**batch, "mask": [[1, 0]]}).value, math.exp(-0.5) - 0.5)


def test_an_entropy_bonus_without_gradient_would_only_shift_the_log() -> None:
    row = strop.algorithm("dapo", regularizers={"kind": "entropy", "beta": 0.5})
    out = Torch().policy_loss(row, **one_row([1.0], 0.0, entropy=[[1.5]]))
    close(out.value, -0.75)
    close(out.entropy_gradient, [[-0.5]])


def test_a_first_loss_that_is_not_zero_is_no_fault() -> None:
    mask, _ = rows_of([1, 3, 3, 3])
    logp = np.full(mask.shape, -1.0)
    batch = {"logp": logp, "old_logp": logp, "advantage": [1.5, -0.5, -0.5, -0.5], "mask": mask, "group": [0] * 4}
    close(Torch().policy_loss(DAPO, **batch).value, 3 / 10)
    close(Torch().policy_loss(strop.algorithm("dapo", aggregation="sequence"), **batch).value, 0.0)
