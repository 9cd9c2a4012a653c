"""KL and entropy in the loss: exact gradients on a 3-token policy (oracle 11), B10, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import strop
from strop.errors import ConfigError
from strop.objective.regularizer import EntropyBonus, Kl
from tests.objective.twins import BOTH, Twin, close

LOGITS, REF = [0.3, -0.2, 0.5], [0.5, 0.3, 0.2]
REVERSE, FORWARD = [-0.171311, -0.101583, 0.272894], [-0.146385, -0.085522, 0.231906]


def expected_gradient(estimator: str) -> list[float]:
    """The exact expectation over sampled tokens of the gradient of the estimate, the sample held fixed."""
    logits = torch.tensor(LOGITS, dtype=torch.float64, requires_grad=True)
    logp = logits.log_softmax(0)
    value = strop.kl(logp, torch.tensor(REF, dtype=torch.float64).log(), estimator)
    (logp.exp().detach() * value).sum().backward()
    assert logits.grad is not None
    return logits.grad.tolist()


def true_gradient(reverse: bool) -> list[float]:
    logits = torch.tensor(LOGITS, dtype=torch.float64, requires_grad=True)
    logp, ref = logits.log_softmax(0), torch.tensor(REF, dtype=torch.float64).log()
    (logp.exp() * (logp - ref) if reverse else ref.exp() * (ref - logp)).sum().backward()
    assert logits.grad is not None
    return logits.grad.tolist()


def test_each_estimator_has_the_gradient_that_its_name_promises() -> None:
    close(true_gradient(reverse=True), REVERSE, 1e-6)
    close(true_gradient(reverse=False), FORWARD, 1e-6)
    close(expected_gradient("k1"), [0, 0, 0])
    close(expected_gradient("k2"), true_gradient(reverse=True))
    close(expected_gradient("k3"), true_gradient(reverse=False))
    close(expected_gradient("unbiased"), true_gradient(reverse=True))


@BOTH
def test_k1_and_k3_have_the_kl_as_their_mean_and_k2_has_not(twin: Twin) -> None:
    p = np.exp(LOGITS) / np.exp(LOGITS).sum()
    true = (p * np.log(p / REF)).sum()
    mean = {name: (p * twin.kl(np.log(p), np.log(REF), name)).sum() for name in ("k1", "k2", "k3", "unbiased")}
    close([mean["k1"], mean["k3"], mean["unbiased"]], [true] * 3)
    assert abs(mean["k2"] - true) > 1e-3


def test_k1_in_a_loss_is_refused_and_says_why() -> None:
    with pytest.raises(ConfigError, match="k1 is refused: in a loss its gradient has mean zero"):
        Kl(beta=0.1, estimator="k1")  # type: ignore[arg-type]


@BOTH
def test_one_drifted_token_stays_finite_by_a_clamp_that_is_counted(twin: Twin) -> None:
    """B10: the true k3 is 2.7e43, above float32. Clamped at 20 it is 485165174.4; the clamp changes nothing else."""
    # https://github.com/huggingface/trl/pull/6550
    row = strop.algorithm("rloo", aggregation="token", regularizers={"kind": "kl", "beta": 1.0})
    logp, ref = np.array([[-101.0, -1.0]]), np.array([[-1.0, -1.5]])
    out = twin.policy_loss(row, logp=logp, old_logp=logp, ref_logp=ref, advantage=[0.0], mask=[[1, 1]], group=[0])
    close(out.loss, [[485165174.4097903, math.exp(-0.5) - 1 + 0.5]])
    close(out.gradient, [[0.0, (1 - math.exp(-0.5)) / 2]])
    assert out.metrics["kl/clamped"].total == 1
    close(out.metrics["kl"].mean, out.loss.mean())


def test_the_drifted_token_is_finite_in_float32_and_absent_under_the_mask() -> None:
    """B10."""
    # https://github.com/huggingface/trl/pull/6550
    assert strop.kl(torch.tensor(-101.0), torch.tensor(-1.0)).item() == pytest.approx(485165174.4)
    row = strop.algorithm("dapo", regularizers={"kind": "kl", "beta": 0.1})
    logp, ref = torch.tensor([[-101.0, -1.0]]), torch.tensor([[-1.0, -1.5]])
    out = strop.policy_loss(
        row,
        logp=logp,
        old_logp=logp,
        ref_logp=ref,
        advantage=torch.zeros(1),
        mask=torch.tensor([[0, 1]]),
        group=torch.zeros(1),
    )
    assert out.value.item() == pytest.approx(0.01065307, rel=1e-6)
    assert out.metrics["kl/clamped"].total == 0


@given(logp=st.floats(-(2.0**120), 0, width=32), ref=st.floats(-(2.0**120), 0, width=32))
def test_no_gap_however_wide_makes_a_float32_kl_infinite(logp: float, ref: float) -> None:
    """B10, the kind."""
    # https://github.com/huggingface/trl/pull/6550
    for estimator in ("k1", "k2", "k3", "unbiased"):
        leaf = torch.tensor(logp, requires_grad=True)
        value = strop.kl(leaf, torch.tensor(ref), estimator)
        value.backward()
        assert value.isfinite() and leaf.grad is not None and leaf.grad.isfinite()


@BOTH
@pytest.mark.parametrize(
    ("estimator", "value", "slope"),
    [
        ("k2", 0.125, 0.5),
        ("k3", math.exp(-0.5) - 0.5, 1 - math.exp(-0.5)),
        (
            "unbiased",
            math.exp(0.3) * (math.exp(-0.5) - 0.5),
            math.exp(0.3) * (math.exp(-0.5) - 0.5 + 1 - math.exp(-0.5)),
        ),
    ],
)
def test_kl_in_the_loss_has_these_values_and_slopes(twin: Twin, estimator: str, value: float, slope: float) -> None:
    """d = 0.5, token ratio exp(0.3); the unbiased form is r k3 with the gradient through r too."""
    row = strop.algorithm("dapo", regularizers={"kind": "kl", "beta": 0.1, "estimator": estimator})
    batch = {"logp": [[-1.0]], "ref_logp": [[-1.5]], "old_logp": [[-1.3]], "mask": [[1]], "group": [0]}
    out = twin.policy_loss(row, **batch, advantage=[0.0])
    close(out.value, 0.1 * value)
    close(out.gradient, [[0.1 * slope]])
    close(out.metrics["kl"].mean, value)


@BOTH
def test_the_unbiased_form_uses_the_token_ratio_in_every_row(twin: Twin) -> None:
    kl = {"kind": "kl", "beta": 0.1, "estimator": "unbiased"}
    logp, old, ref = np.array([[-1.0, -0.7]]), np.array([[-1.3, -0.6]]), np.array([[-1.5, -1.0]])
    batch = {"logp": logp, "old_logp": old, "ref_logp": ref, "advantage": [0.0], "mask": [[1, 1]], "group": [0]}
    found = [twin.policy_loss(strop.algorithm(name, regularizers=kl), **batch).value for name in ("gspo", "dapo")]
    close(found[0], found[1])


@BOTH
def test_an_entropy_bonus_lowers_the_loss_and_has_a_gradient(twin: Twin) -> None:
    row = strop.algorithm("dapo", regularizers={"kind": "entropy", "beta": 0.01})
    logp = np.full((1, 2), -1.0)
    batch = {"logp": logp, "old_logp": logp, "advantage": [0.0], "mask": [[1, 1]], "group": [0]}
    out = twin.policy_loss(row, **batch, entropy=[[2.0, 1.0]])
    close(out.value, -0.015)
    close(out.entropy_gradient, [[-0.005, -0.005]])
    assert out.metrics["entropy"].mean == 1.5


@BOTH
def test_regularizers_are_averaged_by_the_rows_own_mean(twin: Twin) -> None:
    """The study note's total loss: policy loss plus beta times k3, both under one mean."""
    kl, mask = {"kind": "kl", "beta": 0.04}, [[1, 0, 0], [1, 1, 1]]
    logp, old = np.log([[0.5, 1, 1], [0.4, 0.3, 0.2]]), np.log([[0.4, 1, 1], [0.4, 0.4, 0.1]])
    ref = np.log([[0.25, 1, 1], [0.4, 0.6, 0.2]])
    batch = {"logp": logp, "old_logp": old, "ref_logp": ref, "advantage": [1.0, -1.0], "mask": mask, "group": [0, 0]}
    policy = -np.array([1.25, -1.0, -0.8, -2.0])
    distance = twin.kl(logp, ref)[np.array(mask) == 1]
    for name, share in (("token", [1 / 4] * 4), ("sequence", [1 / 2, 1 / 6, 1 / 6, 1 / 6])):
        out = twin.policy_loss(strop.algorithm("dapo", aggregation=name, regularizers=kl), **batch)
        close(out.value, (share * (policy + 0.04 * distance)).sum())


@pytest.mark.parametrize("beta", [-0.1, math.nan, math.inf])
def test_a_coefficient_that_cannot_be_is_refused(beta: float) -> None:
    with pytest.raises(ConfigError, match="kl: beta is"):
        Kl(beta)
    if not beta < 0:
        with pytest.raises(ConfigError, match="entropy: beta is"):
            EntropyBonus(beta)


def test_an_unknown_estimator_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="'k4'; use k1, k2, k3, unbiased"):
        strop.kl(torch.zeros(1), torch.zeros(1), "k4")


def test_kl_is_elementwise_in_any_shape_and_wide() -> None:
    logp = torch.rand(2, 3, 4).bfloat16()
    assert strop.kl(logp, logp).shape == (2, 3, 4)
    assert strop.kl(logp, logp).dtype == torch.float32
