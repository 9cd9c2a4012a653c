"""An epoch's order is a pure function of seed and epoch: nothing lost, nothing twice, however many workers ask."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.tasks.order import order_of, place_of


@given(seed=st.integers(0, 2**31), epoch=st.integers(0, 1000), rows=st.integers(1, 60))
def test_every_epoch_takes_each_row_once(seed: int, epoch: int, rows: int) -> None:
    draws = range(epoch * rows, (epoch + 1) * rows)
    assert sorted(place_of(seed, draw, rows) for draw in draws) == list(range(rows))


@given(
    seed=st.integers(0, 99),
    rows=st.integers(1, 30),
    workers=st.integers(1, 16),
    draws=st.integers(1, 100),
    asked=st.randoms(use_true_random=False),
)
def test_any_number_of_workers_asking_in_any_order_see_together_what_one_sees(
    seed: int, rows: int, workers: int, draws: int, asked: random.Random
) -> None:
    alone = [place_of(seed, draw, rows) for draw in range(draws)]
    shares = [list(range(worker, draws, workers)) for worker in range(workers)]
    asked.shuffle(shares)
    found: dict[int, int] = {}
    for share in shares:
        asked.shuffle(share)
        order_of.cache_clear()
        found |= {draw: place_of(seed, draw, rows) for draw in share}
    assert [found[draw] for draw in range(draws)] == alone


def test_epochs_and_seeds_have_orders_of_their_own() -> None:
    orders = {order_of(seed, epoch, 20) for seed in range(20) for epoch in range(20)}
    assert len(orders) == 400
    assert order_of(1, 23, 20) != order_of(12, 3, 20)


def test_every_row_comes_everywhere_about_as_often() -> None:
    """1,000 epochs of 5 rows: a row stands in a place 200 times, give or take; 5 standard deviations are 63."""
    counts = [[0] * 5 for _ in range(5)]
    for epoch in range(1000):
        for place, row in enumerate(order_of(0, epoch, 5)):
            counts[row][place] += 1
    assert all(abs(count - 200) < 63 for row in counts for count in row)


def test_the_order_is_the_same_on_every_machine_and_in_every_version() -> None:
    """Sorted by random.random() of the text "seed/epoch", which Python promises to keep."""
    assert order_of(0, 0, 8) == (0, 3, 7, 4, 1, 5, 2, 6)
    assert order_of(3, 7, 8) == (4, 0, 5, 3, 7, 6, 1, 2)


def test_an_epoch_is_put_in_order_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    class Counting(random.Random):
        def __init__(self, seed: Any) -> None:
            made.append(seed)
            super().__init__(seed)

    monkeypatch.setattr(random, "Random", Counting)
    order_of.cache_clear()
    for draw in (0, 30, 1, 31, 26, 27):
        place_of(5, draw, 27)
    order_of.cache_clear()
    assert made == ["5/0", "5/1"]
