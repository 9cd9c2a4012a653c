"""How far a distribution moved: binary and top-K buckets, against the full divergence (oracle 12, algorithms 5.2)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import strop
from strop.errors import ConfigError
from strop.objective.divergence import BINARY, TOP, binary_kl, binary_tv, top_buckets
from strop.objective.streams import Streams
from strop.reference import trust as by_hand
from tests.laws.batches import random_batch, row_of, with_tops
from tests.objective.twins import BOTH, Torch, Twin, close

MU = [0.40, 0.25, 0.15, 0.10, 0.06, 0.04]
PI = [0.30, 0.38, 0.10, 0.08, 0.02, 0.12]


def tv(mu: Any, pi: Any) -> float:
    return float(np.abs(np.array(mu) - np.array(pi)).sum() / 2)


def kl(mu: Any, pi: Any) -> float:
    return float((np.array(mu) * np.log(np.array(mu) / np.array(pi))).sum())


FULL = {"tv": tv, "kl": kl}


def likeliest(mu: Any, k: int) -> list[int]:
    """The k most likely tokens; of equally likely ones the first, so that more are a superset of fewer."""
    return [int(i) for i in np.argsort(-np.array(mu), kind="stable")[:k]]


def tops(mu: Any, pi: Any, a: int, k: int) -> tuple[Streams, torch.Tensor, torch.Tensor]:
    """Streams of one token a, and its log-probs under the anchor and the policy."""
    log_mu, log_pi = (torch.tensor(np.array(p), dtype=torch.float64).log() for p in (mu, pi))
    ids = torch.tensor(likeliest(mu, k))
    one = torch.ones(1, dtype=torch.float64)
    top = {"sampler_top_logp_NK": log_mu[None, ids], "top_logp_NK": log_pi[None, ids]}
    streams = Streams(
        log_pi[a : a + 1], one, one, torch.zeros(1, dtype=torch.int64), **top, top_is_sampled_NK=(ids == a)[None]
    )
    return streams, log_mu[a : a + 1], log_pi[a : a + 1]


def moved(measure: str, mu: Any, pi: Any, a: int, k: int) -> float:
    """strop's estimate, which the one written by hand agrees with."""
    streams, anchor, logp = tops(mu, pi, a, k)
    found = float(TOP[measure](*top_buckets(streams, anchor, logp, k)))
    others = [(math.log(mu[i]), math.log(pi[i])) for i in likeliest(mu, k) if i != a]
    pairs = by_hand.buckets(float(anchor), float(logp), others)
    close({"tv": by_hand.bucket_tv, "kl": by_hand.bucket_kl}[measure](pairs), found)
    return found


@pytest.mark.parametrize("a", range(6))
def test_binary_divergences_are_lower_bounds_of_the_full_ones(a: int) -> None:
    """Six words; binary <= full for TV and KL, whichever word was sampled."""
    mu, pi = [0.40, 0.25, 0.15, 0.10, 0.06, 0.04], [0.30, 0.38, 0.10, 0.08, 0.02, 0.12]
    tv = [0.100, 0.130, 0.050, 0.020, 0.040, 0.080]
    kl = [0.0226, 0.0381, 0.0122, 0.0025, 0.0267, 0.0396]
    pair = torch.tensor([mu[a], pi[a]], dtype=torch.float64).log()
    found = float(binary_tv(*pair)), float(binary_kl(*pair))
    assert found == (pytest.approx(tv[a], abs=5e-4), pytest.approx(kl[a], abs=5e-5))
    exact_kl = mu[a] * math.log(mu[a] / pi[a]) + (1 - mu[a]) * math.log((1 - mu[a]) / (1 - pi[a]))
    close(found, (abs(mu[a] - pi[a]), exact_kl))
    close((by_hand.binary_tv(*pair.tolist()), by_hand.binary_kl(*pair.tolist())), found)
    assert found[0] <= sum(abs(p - q) for p, q in zip(mu, pi, strict=True)) / 2
    assert found[1] <= sum(p * math.log(p / q) for p, q in zip(mu, pi, strict=True))


@pytest.mark.parametrize(
    ("a", "found_tv", "replaced", "found_kl"),
    [
        (0, 0.130, 0.130, 0.0418),
        (1, 0.130, 0.130, 0.0418),
        (2, 0.150, 0.150, 0.0522),
        (3, 0.130, 0.120, 0.0429),
        (4, 0.140, 0.140, 0.0665),
        (5, 0.210, 0.100, 0.1023),
    ],
)
def test_the_sampled_token_is_added_and_replaces_none(
    a: int, found_tv: float, replaced: float, found_kl: float
) -> None:
    """Oracle 12, K = 2. With the sampled token in the place of the second the estimate can fall: 0.100 for 0.210."""
    close(moved("tv", MU, PI, a, 2), found_tv, 5e-4)
    close(moved("kl", MU, PI, a, 2), found_kl, 5e-4)
    kept = [0, 1] if a < 2 else [0, a]
    rest = [i for i in range(6) if i not in kept]
    merged = [[*(p[i] for i in kept), sum(p[i] for i in rest)] for p in (MU, PI)]
    close(tv(*merged), replaced, 5e-4)
    assert moved("tv", MU, PI, a, 2) >= tv(*merged) - 1e-12


distributions = st.integers(2, 9).flatmap(
    lambda size: st.tuples(
        *(st.lists(st.floats(0.01, 1.0), min_size=size, max_size=size) for _ in range(2)), st.integers(0, size - 1)
    )
)


@pytest.mark.parametrize("measure", ["tv", "kl"])
@given(drawn=distributions)
def test_binary_is_at_most_top_k_which_rises_with_k_to_the_full_divergence(
    measure: str, drawn: tuple[list[float], list[float], int]
) -> None:
    mu, pi = (np.array(weights) / sum(weights) for weights in drawn[:2])
    a, pair = drawn[2], torch.tensor([[mu[drawn[2]]], [pi[drawn[2]]]], dtype=torch.float64).log()
    estimates = [float(BINARY[measure](*pair)), *(moved(measure, mu, pi, a, k) for k in range(1, len(mu) + 1))]
    assert all(low <= high + 1e-9 for low, high in zip(estimates[:-1], estimates[1:], strict=True))
    close(estimates[-1], FULL[measure](mu, pi), 1e-9)


def test_a_token_that_the_policy_rules_out_is_infinitely_far_in_kl_and_one_that_neither_holds_adds_nothing() -> None:
    streams, anchor, logp = tops([0.5, 0.3, 0.2, 0.0], [0.6, 0.4, 0.0, 0.0], 0, 4)
    found = top_buckets(streams, anchor, logp, 4)
    assert float(TOP["kl"](*found)) == math.inf
    close(float(TOP["tv"](*found)), 0.2)
    streams, anchor, logp = tops([0.5, 0.5, 0.0, 0.0], [0.6, 0.4, 0.0, 0.0], 0, 4)
    close(float(TOP["kl"](*top_buckets(streams, anchor, logp, 4))), kl([0.5, 0.5], [0.6, 0.4]))


def test_the_rest_is_never_negative_and_never_nan_in_float32() -> None:
    """Probabilities of float32 may add up to more than 1."""
    logits = torch.randn(64, 8) * 6
    log_mu, log_pi = logits.log_softmax(-1), (logits + torch.randn(64, 8)).log_softmax(-1)
    no = torch.zeros(64, 7, dtype=torch.bool)
    given = Streams(
        log_pi[:, 0],
        no[:, 0],
        no[:, 0],
        torch.arange(64),
        sampler_top_logp_NK=log_mu[:, 1:],
        top_logp_NK=log_pi[:, 1:],
        top_is_sampled_NK=no,
    )
    buckets = top_buckets(given, log_mu[:, 0], log_pi[:, 0], 7)
    assert all(measure(*buckets).isfinite().all() for measure in TOP.values())


@BOTH
@pytest.mark.parametrize("measure", ["tv", "kl"])
@pytest.mark.parametrize("k", [1, 3])
def test_a_row_with_a_top_k_divergence_equals_its_reference_and_drops_no_less(twin: Twin, measure: str, k: int) -> None:
    trust = {"kind": "divergence", "measure": measure, "low": 0.05, "high": 0.05}
    batch = with_tops(random_batch(3), k)
    top, binary = (row_of("dppo_tv", trust={**trust, "topk": topk}) for topk in (k, 0))
    found, fewer = twin.policy_loss(top, **batch), twin.policy_loss(binary, **batch)
    expected = strop.reference.policy_loss(top, **batch)
    close(found.gradient, expected.gradient)
    close(found.value, expected.value)
    dropped, dropped_before = ((out.gradient == 0) & (batch["mask"] == 1) for out in (found, fewer))
    assert (dropped >= dropped_before).all() and dropped.sum() > dropped_before.sum()


def test_nothing_under_the_mask_of_the_tops_is_read() -> None:
    row = row_of("dppo_kl", trust={"kind": "divergence", "measure": "kl", "low": 0.05, "high": 0.05, "topk": 3})
    batch = with_tops(random_batch(4), 3)
    clean = Torch().policy_loss(row, **batch)
    masked = batch["mask"] == 0
    dirty = {name: np.where(masked[..., None], math.nan, batch[name]) for name in ("sampler_top_logp", "top_logp")}
    out = Torch().policy_loss(row, **{**batch, **dirty})
    assert out.value == clean.value and (out.gradient == clean.gradient).all()


def test_another_number_of_tokens_than_topk_is_an_error() -> None:
    row = row_of("dppo_tv", trust={"kind": "divergence", "measure": "tv", "low": 0.2, "high": 0.2, "topk": 4})
    batch = {name: torch.tensor(value) for name, value in with_tops(random_batch(3), 3).items()}
    with pytest.raises(ConfigError, match=r"topk is 4, so sampler_top_logp \[\d+, 3\].* must all be \[\d+, 4\]"):
        strop.policy_loss(row, **batch)
    with pytest.raises(ValueError, match=r"top_logp must be \[12, 9\] like the mask and K ids deep, got \[12, 9\]"):
        strop.policy_loss(row, **{**batch, "top_logp": batch["top_logp"][..., 0]})


@pytest.mark.parametrize("missing", ["sampler_top_logp", "top_logp", "top_is_sampled"])
def test_tops_that_are_read_and_not_given_are_an_error(missing: str) -> None:
    row = row_of("dppo_tv", trust={"kind": "divergence", "measure": "tv", "low": 0.2, "high": 0.2, "topk": 3})
    batch = {name: torch.tensor(value) for name, value in with_tops(random_batch(3), 3).items() if name != missing}
    with pytest.raises(ConfigError, match=f"dppo_tv reads {missing}, which was not given"):
        strop.policy_loss(row, **batch)


def test_binary_kl_is_finite_for_certain_tokens_in_float32() -> None:
    edge = torch.tensor([0.0, -1e-9, -1e-4, -80.0])
    for anchor in edge:
        assert binary_kl(anchor.expand(4), edge).isfinite().all()
