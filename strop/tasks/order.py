"""The order of rows: a pure function of (seed, epoch, place), whoever asks and whatever was asked before."""

from __future__ import annotations

import random
from functools import lru_cache


def place_of(seed: int, draw: int, rows: int) -> int:
    """Which of `rows` rows the draw of this number takes: each row once an epoch, in an order of the epoch's own."""
    epoch, place = divmod(draw, rows)
    return order_of(seed, epoch, rows)[place]


@lru_cache(maxsize=8)
def order_of(seed: int, epoch: int, rows: int) -> tuple[int, ...]:
    """The order of an epoch, remembered because every draw asks for it.

    Rows are sorted by a random number each: `random()` is the one method whose numbers Python promises to keep from
    version to version, and a shuffle by it would draw them in another way.
    """
    generator = random.Random(f"{seed}/{epoch}")
    keys = [generator.random() for _ in range(rows)]
    return tuple(sorted(range(rows), key=keys.__getitem__))
