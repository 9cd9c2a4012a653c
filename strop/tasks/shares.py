"""Which task of a mixture a draw goes to: a pure function of (seed, draw), its shares as even as whole numbers can.

A coin for each draw would do in the long run, but would leave a task of weight 1% with anything from 21 to 43 of 3,200
draws (95% of the time), and a batch with whatever came. Here every task has its share of every stretch of draws, to
within a few.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

WINDOW = 64
"""Draws that are shuffled among themselves, so that no rank and no batch meets a pattern."""


@dataclass(frozen=True, slots=True)
class Shares:
    """How draws are dealt to tasks by weight.

    Draws are split in two again and again: the first task against the others, the second against the rest of them, and
    so on. Of the first n draws that come to a split, floor(n * share + phase) go to its task; the phase, in [0, 1),
    follows from the seed.
    """

    weights: tuple[Fraction, ...]
    seed: int

    def of(self, draw: int) -> tuple[int, int]:
        """The task of a draw, and the draw's number among those of that task; each number comes once, from 0 on."""
        window, place = divmod(draw, WINDOW)
        left = window * WINDOW + shuffled(self.seed, window)[place]
        for task, share in enumerate(splits(self.weights)):
            start = phase(self.seed, task)
            before, after = int(left * share + start), int((left + 1) * share + start)
            if after > before:
                return task, before
            left -= before
        return len(self.weights) - 1, left


@lru_cache(maxsize=8)
def splits(weights: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    """The share of each task but the last in what the tasks before it leave."""
    return tuple(weight / sum(weights[task:]) for task, weight in enumerate(weights[:-1]))


@lru_cache(maxsize=64)
def phase(seed: int, task: int) -> Fraction:
    return Fraction(random.Random(f"{seed}/phase/{task}").random())


@lru_cache(maxsize=8)
def shuffled(seed: int, window: int) -> tuple[int, ...]:
    """The order of the draws of a window."""
    generator = random.Random(f"{seed}/window/{window}")
    keys = [generator.random() for _ in range(WINDOW)]
    return tuple(sorted(range(WINDOW), key=keys.__getitem__))


def quotas(count: int, weights: Sequence[Fraction]) -> list[int]:
    """`count` dealt by weight: one each while there are enough, the heaviest first, then to whoever is most behind."""
    exact = [count * weight / sum(weights) for weight in weights]
    heaviest = sorted(range(len(weights)), key=lambda task: -weights[task])
    found = [int(task in heaviest[:count]) for task in range(len(weights))]
    while sum(found) < count:
        found[max(range(len(found)), key=lambda task: exact[task] - found[task])] += 1
    return found
