"""How long the prompts of a task are, in tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from strop.evaluate import encoder
from strop.policy.model import load_tokenizer
from strop.tasks.task import Task
from strop.types import Prompt

LOOKED_AT = 5000
"""Prompts that are encoded: all there are, or so many, evenly spaced."""
MADE = 256
"""Prompts that are asked of a task that makes them up."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """The longest and the mean prompt, how many were looked at, and how many can be listed (0: they are made up)."""

    longest: int
    mean: float
    looked_at: int
    listed: int


def lengths_of(task: Task, config: Any) -> Lengths:
    """Encode prompts as a run would.

    Raises:
        DataError: one that a run would refuse.
    """
    encode = encoder(load_tokenizer(config.model), config)
    listed = task.known()
    made = [task.prompt(draw) for draw in range(MADE)] if not listed else []
    held_out = task.held_out(config.eval.prompts)
    counts = [len(encode(prompt)) for prompt in (*spaced(listed), *made, *held_out)]
    return Lengths(max(counts), sum(counts) / len(counts), len(counts), len(listed))


def spaced(prompts: Sequence[Prompt]) -> Sequence[Prompt]:
    return prompts if len(prompts) <= LOOKED_AT else [prompts[i * len(prompts) // LOOKED_AT] for i in range(LOOKED_AT)]
