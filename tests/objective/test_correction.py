"""An answer to the sampler's mismatch: values by hand, and what a correction may never touch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import strop
from strop.errors import ConfigError
from strop.objective.correction import (
    CORRECTIONS,
    Correction,
    SequenceMask,
    SequenceTruncate,
    TokenMask,
    TokenTruncate,
)
from strop.objective.streams import Streams
from tests.laws.batches import random_batch
from tests.objective.twins import BOTH, Torch, Twin, close

RHO = torch.tensor([1.5, 0.4, 6.0, 0.9, 1.25], dtype=torch.float64)
SEQ = torch.tensor([0, 1, 0, 1, 1])
PRODUCTS = [9.0, 0.45, 9.0, 0.45, 0.45]
MEANS = [3.0, 0.45 ** (1 / 3), 3.0, 0.45 ** (1 / 3), 0.45 ** (1 / 3)]


def streams(rho: torch.Tensor = RHO, seq: torch.Tensor = SEQ) -> Streams:
    sampler = torch.full_like(rho, -2.0)
    one = torch.ones_like(rho)
    return Streams(sampler, one, one, seq, old_logp_N=sampler + rho.log(), sampler_logp_N=sampler)


CASES: list[tuple[Correction, list[float], list[int], list[int]]] = [
    (TokenTruncate(), [1.5, 0.4, 2.0, 0.9, 1.25], [], [2]),
    (TokenTruncate(math.inf), RHO.tolist(), [], []),
    (SequenceTruncate(), [2.0, 0.45, 2.0, 0.45, 0.45], [], [0, 2]),
    (TokenMask(), [1.5, 0.0, 0.0, 0.9, 1.25], [1, 2], []),
    (TokenMask(0.89, 1.26), [0.0, 0.0, 0.0, 0.9, 1.25], [0, 1, 2], []),
    (SequenceMask(), [0.0, 0.45, 0.0, 0.45, 0.45], [0, 2], []),
    (SequenceMask(0.5, 10.0), [9.0, 0.0, 9.0, 0.0, 0.0], [1, 3, 4], []),
    (SequenceMask(0.7, 2.9, "geometric", "token"), [0.0, 0.4, 0.0, 0.9, 1.25], [0, 2], []),
    (SequenceMask(0.7, 3.1, "geometric", "product"), PRODUCTS, [], []),
    (SequenceMask(0.5, 10.0, times="one"), [1.0, 0.0, 1.0, 0.0, 0.0], [1, 3, 4], []),
]


@pytest.mark.parametrize(("correction", "factors", "dropped", "capped"), CASES)
def test_every_correction_multiplies_by_what_it_says(
    correction: Correction, factors: list[float], dropped: list[int], capped: list[int]
) -> None:
    found = correction(streams())
    close(found.factor_N, factors)
    assert found.dropped_N.nonzero().flatten().tolist() == dropped
    assert found.capped_N.nonzero().flatten().tolist() == capped


def test_as_they_stand_the_corrections_have_the_bounds_of_the_field() -> None:
    """verl: token and sequence weights capped at 2, IcePop 0.5 to 5. TRL: sequence_mask by the product, up to 3."""
    assert (TokenTruncate().cap, SequenceTruncate().cap) == (2.0, 2.0)
    assert (TokenMask().low, TokenMask().high) == (0.5, 5.0)
    assert SequenceMask() == SequenceMask(0.0, 3.0, "product", "product")


def test_a_correction_is_constant_in_the_policy() -> None:
    given = streams()
    leaf = given.old_logp_N.clone().requires_grad_()  # type: ignore[union-attr]
    held = Streams(given.logp_N, given.advantage_N, given.weight_N, SEQ, old_logp_N=leaf, sampler_logp_N=leaf - 0.1)
    for kind in CORRECTIONS.values():
        assert not kind()(held).factor_N.requires_grad


@pytest.mark.parametrize("kind", list(CORRECTIONS))
def test_a_token_that_drifted_beyond_all_bounds_keeps_the_factor_finite(kind: str) -> None:
    for gap in (1e3, -1e3):
        one = torch.zeros(2)
        far = Streams(one, one, one, torch.zeros(2).long(), old_logp_N=one, sampler_logp_N=one - gap)
        factor = CORRECTIONS[kind]()(far).factor_N
        assert factor.isfinite().all() and (factor <= math.exp(20) + 1).all()


def row(correction: Any, **changes: Any) -> Any:
    return strop.algorithm("dapo", correction=correction, **changes)


@BOTH
def test_a_corrected_loss_by_hand(twin: Twin) -> None:
    """Ratio 1, A = 1 and -2, rho 3 (capped at 2) and 0.5: 2 * -1 and 0.5 * 2, each with weight 1 / 2."""
    old = np.array([[-1.0], [-1.0]])
    batch = {"logp": old, "old_logp": old, "sampler_logp": old - np.log([[3.0], [0.5]]), "advantage": [1.0, -2.0]}
    out = twin.policy_loss(row("token_truncate"), **batch, mask=[[1], [1]], group=[0, 0])
    close(out.loss, [[-2.0], [1.0]])
    close(out.gradient, [[-1.0], [0.5]])
    close((out.value, out.metrics["policy_loss"].total), (-0.5, -0.5))
    metrics = {name: metric.mean for name, metric in out.metrics.items() if name.startswith("correction")}
    assert metrics == {"correction": 1.25, "correction/dropped": 0.0, "correction/capped": 0.5}


@BOTH
@pytest.mark.parametrize("kind", list(CORRECTIONS))
@pytest.mark.parametrize("seed", range(2))
def test_a_sampler_that_agrees_is_not_corrected(twin: Twin, kind: str, seed: int) -> None:
    batch = random_batch(seed)
    batch["sampler_logp"] = batch["old_logp"]
    plain, corrected = twin.policy_loss(row("none"), **batch), twin.policy_loss(row(kind), **batch)
    close(corrected.value, plain.value)
    close(corrected.gradient, plain.gradient)
    shares = [corrected.metrics[name].mean for name in ("correction", "correction/dropped", "correction/capped")]
    assert shares == [1.0, 0.0, 0.0]


@BOTH
def test_weights_and_counts_are_those_of_the_mask_whatever_was_dropped(twin: Twin) -> None:
    """Everything dropped: the policy's loss is 0, and the mean of what is left still divides by every live token."""
    batch, regularizers = random_batch(2), {"kind": "kl", "beta": 0.3}
    nothing = {"kind": "token_mask", "low": 1e6, "high": 1e7}
    out = twin.policy_loss(row(nothing, regularizers=regularizers), **batch)
    live = (batch["mask"] == 1).sum()
    assert out.metrics["policy_loss"].total == 0 and out.metrics["correction/dropped"].mean == 1
    assert out.metrics["ratio"].weight == out.metrics["correction"].weight == live
    close(out.value, 0.3 * out.metrics["kl"].mean)


@BOTH
@pytest.mark.parametrize("kind", list(CORRECTIONS))
def test_the_gradient_of_regularizers_is_untouched(twin: Twin, kind: str) -> None:
    batch = {**random_batch(3), "advantage": np.zeros(12)}
    terms = [{"kind": "kl", "beta": 0.3}, {"kind": "entropy", "beta": 0.1}]
    plain, corrected = (twin.policy_loss(row(how, regularizers=terms), **batch) for how in ("none", kind))
    assert plain.gradient.any()
    close(corrected.gradient, plain.gradient)
    close(corrected.entropy_gradient, plain.entropy_gradient)


@BOTH
@pytest.mark.parametrize("kind", ["token_mask", "sequence_mask"])
def test_what_is_dropped_has_no_gradient_and_changes_nobody_elses(twin: Twin, kind: str) -> None:
    batch = random_batch(5, spread=0.8)
    before = twin.policy_loss(row(kind), **batch)
    moved = {**batch, "sampler_logp": batch["sampler_logp"].copy()}
    lost = int(before.gradient.any(1).nonzero()[0][0])
    moved["sampler_logp"][lost] -= 50.0
    after = twin.policy_loss(row(kind), **moved)
    others = np.arange(12) != lost
    assert before.gradient[lost].any() and not after.gradient[lost].any()
    assert (after.gradient[others] == before.gradient[others]).all()
    assert after.metrics["ratio"] == before.metrics["ratio"]
    assert after.metrics["correction/dropped"].total > before.metrics["correction/dropped"].total


gaps = st.lists(st.floats(-2, 2), min_size=1, max_size=6)


@given(completions=st.lists(gaps, min_size=1, max_size=4))
def test_a_token_correction_of_single_tokens_is_the_sequence_correction(completions: list[list[float]]) -> None:
    rho = torch.tensor([gap for one in completions for gap in one], dtype=torch.float64).exp()
    alone = streams(rho, torch.arange(len(rho)))
    close(TokenTruncate()(alone).factor_N, SequenceTruncate()(alone).factor_N)
    for mean in ("product", "geometric"):
        close(TokenMask()(alone).factor_N, SequenceMask(0.5, 5.0, mean)(alone).factor_N)


@given(completions=st.lists(gaps, min_size=1, max_size=4))
def test_rejection_keeps_or_drops_whole_completions(completions: list[list[float]]) -> None:
    rho = torch.tensor([gap for one in completions for gap in one], dtype=torch.float64).exp()
    seq = torch.tensor([i for i, one in enumerate(completions) for _ in one])
    for mean in ("product", "geometric"):
        dropped = SequenceMask(0.8, 1.3, mean, "token")(streams(rho, seq)).dropped_N
        for i in range(len(completions)):
            assert len(set(dropped[seq == i].tolist())) == 1


def test_trls_sequence_mask_and_nemos_seq_mask_tis_disagree_on_a_long_completion() -> None:
    """100 tokens of rho 1.02: their product, 7.2, is beyond TRL's 3; their geometric mean, 1.02, is within 1.05."""
    long = streams(torch.full((100,), 1.02, dtype=torch.float64), torch.zeros(100).long())
    assert SequenceMask()(long).dropped_N.all()
    kept = SequenceMask(0.95, 1.05, "geometric", "token")(long)
    assert not kept.dropped_N.any()
    close(kept.factor_N, [1.02] * 100)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: TokenTruncate(0), "correction token_truncate: cap is 0"),
        (lambda: SequenceTruncate(math.nan), "correction sequence_truncate: cap is nan"),
        (lambda: TokenMask(2.0, 0.5), "correction token_mask: low 2.0 and high 0.5"),
        (lambda: TokenMask(-0.1), "low -0.1"),
        (lambda: SequenceMask(high=0), "high 0"),
        (lambda: SequenceMask(mean="arithmetic"), "mean is 'arithmetic'; use product or geometric"),  # type: ignore[arg-type]
        (lambda: SequenceMask(times="two"), "times is 'two'; use product, token, one"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_correct_anything_is_refused(make: Callable[[], Correction], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        make()


def test_the_sampler_is_read_and_asked_for() -> None:
    batch = {name: torch.tensor(value) for name, value in random_batch(1).items() if name != "sampler_logp"}
    with pytest.raises(ConfigError, match="dapo reads sampler_logp, which was not given"):
        strop.policy_loss(row("token_mask"), **batch)
    assert Torch().policy_loss(row("none"), **random_batch(1)).metrics.keys() & {"correction"} == set()
