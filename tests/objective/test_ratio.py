"""How far the policy moved: values, gradients, anchors, and GSPO's two forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import strop
from strop.errors import ConfigError
from strop.objective.ratio import RATIOS, Ratio, SequenceProductRatio, SequenceRatio, SequenceTokenRatio, TokenRatio
from tests.laws.batches import error, random_batch
from tests.objective.twins import BOTH, Torch, Twin, close

SEQ = torch.tensor([0, 1, 0, 1, 1])
ANCHOR = torch.tensor([-1.0, -2.0, -0.5, -0.1, -3.0], dtype=torch.float64)
GAP = torch.tensor([0.2, -0.3, 0.4, 0.6, 0.0], dtype=torch.float64)


def gradient(ratio: Ratio, token: int) -> list[float]:
    """d ratio[token] / d logp."""
    logp = (ANCHOR + GAP).requires_grad_()
    ratio(logp, ANCHOR, SEQ)[token].backward()
    assert logp.grad is not None
    return logp.grad.tolist()


def test_token_ratio_is_the_probability_ratio_and_its_gradient_its_own() -> None:
    close(TokenRatio()(ANCHOR + GAP, ANCHOR, SEQ), GAP.exp())
    close(gradient(TokenRatio(), 1), [0, math.exp(-0.3), 0, 0, 0])


def test_sequence_ratio_is_the_geometric_mean_and_its_gradient_the_mean_score() -> None:
    s0, s1 = math.exp(0.3), math.exp(0.1)
    close(SequenceRatio()(ANCHOR + GAP, ANCHOR, SEQ), [s0, s1, s0, s1, s1])
    close(gradient(SequenceRatio(), 1), [0, s1 / 3, 0, s1 / 3, s1 / 3])


def test_sequence_token_ratio_has_the_sequences_value_and_the_tokens_gradient() -> None:
    close(SequenceTokenRatio()(ANCHOR + GAP, ANCHOR, SEQ), SequenceRatio()(ANCHOR + GAP, ANCHOR, SEQ))
    close(gradient(SequenceTokenRatio(), 1), [0, math.exp(0.1), 0, 0, 0])


def test_sequence_product_is_the_whole_sequences_ratio_and_its_gradient_the_sum_of_scores() -> None:
    w0, w1 = math.exp(0.6), math.exp(0.3)
    close(SequenceProductRatio()(ANCHOR + GAP, ANCHOR, SEQ), [w0, w1, w0, w1, w1])
    close(gradient(SequenceProductRatio(), 1), [0, w1, 0, w1, w1])


def test_a_product_is_clamped_after_the_sum_and_not_token_by_token() -> None:
    """+25 and -22 nats, each beyond the bound, are +3 together."""
    gap = torch.tensor([25.0, -22.0], dtype=torch.float64)
    close(SequenceProductRatio()(gap, torch.zeros(2).double(), torch.zeros(2).long()), [math.exp(3)] * 2)


@pytest.mark.parametrize("kind", list(RATIOS))
def test_log_ratios_beyond_the_bound_stay_finite_and_have_no_gradient(kind: str) -> None:
    for gap, expected in ((100.0, math.exp(20)), (-100.0, math.exp(-20))):
        logp = torch.tensor([-1.0], requires_grad=True)
        ratio = RATIOS[kind]()(logp, torch.tensor([-1.0 - gap]), torch.tensor([0]))
        assert ratio.item() == pytest.approx(expected, rel=1e-6)
        ratio.sum().backward()
        assert logp.grad is not None
        assert logp.grad.item() == (pytest.approx(expected, rel=1e-6) if kind == "sequence_token" else 0.0)


@pytest.mark.parametrize("kind", list(RATIOS))
def test_the_anchor_says_which_stream_is_read(kind: str) -> None:
    assert RATIOS[kind]("old").reads == {"old_logp"}
    assert RATIOS[kind]("sampler").reads == {"sampler_logp"}
    with pytest.raises(ConfigError, match="anchor is 'rollout'.*old or sampler"):
        RATIOS[kind]("rollout")  # type: ignore[arg-type]


@BOTH
def test_masked_tokens_are_in_no_sequence_ratio_and_in_no_length(twin: Twin) -> None:
    row = strop.algorithm("gspo", trust="open", regularizers="none")
    logp, old = np.array([[-1.0, -2.0, 9.0, -1.5]]), np.array([[-1.1, -2.3, -99.0, -1.4]])
    out = twin.policy_loss(row, logp=logp, old_logp=old, advantage=[1.0], mask=[[1, 1, 0, 1]], group=[0])
    s = math.exp((0.1 + 0.3 - 0.1) / 3)
    close(out.value, -s)
    close(out.gradient, [[-s / 3, -s / 3, 0, -s / 3]])


@BOTH
@pytest.mark.parametrize("seed", range(4))
def test_gspo_token_equals_gspo_in_value_and_gradient_with_equal_advantages(twin: Twin, seed: int) -> None:
    batch = random_batch(seed, spread=2e-3)
    gspo, by_token = (twin.policy_loss(strop.algorithm(name), **batch) for name in ("gspo", "gspo_token"))
    assert 0 < gspo.metrics["clip_high"].mean < 1
    close(by_token.value, gspo.value)
    assert error(by_token.gradient, gspo.gradient) < 1e-12


@BOTH
def test_gspo_token_gives_each_token_its_own_advantage(twin: Twin) -> None:
    """One sequence, s = exp(0.0001): inside the clip, so the gradient of token t is -s A_t / L."""
    advantage, logp = np.array([[2.0, -1.0, 0.5]]), np.array([[-1.0, -0.4, -2.0]])
    batch = {"logp": logp, "old_logp": logp - [[0.0004, -0.0002, 0.0001]], "advantage": advantage}
    out = twin.policy_loss(strop.algorithm("gspo_token"), **batch, mask=[[1, 1, 1]], group=[0])
    s = math.exp(0.0001)
    close(out.gradient, -s * advantage / 3)
    close(out.value, -s * 1.5 / 3)
    spread = twin.policy_loss(strop.algorithm("gspo"), **batch, mask=[[1, 1, 1]], group=[0])
    close(spread.value, out.value)
    close(spread.gradient, np.full((1, 3), -s * 1.5 / 9))


@BOTH
def test_gspo_token_clips_each_token_by_its_own_advantage(twin: Twin) -> None:
    """s above 1 + 4e-4: tokens with a positive advantage are held back, the others are trained."""
    logp = np.array([[-1.0, -0.4, -2.0]])
    batch = {"logp": logp, "old_logp": logp - 0.01, "advantage": np.array([[2.0, -1.0, 0.5]])}
    out = twin.policy_loss(strop.algorithm("gspo_token"), **batch, mask=[[1, 1, 1]], group=[0])
    close(out.gradient, [[0, math.exp(0.01) / 3, 0]])
    close(out.metrics["clip_high"].mean, 2 / 3)


def test_float32_ratios_of_equal_log_probs_are_exactly_one() -> None:
    logp = torch.rand(50) - 3
    for kind in RATIOS.values():
        assert (kind()(logp, logp, torch.zeros(50, dtype=torch.int64)) == 1).all()


def test_a_sampler_anchor_is_one_argument_away() -> None:
    row = strop.algorithm("dapo", ratio={"kind": "token", "anchor": "sampler"})
    batch = random_batch(3)
    expected = Torch().policy_loss(strop.algorithm("dapo"), **{**batch, "old_logp": batch["sampler_logp"]})
    close(Torch().policy_loss(row, **batch).gradient, expected.gradient)
