"""One token at a time, by eye: numbers that can be checked with a pencil."""

from __future__ import annotations

import math

import pytest

from strop.reference.trust import TRUSTS, clip, divergence, gamma, gate, geometric, open_, truncate

HALF = math.log(0.5)


@pytest.mark.parametrize(
    ("r", "A", "loss", "by_ratio"),
    [(1.5, 1, -1.28, 0), (1.5, -1, 1.5, 1), (0.5, 1, -0.5, -1), (0.5, -1, 0.8, 0), (1.0, 2, -2, -2), (9, 0, 0, 0)],
)
def test_clip_is_the_papers_min(r: float, A: float, loss: float, by_ratio: float) -> None:
    token = clip(r, A, HALF, HALF)
    assert (token.loss, token.by_ratio) == pytest.approx((loss, by_ratio))


def test_dual_clip_caps_what_a_negative_advantage_costs() -> None:
    assert clip(5, -1, HALF, HALF, dual=3).loss == 3
    assert clip(5, -1, HALF, HALF, dual=3).by_ratio == 0
    assert clip(5, 1, HALF, HALF, dual=3).loss == -1.28


def test_frozen_weights_give_their_gradient_to_logp() -> None:
    kept = divergence(1.6, -1, math.log(0.8), HALF, measure="tv", low=0.15, high=0.15)
    assert (kept.loss, kept.by_ratio, kept.by_logp) == pytest.approx((1.6, 0, 1.6))
    dropped = divergence(1.6, 1, math.log(0.8), HALF, measure="tv", low=0.15, high=0.15)
    assert (dropped.loss, dropped.by_logp, dropped.high) == (0, 0, True)
    capped = truncate(8, 1, HALF, HALF, cap=5)
    assert (capped.loss, capped.by_logp, capped.high) == pytest.approx((-5 * HALF, -5, True))


def test_the_gate_and_the_open_region_at_ratio_one() -> None:
    assert (gate(1, 1, HALF, HALF).loss, gate(1, 1, HALF, HALF).by_ratio) == (-2, -1)
    assert gate(1, -1, HALF, HALF).by_ratio == 1
    assert (open_(3, 2, HALF, HALF).loss, open_(3, 2, HALF, HALF).by_ratio) == (-6, -2)


def test_the_gamma_kernel_by_the_sign_of_the_advantage() -> None:
    assert gamma(1, 2, HALF, HALF).by_logp == -2
    assert gamma(2, 1, HALF, HALF).loss == pytest.approx(-4 * math.exp(-3) * HALF)
    assert gamma(2, -1, HALF, HALF).by_logp == pytest.approx(8 * math.exp(-2))
    assert (gamma(2, 1, HALF, HALF).high, gamma(0.2, 0, HALF, HALF).low) == (True, False)


def test_a_geometric_mean_of_ratios_clipped_on_one_side_each() -> None:
    found = geometric([math.e, 1 / math.e, 1.0], [1.0, 1.0, -2.0], low=0.4, high=0.4)
    s = math.exp((0.4 - 1 + 0) / 3)
    assert found.loss == pytest.approx([-s, -s, 2 * s])
    assert found.by_ratio[0] == pytest.approx([0, -s / 3 * math.e, -s / 3])
    assert (found.high, found.low) == ([True, False, False], [False, False, False])


def test_there_is_a_twin_for_every_kind() -> None:
    from strop.algorithms import KINDS

    assert {*TRUSTS, "geometric"} == set(KINDS["trust"])
