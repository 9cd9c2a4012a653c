"""The counts of a run: what its settings multiply to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from strop.batch.build import deal
from strop.sampler import refill_of


@dataclass(frozen=True, slots=True)
class Algebra:
    """Counts. `rows` and `micro_batches` are those of an update whose every sequence is as long as the longest may be.

    most_groups is the bound on draws; evaluated is the number of completions of one evaluation, greedy ones included.
    """

    groups: int
    most_groups: int
    completions: int
    updates: int
    sequences: int
    longest: int
    tokens: int
    rows: int
    micro_batches: int
    evaluations: int
    evaluated: int
    checkpoints: int


def algebra(config: Any, longest_prompt: int) -> Algebra:
    """The counts of `config` over prompts of at most so many tokens."""
    rollout, train = config.rollout, config.train
    longest = longest_prompt + rollout.max_tokens
    groups = max(len(update) for update in deal(rollout.prompts, train.updates))
    sequences = groups * rollout.completions
    rows = min(sequences, max(1, train.tokens_per_micro_batch // longest))
    return Algebra(
        groups=rollout.prompts,
        most_groups=refill_of(config).max_draws,
        completions=rollout.prompts * rollout.completions,
        updates=train.updates * train.passes,
        sequences=sequences,
        longest=longest,
        tokens=rollout.prompts * rollout.completions * rollout.max_tokens,
        rows=rows,
        micro_batches=-(-sequences // rows),
        evaluations=2 + ((train.steps - 1) // config.eval.every if config.eval.every else 0),
        evaluated=config.eval.prompts * (config.eval.completions + 1),
        checkpoints=checkpoints(train.steps, config.save.every),
    )


def checkpoints(steps: int, every: int) -> int:
    """How many a run writes: one every so many steps, and one at its end, unless that is the same."""
    return steps // every + bool(steps % every) if every else 1


@dataclass(frozen=True, slots=True)
class Chunk:
    """The largest batch that the engine decodes at once: prompts side by side, and completions."""

    prompts: int
    rows: int


def chunks(config: Any) -> list[Chunk]:
    """The engine's largest batches: while training, in an evaluation, and in its greedy half."""
    rollout, evaluated = config.rollout, config.eval
    asked = [
        (rollout.prompts, rollout.completions),
        (evaluated.prompts, evaluated.completions),
        (evaluated.prompts, 1),
    ]
    found: list[Chunk] = []
    for prompts, completions in asked:
        together = min(prompts, max(1, rollout.rows // completions))
        found.append(Chunk(together, min(rollout.rows, together * completions)))
    return found
