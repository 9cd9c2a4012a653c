"""What a run writes: its checkpoints and its rollouts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from strop.plan.algebra import Algebra
from strop.plan.passes import Weights
from strop.policy.name import locate

PER_TOKEN = 12
"""Bytes of a token in a rollouts file: its id, its log-prob, its text."""
PER_ROW = 64


@dataclass(frozen=True, slots=True)
class Disk:
    """Bytes of one checkpoint, how many there are at once, of a step's rollouts, how many steps, and what is free."""

    checkpoint: int
    checkpoints: int
    rollouts: int
    steps: int
    free: int

    @property
    def needed(self) -> int:
        return self.checkpoint * self.checkpoints + self.rollouts * self.steps

    @property
    def fits(self) -> bool:
        return self.needed <= self.free


def disk(config: Any, counts: Algebra, weights: Weights, free: int) -> Disk:
    """The most that a run has on disk: an old checkpoint goes once its successor is there.

    A step's rollouts are those of the groups that it trains; a step that must draw more writes more.
    """
    model = weights.trained if config.train.lora.rank else weights.whole
    optimizer = 2 * weights.optimized + weights.beside
    return Disk(
        checkpoint=model + optimizer + beside_the_weights(config.model),
        checkpoints=min(counts.checkpoints, config.save.keep + 1),
        rollouts=counts.tokens * PER_TOKEN + counts.completions * PER_ROW,
        steps=config.train.steps,
        free=free,
    )


def beside_the_weights(model: str) -> int:
    """Bytes of the tokenizer and the rest of a model's folder."""
    files = [path for path in locate(model).folder.iterdir() if path.suffix in (".json", ".jinja", ".model", ".txt")]
    return sum(path.stat().st_size for path in files if not path.name.endswith(".index.json"))
