"""The groups of a step: sampled, scored, shaped, and dealt over the ranks, with the fate of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from strop.algorithms import Algorithm
from strop.config.schema import Config
from strop.rollout.collect import Collected, Refill, collect
from strop.rollout.encode import Encoder
from strop.rollout.engine import Engine, Request, Sampling
from strop.rollout.filter import Filter
from strop.rollout.guard import Guard
from strop.rollout.shaping import Overlong
from strop.rollout.spread import ALONE, Spread
from strop.tasks.task import Task, verdicts
from strop.types import Completion, Group, Prompt, Rollout
from strop.watch import Stopper, Watcher, interruptible

DRAWS_PER_PROMPT = 20
"""What rollout.max_draws: 0 stands for: this many times rollout.prompts."""


class Asked(NamedTuple):
    """A draw, its prompt, and the prompt's ids."""

    draw: int
    prompt: Prompt
    ids: tuple[int, ...]


@dataclass(slots=True)
class Sampler:
    """Draws from the task, writes with the engine, and scores, as the configuration says."""

    config: Config
    row: Algorithm
    task: Task
    encode: Encoder
    engine: Engine
    guard: Guard
    watch: Watcher
    stopper: Stopper
    spread: Spread = ALONE

    def collect(self, *, cursor: int, version: int, carried: Sequence[Group] = ()) -> Collected:
        """Sample groups until the batch is full of groups with signal.

        Raises:
            RewardError: no completion could be scored, or too few in too many steps.
            NotEnoughSignal: the bound on draws was reached first.
        """
        rollout = self.config.rollout
        rule = Filter(rollout.filter, self.config.task.solved, rollout.tolerance)
        refill = refill_of(self.config)
        collected = collect(self.draw, cursor=cursor, version=version, refill=refill, rule=rule, carried=carried)
        self.guard.ended()
        return collected

    def draw(self, draws: range) -> Iterator[Group]:
        """Sample, score and shape the groups of these draws, every rank its share of them."""
        asked = [Asked(draw, prompt, self.encode(prompt)) for draw in draws for prompt in [self.task.prompt(draw)]]
        scored = self.spread.over(asked, self.sample)
        groups = [Group(*one, rollouts) for one, rollouts in zip(asked, scored, strict=True)]
        if failure := self.guard.saw(groups):
            self.watch.warned(f"a completion could not be scored, and is left out: {failure}")
        yield from groups

    def sample(self, asked: Sequence[Asked]) -> list[tuple[Rollout, ...]]:
        """The rollouts of these prompts."""
        rollout = self.config.rollout
        requests = [Request(draw=one.draw, prompt_ids=one.ids, completions=rollout.completions) for one in asked]
        sampling = Sampling(rollout.max_tokens, rollout.temperature, self.config.seed, "train", self.row.topk)
        overlong = Overlong(rollout.max_tokens, rollout.overlong.buffer, rollout.overlong.penalty)
        tick = interruptible("sample", self.watch, self.stopper)
        groups: list[tuple[Completion, ...]] = []

        def finished() -> Iterator[tuple[Prompt, Sequence[Completion]]]:
            for one, completions in zip(asked, self.engine.sample(requests, sampling, tick), strict=True):
                groups.append(completions)
                yield one.prompt, completions

        shaped: list[tuple[Rollout, ...]] = []
        for place, found in enumerate(verdicts(self.task, finished())):
            shaped.append(overlong.shape(groups[place], found))
            self.stopper.check()
        return shaped


def refill_of(config: Config) -> Refill:
    """How a step's batch is filled."""
    rollout = config.rollout
    return Refill(
        prompts=rollout.prompts,
        max_draws=rollout.max_draws or DRAWS_PER_PROMPT * rollout.prompts,
        surplus=rollout.surplus,
        max_staleness=rollout.max_staleness,
        exhaustion=rollout.exhaustion,
    )
