"""What a move may earn: closed forms of the gradient (algorithms 1.0c), worked values (oracle 10, 12, 20), B12, B13."""

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
from strop.objective.streams import Streams
from strop.objective.trust import Clip, Divergence, Gamma, Gate, Geometric, Open, Truncate, Trust
from strop.reference import trust as by_hand
from tests.objective.twins import BOTH, Torch, Twin, close

ANCHOR = -1.3
RATIOS = [0.01, 0.3, 0.79, 0.8, 0.81, 0.95, 1.0, 1.05, 1.2, 1.27, 1.28, 1.29, 2.0, 2.99, 3.01, 3.6]
ADVANTAGES = [-2.0, -0.5, 0.7, 1.5]


def alone(logp: torch.Tensor, advantage: torch.Tensor) -> Streams:
    """Every token a completion of its own."""
    return Streams(logp, advantage, torch.ones_like(advantage), torch.arange(len(advantage)))


def token(trust: Trust, r: float, A: float) -> tuple[float, float, bool, bool]:
    """Loss, the coefficient k of the gradient -k A grad logp by autograd, and the two masks."""
    logp = torch.tensor([ANCHOR + math.log(r)], dtype=torch.float64, requires_grad=True)
    anchor = torch.tensor([ANCHOR], dtype=torch.float64)
    advantage = torch.tensor([A], dtype=torch.float64)
    out = trust(alone(logp, advantage), (logp - anchor).exp(), advantage, logp, anchor)
    [slope] = torch.autograd.grad(out.loss_N.sum(), logp)
    return out.loss_N.item(), slope.item() / -A, bool(out.high_N), bool(out.low_N)


def clip_k(r: float, A: float) -> float:
    return 0.0 if (A > 0 and r > 1.28) or (A < 0 and r < 0.8) else r


def sigmoid_k(r: float, A: float) -> float:
    s = 1 / (1 + math.exp(-(1.0 if A > 0 else 1.05) * (r - 1)))
    return 4 * r * s * (1 - s)


def tv_k(r: float, A: float) -> float:
    moved = abs(math.exp(ANCHOR) * (r - 1))
    return 0.0 if (A > 0 and r > 1 and moved > 0.1) or (A < 0 and r < 1 and moved > 0.05) else min(r, 2.5)


def phi(r: float, A: float) -> float:
    k, rate = (2.0, 3.0) if A > 0 else (3.0, 2.0)
    return r**k * math.exp(rate * (1 - r))


def log_clip_k(r: float, A: float) -> float:
    return 0.0 if (A > 0 and math.log(r) > 0.4) or (A < 0 and math.log(r) < -0.4) else r


CLOSED: list[tuple[Trust, Callable[[float, float], float]]] = [
    (Open(), lambda r, A: r),
    (Clip(0.2, 0.28), clip_k),
    (Clip(0.2, 0.28, dual=3.0), lambda r, A: 0.0 if A < 0 and r > 3 else clip_k(r, A)),
    (Truncate(1.25), lambda r, A: min(r, 1.25)),
    (Gate(1.0, 1.05), sigmoid_k),
    (Gamma(), phi),
    (Geometric(), log_clip_k),
    (Divergence("tv", low=0.05, high=0.1, cap=2.5), tv_k),
]


@pytest.mark.parametrize(("trust", "k"), CLOSED, ids=lambda value: getattr(value, "kind", ""))
def test_autograd_finds_the_coefficient_of_the_closed_form(trust: Trust, k: Callable[[float, float], float]) -> None:
    for r in RATIOS:
        for A in ADVANTAGES:
            if math.isclose(r, 0.8) or math.isclose(r, 1.28):
                continue  # the bound itself: rounding of exp(log r) decides
            close(token(trust, r, A)[1], k(r, A))


@pytest.mark.parametrize(("trust", "k"), CLOSED, ids=lambda value: getattr(value, "kind", ""))
def test_held_back_means_that_the_coefficient_is_not_the_ratio(
    trust: Trust, k: Callable[[float, float], float]
) -> None:
    if isinstance(trust, Gate | Gamma):
        return
    for r in RATIOS:
        for A in ADVANTAGES:
            _, found, high, low = token(trust, r, A)
            assert (high or low) == (abs(found - r) > 1e-12 and (found == 0.0 or isinstance(trust, Truncate)))
            assert not (high and r < 1) and not (low and r > 1)


@pytest.mark.parametrize("r", RATIOS)
@pytest.mark.parametrize("A", [*ADVANTAGES, 0.0])
def test_the_masked_form_equals_the_papers_min(r: float, A: float) -> None:
    for dual in (math.inf, 3.0, 1.1):
        held = by_hand.clip(r, A, 0.0, 0.0, low=0.2, high=0.28, dual=dual)
        ratio, advantage, zero = (torch.tensor([value], dtype=torch.float64) for value in (r, A, 0.0))
        ours = Clip(0.2, 0.28, dual)(alone(zero, advantage), ratio, advantage, zero, zero)
        close(ours.loss_N, [held.loss])
        assert (bool(ours.high_N), bool(ours.low_N)) == (held.high, held.low)


def test_dual_clip_equals_trls_delta_only_from_the_upper_bound_on() -> None:
    """TRL: -min(min(r, delta) A, clip(r) A). Equal for delta >= 1 + high; at 1.1 they differ on 978 of 1198 points."""
    grid = [(n / 100, A) for n in range(1, 600) for A in (1.0, -1.0)]

    def trl(r: float, A: float, delta: float) -> float:
        return -min(min(r, delta) * A, max(min(r, 1.28), 0.8) * A)

    r, A = (torch.tensor(column, dtype=torch.float64) for column in zip(*grid, strict=True))
    for delta, different in ((3.0, 0), (1.28, 0), (1.1, 978)):
        ours = Clip(0.2, 0.28, delta)(alone(r, A), r, A, r, r).loss_N.tolist()
        assert sum(abs(trl(*at, delta) - mine) > 1e-12 for at, mine in zip(grid, ours, strict=True)) == different


@BOTH
def test_clip_fractions_know_the_sign_of_the_advantage(twin: Twin) -> None:
    """B12."""
    # https://github.com/huggingface/trl/issues/3032
    old = np.full((1, 4), -2.0)
    batch = {"logp": old + np.log([[1.5, 1.5, 0.5, 0.5]]), "old_logp": old, "advantage": np.array([[1.0, -1, 1, -1]])}
    out = twin.policy_loss(strop.algorithm("dapo"), **batch, mask=[[1, 1, 1, 1]], group=[0])
    close(out.loss, [[-1.28, 1.5, -0.5, 0.8]])
    close(out.value, 0.13)
    close(out.gradient, [[0, 0.375, -0.125, 0]])
    assert out.metrics["clip_high"].mean == out.metrics["clip_low"].mean == 0.25


moves = st.lists(st.tuples(st.floats(-0.9, 0.9), st.integers(-6, 6), st.floats(-4, -0.95)), min_size=1, max_size=12)


def moved(drawn: list[tuple[float, float, float]]) -> dict[str, Any]:
    """One completion of tokens that moved by (log-ratio, with this advantage, from this log-prob)."""
    gap, advantage, anchor = (np.array([column]) for column in zip(*drawn, strict=True))
    given = {"logp": anchor + gap, "old_logp": anchor, "sampler_logp": anchor, "advantage": advantage}
    return {**given, "mask": np.ones_like(gap), "group": [0]}


@given(drawn=moves)
def test_clip_fractions_count_exactly_the_tokens_without_gradient_by_side(
    drawn: list[tuple[float, float, float]],
) -> None:
    """B12, the kind: whatever the signs, a held-back token is counted once, on the side that its ratio left."""
    # https://github.com/huggingface/trl/issues/3032
    for name in ("dapo", "dppo_tv", "dppo_kl"):
        batch = moved(drawn)
        out = Torch().policy_loss(strop.algorithm(name, length=4), **batch)
        dead = (out.gradient == 0) & (batch["advantage"] != 0)
        up = batch["logp"] > batch["old_logp"]
        assert out.metrics["clip_high"].total == (dead & up).sum()
        assert out.metrics["clip_low"].total == (dead & ~up).sum()


@given(drawn=moves)
def test_a_move_back_towards_the_anchor_is_trained_under_every_trust_region(
    drawn: list[tuple[float, float, float]],
) -> None:
    """B13, the kind."""
    # https://github.com/PrimeIntellect-ai/prime-rl/pull/2187
    batch = moved(drawn)
    back = (batch["logp"] - batch["old_logp"]) * batch["advantage"] < 0
    for name in ("dapo", "dppo_tv", "dppo_kl", "cispo", "sapo", "rloo", "vespo"):
        assert (Torch().policy_loss(strop.algorithm(name, length=4), **batch).gradient[back] != 0).all()


@BOTH
def test_clip_higher_binds_only_above_for_a_gain_and_only_below_for_a_loss(twin: Twin) -> None:
    """The study note's first blade, on a grid of moves."""
    moves = np.linspace(0.5, 1.6, 23)
    old = np.full((1, 23), -2.0)
    batch = {"logp": old + np.log(moves), "old_logp": old, "mask": np.ones((1, 23)), "group": [0]}
    up = twin.policy_loss(strop.algorithm("dapo"), **batch, advantage=[1.0])
    down = twin.policy_loss(strop.algorithm("dapo"), **batch, advantage=[-1.0])
    assert ((up.gradient == 0) == (moves > 1.28)).all()
    assert ((down.gradient == 0) == (moves < 0.8)).all()


@BOTH
def test_a_divergence_mask_never_blocks_a_move_back(twin: Twin) -> None:
    """B13: -0.36; -0.6 ignores the direction and -0.112 is PPO's clip."""
    # https://github.com/PrimeIntellect-ai/prime-rl/pull/2187
    sampler, now = np.log([[0.5, 0.5, 0.5, 0.5, 0.02]]), np.log([[0.8, 0.8, 0.2, 0.2, 0.06]])
    trust = {"kind": "divergence", "measure": "tv", "low": 0.15, "high": 0.15}
    batch = {"logp": now, "sampler_logp": sampler, "old_logp": sampler, "advantage": np.array([[1.0, -1, 1, -1, 1]])}
    batch |= {"mask": [[1] * 5], "group": [0]}
    out = twin.policy_loss(strop.algorithm("dppo_tv", trust=trust, aggregation="token"), **batch)
    close(out.value, -0.36)
    close(out.gradient * 5, [[0, 1.6, -0.4, 0, -3.0]])
    assert out.metrics["clip_high"].total == out.metrics["clip_low"].total == 1
    close(twin.policy_loss(strop.algorithm("dapo"), **batch).value, -0.112)


@BOTH
def test_ppo_clips_the_harmless_move_and_dppo_the_large_one(twin: Twin) -> None:
    """1e-4 -> 1e-2 is ratio 100 but TV 0.0099; 0.99 -> 0.80 is ratio 0.81 but TV 0.19."""
    sampler, now = np.log([[1e-4, 0.99]]), np.log([[1e-2, 0.80]])
    batch = {"logp": now, "sampler_logp": sampler, "old_logp": sampler, "advantage": np.array([[1.0, -1.0]])}
    batch |= {"mask": [[1, 1]], "group": [0]}
    trust = {"kind": "divergence", "measure": "tv", "low": 0.15, "high": 0.15}
    dppo = twin.policy_loss(strop.algorithm("dppo_tv", trust=trust, length=2), **batch)
    ppo = twin.policy_loss(strop.algorithm("dapo"), **batch)
    close(dppo.gradient, [[-100 / 2, 0]])
    close(ppo.gradient, [[0, 0.80 / 0.99 / 2]])
    numbers = [(by_hand.binary_tv(m, p), by_hand.binary_kl(m, p)) for m, p in zip(sampler[0], now[0], strict=True)]
    close(numbers, [(0.0099, 0.0095), (0.19, 0.1810)], 6e-4)


@pytest.mark.parametrize("cap", [1.5, math.inf])
def test_the_cap_bounds_the_weight_and_keeps_the_gradient(cap: float) -> None:
    close(token(Divergence("tv", low=1, high=1, cap=cap), 2.0, -1.0)[:2], (min(2.0, cap), min(2.0, cap)))
    loss, k, high, low = token(Truncate(cap), 2.0, -1.0)
    close((loss, k), (min(2.0, cap) * (ANCHOR + math.log(2)), min(2.0, cap)))
    assert (high, low) == (cap < 2, False)


def test_the_gate_is_one_at_ratio_one_and_fades_on_both_sides() -> None:
    for A in (1.0, -1.0):
        close(token(Gate(), 1.0, A)[1], 1.0)
    assert token(Gate(), 8.0, 1.0)[1] < 0.1 * 8
    assert token(Gate(), 8.0, -1.0)[1] < token(Gate(), 8.0, 1.0)[1]


@pytest.mark.parametrize(("A", "k", "rate"), [(1.0, 2.0, 3.0), (-1.0, 3.0, 2.0)])
def test_the_gamma_kernel_is_one_at_ratio_one_and_largest_at_k_over_lambda(A: float, k: float, rate: float) -> None:
    close(token(Gamma(), 1.0, A)[1], 1.0)
    peak = token(Gamma(), k / rate, A)[1]
    close(peak, (k / rate) ** k * math.exp(rate - k))
    assert peak < 1.25
    assert all(token(Gamma(), r, A)[1] <= peak for r in np.geomspace(1e-3, 50, 200))
    assert [token(Gamma(), r, A)[1] for r in (math.exp(-20), math.exp(20))] == [pytest.approx(0, abs=1e-15)] * 2


@pytest.mark.parametrize("A", [2.0, -2.0])
def test_a_gamma_kernel_marks_what_gets_less_than_half_of_the_weight_at_ratio_one(A: float) -> None:
    for r in np.geomspace(0.05, 20, 101):
        _, found, high, low = token(Gamma(), float(r), A)
        assert (high, low) == (found < 0.5 and r > 1, found < 0.5 and r < 1)
    assert token(Gamma(), 3.0, A)[2] and token(Gamma(), 0.1, A)[3]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Clip(low=-0.1), "low is -0.1"),
        (lambda: Clip(low=1.1), "low is 1.1"),
        (lambda: Clip(high=-0.1), "high is -0.1"),
        (lambda: Clip(dual=1.0), "dual is 1.0"),
        (lambda: Clip(high=math.nan), "high is nan"),
        (lambda: Divergence("js", 0.1, 0.1), "measure is 'js'; use tv or kl"),  # type: ignore[arg-type]
        (lambda: Divergence("tv", -0.1, 0.1), "bound a distance"),
        (lambda: Divergence("tv", 0.1, 0.1, cap=0), "cap is 0"),
        (lambda: Truncate(0), "cap is 0"),
        (lambda: Divergence("tv", 0.1, 0.1, topk=-1), "topk is -1"),
        (lambda: Gate(0), "temperatures 0"),
        (lambda: Gamma(k_positive=-1), "k -1 and 3.0 must be 0 or more"),
        (lambda: Gamma(lambda_negative=0), "lambda 3.0 and 0 must be above 0"),
        (lambda: Gamma(lambda_positive=math.inf), "lambda inf and 2.0 must be above 0 and finite"),
        (lambda: Geometric(low=-0.1), "low -0.1 and high 0.4 bound log-ratios"),
        (lambda: Geometric(high=math.nan), "bound log-ratios"),
    ],
)
def test_numbers_that_cannot_bound_anything_are_refused(make: Callable[[], Trust], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        make()
