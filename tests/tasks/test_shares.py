"""Draws are dealt to tasks by weight, evenly, and as a pure function of seed and draw."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from strop.tasks.shares import WINDOW, Shares, quotas

WEIGHTS = st.lists(st.integers(1, 40).map(lambda n: Fraction(n, 7)), min_size=1, max_size=6).map(tuple)


@given(weights=WEIGHTS, seed=st.integers(0, 99), windows=st.integers(1, 6))
@example(weights=(Fraction(1), Fraction(1)), seed=0, windows=4)
@example(weights=(Fraction(1), Fraction(99)), seed=0, windows=6)
def test_of_every_stretch_of_windows_each_task_has_its_share_to_within_the_number_of_splits(
    weights: tuple[Fraction, ...], seed: int, windows: int
) -> None:
    shares = Shares(weights, seed)
    counts: Counter[int] = Counter()
    for draw in range(windows * WINDOW):
        counts[shares.of(draw)[0]] += 1
        if (draw + 1) % WINDOW == 0:
            for task, weight in enumerate(weights):
                assert abs(counts[task] - (draw + 1) * weight / sum(weights)) < max(1, len(weights) - 1)


@given(weights=WEIGHTS, seed=st.integers(0, 99), windows=st.integers(1, 4))
def test_the_draws_of_a_task_are_numbered_from_0_without_a_gap(
    weights: tuple[Fraction, ...], seed: int, windows: int
) -> None:
    found = [Shares(weights, seed).of(draw) for draw in range(windows * WINDOW)]
    for task in range(len(weights)):
        numbers = sorted(number for where, number in found if where == task)
        assert numbers == list(range(len(numbers)))


@given(weights=WEIGHTS, seed=st.integers(0, 99), workers=st.integers(1, 16))
def test_a_draw_goes_where_it_goes_whoever_asks_and_whenever(
    weights: tuple[Fraction, ...], seed: int, workers: int
) -> None:
    alone = [Shares(weights, seed).of(draw) for draw in range(100)]
    found = {d: Shares(weights, seed).of(d) for worker in range(workers) for d in reversed(range(worker, 100, workers))}
    assert [found[draw] for draw in range(100)] == alone


def test_two_ranks_that_take_every_other_draw_both_meet_both_tasks() -> None:
    shares = Shares((Fraction(1), Fraction(1)), 0)
    for rank in (0, 1):
        counts = Counter(shares.of(draw)[0] for draw in range(rank, 1280, 2))
        assert min(counts[0], counts[1]) > 280


def test_seeds_deal_in_orders_of_their_own() -> None:
    weights = (Fraction(2), Fraction(1))
    assert len({tuple(Shares(weights, seed).of(draw) for draw in range(32)) for seed in range(50)}) == 50


def test_in_the_long_run_shares_are_the_weights() -> None:
    weights = (Fraction("0.7"), Fraction("0.2"), Fraction("0.1"))
    counts = Counter(Shares(weights, 5).of(draw)[0] for draw in range(WINDOW * 100))
    assert [counts[task] for task in range(3)] == [4480, 1280, 640]


@given(weights=WEIGHTS, count=st.integers(0, 200))
def test_quotas_add_up_and_leave_none_out_while_there_are_enough(weights: tuple[Fraction, ...], count: int) -> None:
    found = quotas(count, weights)
    assert sum(found) == count
    assert min(found) >= (count >= len(weights))
    for quota, weight in zip(found, weights, strict=True):
        assert abs(quota - count * weight / sum(weights)) < len(weights) + 1


def test_quotas_by_hand() -> None:
    assert quotas(10, [Fraction(1), Fraction(99)]) == [1, 9]
    assert quotas(1, [Fraction(1), Fraction(99)]) == [0, 1]
    assert quotas(128, [Fraction("0.7"), Fraction("0.2"), Fraction("0.1")]) == [90, 25, 13]
